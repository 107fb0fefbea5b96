//! An OM misses entries that its leader's log does not have any more, and gets a snapshot while a
//! reader has its tables: a copy of them (`/dbCheckpoint`) whose files are read for longer than the
//! OM waits for readers. Then another OM leads, whose log may have all that is missing; and in the
//! end the OM starts again from what is on its disk.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::configuration::{Layout, OMS, om_machine};
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
/// How long it is cut off, in seconds.
const CUT_OFF: (u64, u64) = (10, 50);
/// How long a read takes: an OM waits 60 s for its readers.
const READ_TIME: (u64, u64) = (62, 90);
/// Until it has given a snapshot up, in seconds.
const INSTALL_TIME: u64 = 70;
/// For what is missing to come from another OM, in seconds.
const CATCH_UP_TIME: (u64, u64) = (5, 30);

/// Does it again and again.
pub fn work(_: &Layout, mut random: Random, board: &Board) {
    on_runtime(async {
        while !board.stop.load(Ordering::Acquire) {
            board.pass(random.range(PAUSE.0, PAUSE.1)).await;
            let om = random.below(OMS as u64) as usize;
            let machine = om_machine(om);
            let others: Vec<usize> = (0..OMS).filter(|o| *o != om).map(om_machine).collect();
            tracing::info!(om, "an OM is heard by no other one");
            for other in &others {
                let now = world().now;
                world().links.sever(machine, *other, now);
                world().links.sever(*other, machine, now);
            }
            board.pass(random.range(CUT_OFF.0, CUT_OFF.1)).await;
            let lasts = random.range(READ_TIME.0, READ_TIME.1) * SECOND;
            world().machines[machine].disk.late = Some(Late { below: COPIES, lasts });
            let reader = tokio::spawn(async move {
                let _ = tokio::time::timeout(Duration::from_secs(200), copies::get(om)).await;
            });
            board.pass(2).await;
            tracing::info!(om, "it is heard again, and a reader has its tables");
            for other in &others {
                world().links.reconnect(machine, *other);
                world().links.reconnect(*other, machine);
            }
            board.pass(INSTALL_TIME).await;
            world().machines[machine].disk.late = None;
            // The one that leads may be either.
            let leader = *random.pick(&others);
            end(leader);
            board.pass(random.range(CATCH_UP_TIME.0, CATCH_UP_TIME.1)).await;
            tracing::info!(om, "it starts again");
            end(machine);
            reader.abort();
        }
    });
}

/// Ends what runs there; the nemesis starts it again.
fn end(machine: usize) {
    let here = |process: &node::Process| process.machine == machine && process.alive;
    if let Some(process) = world().processes.iter().rposition(here) {
        node::kill(process, End::Killed);
    }
}
