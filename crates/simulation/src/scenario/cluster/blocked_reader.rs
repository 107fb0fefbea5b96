//! An OM misses entries that its leader's log does not have any more, and gets a snapshot while a
//! reader has its tables: a copy of them (`/dbCheckpoint`) whose files are read for longer than the
//! OM waits for readers. The leader is down when the OM abandons the snapshot, and the next leader
//! has a log with all missing entries; so the OM gets past the snapshot, and trims its own log. In
//! the end it restarts from its disk.

use std::sync::atomic::Ordering;
use std::time::Duration;

use proto::hdds::TransferLeadershipRequestProto;
use proto::ozone::{OmRequest, Type};

use super::client::{Reads, connect};
use super::configuration::{Layout, OMS, PATIENT_OM, om_machine};
use super::{Board, copies};
use crate::scenario::process::on_runtime;
use crate::world::clock::SECOND;
use crate::world::disk::Late;
use crate::world::node::{self, End};
use crate::world::random::Random;
use crate::world::world;

/// The directory of copies of tables, below an OM's.
const COPIES: &str = "db.checkpoints";
/// Before an OM is cut off, in seconds.
const PAUSE: (u64, u64) = (3, 15);
/// Duration of its isolation, in seconds: longer than the leader's log reaches back.
const CUT_OFF: (u64, u64) = (20, 50);
/// Duration of a read, in seconds: an OM waits 60 s for its readers.
const READ_TIME: (u64, u64) = (62, 110);
/// Time until the snapshot has arrived and waits for the reader, in seconds.
const ARRIVAL_TIME: (u64, u64) = (3, 40);
/// Time until it is abandoned, since the OM is reachable again, in seconds.
const INSTALL_TIME: u64 = 72;
/// Time for the missing entries to arrive from another OM, in seconds.
const CATCH_UP_TIME: (u64, u64) = (5, 30);

/// Does it again and again.
pub fn work(layout: &Layout, mut random: Random, board: &Board) {
    on_runtime(async {
        let Ok(client) = connect(layout, Reads::Leader) else { return };
        while !board.stop.load(Ordering::Acquire) {
            board.pass(random.range(PAUSE.0, PAUSE.1)).await;
            // One of the two that trim their logs often; the other one leads, with luck.
            let om = random.below(PATIENT_OM as u64) as usize;
            let others: Vec<usize> = (0..OMS).filter(|other| *other != om).collect();
            let leader = match random.one_in(5) {
                true => *random.pick(&others),
                false => others[0],
            };
            let leads = client.submit(lead(leader)).await.is_ok();
            tracing::info!(om, leader, leads, "OM cut off from the others");
            part(om, &others);
            board.pass(random.range(CUT_OFF.0, CUT_OFF.1)).await;
            let machine = om_machine(om);
            let lasts = random.range(READ_TIME.0, READ_TIME.1) * SECOND;
            world().machines[machine].disk.late = Some(Late { below: COPIES, lasts });
            let reader = tokio::spawn(async move {
                let _ = tokio::time::timeout(Duration::from_secs(200), copies::get(om)).await;
            });
            board.pass(2).await;
            tracing::info!(om, "OM reachable again; a reader holds its tables");
            join(om, &others);
            let arrives = random.range(ARRIVAL_TIME.0, ARRIVAL_TIME.1);
            board.pass(arrives).await;
            // Else the leader sends the next snapshot after the first one is abandoned.
            if !random.one_in(4) {
                tracing::info!(om, leader, "the leader does not reach it");
                part(om, &[leader]);
            }
            board.pass(INSTALL_TIME - arrives).await;
            world().machines[machine].disk.late = None;
            end(om_machine(leader));
            join(om, &others);
            board.pass(random.range(CATCH_UP_TIME.0, CATCH_UP_TIME.1)).await;
            tracing::info!(om, "it starts again");
            end(machine);
            reader.abort();
        }
    });
}

/// Has an OM lead.
fn lead(om: usize) -> OmRequest {
    let asked = TransferLeadershipRequestProto { new_leader_id: format!("om{}", om + 1) };
    OmRequest {
        cmd_type: Type::TransferLeadership as i32,
        transfer_om_leadership_request: Some(Box::new(asked)),
        ..OmRequest::default()
    }
}

/// Cuts the links between an OM and others.
fn part(om: usize, others: &[usize]) {
    for other in others {
        let now = world().now;
        world().links.sever(om_machine(om), om_machine(*other), now);
        world().links.sever(om_machine(*other), om_machine(om), now);
    }
}

/// Mends them.
fn join(om: usize, others: &[usize]) {
    for other in others {
        world().links.reconnect(om_machine(om), om_machine(*other));
        world().links.reconnect(om_machine(*other), om_machine(om));
    }
}

/// Ends what runs there; the nemesis starts it again.
fn end(machine: usize) {
    let here = |process: &node::Process| process.machine == machine && process.alive;
    if let Some(process) = world().processes.iter().rposition(here) {
        node::kill(process, End::Killed);
    }
}
