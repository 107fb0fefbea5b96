//! A DataNode that leads a pipeline is cut off from all SCMs and from no other node, for longer
//! than SCM keeps its pipelines; then it loses its disk. Many keys are open before and are
//! completed one after the other, after SCM has already had the members close their replicas.
//! Writes acknowledged then must be on the other members.

use std::sync::atomic::Ordering;
use std::time::Duration;

use client::{Client, CreateKey, FinishOptions, KeyWriter, ScmClient};
use futures::future::{join, join_all};
use proto::hdds::{Pipeline, PipelineState};
use types::DatanodeDetails;

use super::Board;
use super::client::{Reads, bytes_of, connect, path};
use super::configuration::{DATANODES, Layout, OMS, SCMS};
use super::write_once::{self, Size};
use crate::scenario::process::on_runtime;
use crate::world::disk::damage::{self, Part};
use crate::world::node::{self, End, address};
use crate::world::random::Random;
use crate::world::world;

/// Before a node is cut off, in seconds.
const PAUSE: (u64, u64) = (10, 30);
/// Minimum and maximum of the isolation, in seconds: SCM closes its pipelines after 15, and the
/// members react within 20 more.
const CUT_OFF: (u64, u64) = (48, 60);
/// Keys that are open then.
const KEYS: u64 = 48;
/// Time at which the first of them is completed, and interval of the next ones, in milliseconds.
const FINISH_SCHEDULE: (u64, u64) = (32_000, 250);
/// Until the replicas that it lost are made again, in seconds.
const REPAIR_TIME: u64 = 90;

/// Cuts one off after the other time.
pub fn work(layout: &Layout, mut random: Random, board: &Board) {
    on_runtime(async {
        let scm = ScmClient::connect(layout.client());
        let Ok(client) = connect(layout, Reads::Leader) else { return };
        // One DataNode only may lose what it has.
        let mut frail = None;
        while !board.stop.load(Ordering::Acquire) {
            board.pass(random.range(PAUSE.0, PAUSE.1)).await;
            let Ok(pipelines) = scm.pipelines().await else { continue };
            let leaders: Vec<usize> = pipelines.iter().filter_map(leader).collect();
            let leaders: Vec<usize> =
                leaders.into_iter().filter(|host| frail.is_none_or(|f| f == *host)).collect();
            if leaders.is_empty() {
                continue;
            }
            let machine = *random.pick(&leaders);
            frail = Some(machine);
            tracing::info!(machine, "leader cut off from all SCMs");
            let keys = open(&client, board).await;
            sever(machine);
            let cut_off = board.pass(random.range(CUT_OFF.0, CUT_OFF.1));
            // A key whose pipeline was closed is written elsewhere, which may take long.
            let ends = tokio::time::timeout(Duration::from_secs(CUT_OFF.0), finish(keys, board));
            let _ = join(cut_off, ends).await;
            if !board.stop.load(Ordering::Acquire) {
                lose_disk(machine);
            }
            reconnect(machine);
            board.pass(REPAIR_TIME).await;
        }
    });
}

/// A key that is not at its end.
struct Open {
    key: u8,
    content: u64,
    writer: KeyWriter,
}

/// Begins keys: their blocks are of pipelines that are open now.
async fn open(client: &Client, board: &Board) -> Vec<Open> {
    let mut keys = Vec::new();
    for number in 0..KEYS {
        let size = if number % 2 == 0 { Size::Large } else { Size::Small };
        let Some((key, content)) = write_once::next(board, size) else { break };
        let bytes = bytes_of(content);
        // The announced size is one byte too large: the block exists from the beginning, and stays
        // open.
        let create = CreateKey::new(path(board.write_once, key)).size_hint(bytes.len() as u64 + 1);
        let Ok(mut writer) = client.create_key(create).await else { continue };
        if writer.write(bytes).await.is_ok() {
            keys.push(Open { key, content, writer });
        }
    }
    keys
}

/// Completes them one after the other, each at its time.
async fn finish(keys: Vec<Open>, board: &Board) {
    let ends = keys.into_iter().enumerate().map(|(number, open)| async move {
        tokio::time::sleep(Duration::from_millis(
            FINISH_SCHEDULE.0 + number as u64 * FINISH_SCHEDULE.1,
        ))
        .await;
        match open.writer.finish(FinishOptions::default()).await {
            Ok(_) => write_once::keep(board, open.key, open.content),
            Err(error) => tracing::debug!(%error, key = open.key, "an open key was not written"),
        }
    });
    join_all(ends).await;
}

/// The machine that leads an open pipeline of three.
fn leader(pipeline: &Pipeline) -> Option<usize> {
    let members = &pipeline.members;
    if pipeline.state() != PipelineState::PipelineOpen || members.len() < 3 {
        return None;
    }
    let id = pipeline.leader_id.as_ref()?;
    let mut members = members.iter().filter_map(|m| DatanodeDetails::from_wire(m).ok());
    let host = members.find(|m| m.id.to_string() == *id)?.host;
    let first = 1 + SCMS + OMS;
    (first..first + DATANODES).find(|machine| address(*machine) == host)
}

/// Cuts a machine off from all SCMs.
pub fn sever(machine: usize) {
    let now = world().now;
    for scm in 1..=SCMS {
        world().links.sever(machine, scm, now);
        world().links.sever(scm, machine, now);
    }
}

/// Takes [`sever`] back.
pub fn reconnect(machine: usize) {
    for scm in 1..=SCMS {
        world().links.reconnect(machine, scm);
        world().links.reconnect(scm, machine);
    }
}

/// Ends what runs there and gives the machine an empty disk; the nemesis starts it again.
fn lose_disk(machine: usize) {
    let here = |process: &node::Process| process.machine == machine && process.alive;
    if let Some(process) = world().processes.iter().rposition(here) {
        node::kill(process, End::PowerLost);
    }
    match damage::replace(machine, Part::All) {
        Ok(()) => tracing::info!(machine, "the leader loses its disk"),
        Err(error) => tracing::error!(machine, %error, "a disk cannot be replaced"),
    }
}
