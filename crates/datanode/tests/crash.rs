//! DataNodes in processes of their own, killed with SIGKILL while they are written to. Every
//! acknowledged block must be there afterwards, on every replica.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use datanode::{Datanode, DatanodeOptions};
use parking_lot::Mutex;
use proto::scm_datanode::container_replica_proto::State as ReplicaState;
use types::{BlockId, DatanodeId, PipelineId, PortName};

use crate::support::scm::RunningScm;
use crate::support::{Pipe, block, bytes, conf};

const DIR: &str = "DATANODE_TEST_DIR";
const SCM: &str = "DATANODE_TEST_SCM";

/// Not a test of its own: what the processes run that the other tests kill.
#[test]
fn a_datanode_in_a_process_of_its_own() {
    let (Ok(dir), Ok(scm)) = (std::env::var(DIR), std::env::var(SCM)) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let scm: SocketAddr = scm.parse().unwrap();
        let conf = conf(Path::new(&dir), 2, scm);
        let _handle = Datanode::start(&conf, DatanodeOptions::default()).await.unwrap();
        // Ends with its parent, should that die without killing it.
        let parent = std::os::unix::process::parent_id();
        while std::os::unix::process::parent_id() == parent {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    });
}

/// A DataNode's process.
struct Process {
    dir: PathBuf,
    scm: SocketAddr,
    child: Option<Child>,
}

impl Process {
    fn start(dir: PathBuf, scm: SocketAddr) -> Self {
        let mut process = Self { dir, scm, child: None };
        process.restart();
        process
    }

    fn restart(&mut self) {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["crash::a_datanode_in_a_process_of_its_own", "--exact", "--nocapture"])
            .env(DIR, &self.dir)
            .env(SCM, self.scm.to_string())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        self.child = Some(child);
    }

    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

type Written = Arc<Mutex<HashMap<BlockId, (u64, usize)>>>;

/// Writes small files and now and then a block of chunks, until told to stop.
async fn write(mut pipe: Pipe, next: Arc<AtomicU64>, written: Written, stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::Relaxed) {
        let local = next.fetch_add(1, Ordering::Relaxed);
        let container = 1 + local % 5;
        let (len, chunk) = if local % 7 == 0 { (1_500_000, 400_000) } else { (3_000, 0) };
        let data = bytes(local, len);
        let done = if chunk == 0 {
            pipe.put_small(block(container, local), data).await
        } else {
            pipe.put_large(block(container, local), &data, chunk).await
        };
        // Failed writes may or may not be there; only acknowledged ones count.
        if let Ok(id) = done {
            written.lock().insert(id, (local, len));
        }
    }
}

async fn addresses(scm: &RunningScm) -> Vec<(DatanodeId, String)> {
    scm.scm.with(|known| {
        let address = |node: &types::DatanodeDetails| node.address(&PortName::Native).unwrap();
        known.nodes.iter().map(|(id, node)| (*id, address(node))).collect()
    })
}

async fn verify(pipe: &Pipe, written: &Written) -> usize {
    let written: Vec<_> = written.lock().iter().map(|(id, what)| (*id, *what)).collect();
    for (id, (seed, len)) in &written {
        let expected: Bytes = bytes(*seed, *len);
        for node in pipe.nodes.keys() {
            let got = pipe.eventually(|| pipe.get_large(*node, *id)).await;
            assert!(got == expected, "{id} on {node} differs: {} bytes of {len}", got.len());
        }
    }
    written.len()
}

async fn survive(rounds: usize, victims: impl Fn(usize) -> Vec<usize>) {
    let dir = tempfile::tempdir().unwrap();
    let scm = RunningScm::start().await;
    let home = |index: usize| dir.path().join(format!("dn{index}"));
    let mut processes: Vec<_> = (0..3).map(|i| Process::start(home(i), scm.address)).collect();
    scm.scm.wait_for_nodes(3).await;
    let nodes = addresses(&scm).await;
    let ids: Vec<_> = nodes.iter().map(|(id, _)| *id).collect();
    let (id, leader): (PipelineId, _) = scm.scm.create_pipeline(&ids).await;
    let (next, written) = (Arc::new(AtomicU64::new(1)), Written::default());
    for round in 0..rounds {
        let stop = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = (0..6)
            .map(|_| {
                let pipe = Pipe::new(id, &nodes, leader);
                tokio::spawn(write(pipe, next.clone(), written.clone(), stop.clone()))
            })
            .collect();
        // Moments differ from round to round, and with them what is under way.
        let before = written.lock().len();
        testkit::until("some writes", async || written.lock().len() > before + 10 + 13 * round)
            .await;
        let victims = victims(round);
        let registered =
            |known: &crate::support::scm::Known| -> usize { known.registrations.values().sum() };
        let registrations = scm.scm.with(|known| registered(known));
        victims.iter().for_each(|victim| processes[*victim].kill());
        if victims.len() == 1 {
            // Two of three go on.
            let before = written.lock().len();
            testkit::until("writes with two of three", async || written.lock().len() > before + 10)
                .await;
        }
        victims.iter().for_each(|victim| processes[*victim].restart());
        let wanted = registrations + victims.len();
        scm.scm.wait("registrations", |known| (registered(known) >= wanted).then_some(())).await;
        stop.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.await.unwrap();
        }
        verify(&Pipe::new(id, &nodes, leader), &written).await;
    }
    let pipe = Pipe::new(id, &nodes, leader);
    let count = verify(&pipe, &written).await;
    assert!(count > 10 * rounds, "{count} blocks were acknowledged");
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_blocks_survive_the_kill_of_any_member() {
    survive(4, |round| vec![round % 3]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_blocks_survive_the_kill_of_all_members_at_once() {
    survive(3, |_| vec![0, 1, 2]).await;
}

/// The log's entries may be acknowledged although no remaining member has their commit: they
/// receive it once they have a leader again. The order to close, which erases the log, arrives
/// before that.
#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_blocks_survive_a_kill_of_all_members_whose_pipeline_is_closed_meanwhile() {
    closed_after_a_kill(false).await;
}

/// As above, and the second one finds another process at its address.
#[tokio::test(flavor = "multi_thread")]
async fn members_that_come_back_elsewhere_decide_before_they_close() {
    closed_after_a_kill(true).await;
}

async fn closed_after_a_kill(elsewhere: bool) {
    let dir = tempfile::tempdir().unwrap();
    let scm = RunningScm::start().await;
    let (mut processes, mut ids) = (Vec::new(), Vec::new());
    for index in 0..3 {
        processes.push(Process::start(dir.path().join(format!("dn{index}")), scm.address));
        scm.scm.wait_for_nodes(index + 1).await;
        let known = addresses(&scm).await;
        ids.extend(known.into_iter().map(|(id, _)| id).find(|id| !ids.contains(id)));
    }
    let (id, leader) = scm.scm.create_pipeline(&ids).await;
    assert_eq!(leader, ids[0], "the first member leads");
    let mut pipe = Pipe::new(id, &addresses(&scm).await, leader);
    let mut written = Vec::new();
    for local in 1..=30 {
        let data = bytes(local, 3_000);
        written.push((pipe.put_small(block(1, local), data.clone()).await.unwrap(), data));
    }
    processes.iter_mut().for_each(Process::kill);
    let known = addresses(&scm).await;
    let last = known.iter().find(|(id, _)| *id == ids[2]).map(|(_, address)| address.clone());
    let _taken = elsewhere.then(|| std::net::TcpListener::bind(last.unwrap()).unwrap());
    for number in [1, 2] {
        let heard = scm.scm.with(|known| known.registrations[&ids[number]]);
        processes[number].restart();
        let again = |known: &crate::support::scm::Known| {
            (known.registrations[&ids[number]] > heard).then_some(())
        };
        scm.scm.wait("the node to be back", again).await;
        // It may be elsewhere: all members receive the order, as from SCM.
        scm.scm.send_create_pipeline(id, &ids);
        scm.scm.send_close_pipeline(ids[number], id);
        // The first one is alone with the order for a while.
        let before = scm.scm.with(|known| known.beats);
        let beaten =
            |known: &crate::support::scm::Known| (known.beats >= before + 10).then_some(());
        scm.scm.wait("more heartbeats", beaten).await;
    }
    let pipe = Pipe::new(id, &addresses(&scm).await, leader);
    for node in [ids[1], ids[2]] {
        scm.scm.wait_for_replica(node, 1, ReplicaState::QuasiClosed).await;
        for (id, data) in &written {
            assert_eq!(pipe.get_small(node, *id).await.unwrap(), *data);
        }
    }
}
