//! A process that is killed at any moment keeps its acknowledged writes.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use multiraft::memory::MemoryNetwork;
use multiraft::{Group, GroupConfig, HostOptions, LogHandle, LogOptions, Peer, Proposal, RaftHost};
use parking_lot::Mutex;
use uuid::Uuid;

use crate::support::{Recorder, Store, until};

const DIR: &str = "MULTIRAFT_CRASH_DIR";

/// A group of one whose store is empty at each start: everything must come from the log.
fn open(dir: &Path) -> (RaftHost, LogHandle, Group, Arc<Mutex<Store>>) {
    let node = Uuid::from_u128(7);
    let network = MemoryNetwork::new();
    let host = RaftHost::start(HostOptions::new(node), network.transport(node)).unwrap();
    let options = LogOptions { file_size: 256 << 10, ..LogOptions::default() };
    let log = host.open_log(dir, options).unwrap();
    let peer = Peer { node, address: String::new(), priority: 0 };
    let config = GroupConfig::new(Uuid::from_u128(1), node, vec![peer], log.clone());
    let store = Arc::default();
    let machine = Recorder { store: Arc::clone(&store), dir: None };
    let group = host.start_group(config, Box::new(machine)).unwrap();
    (host, log, group, store)
}

/// The process to be killed: prints the acknowledged writes.
#[tokio::test(flavor = "multi_thread")]
async fn child() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let (_host, _log, group, _store) = open(Path::new(&dir));
    group.leader_changes().wait_for(|l| l.ready).await.unwrap();
    let mut tasks = Vec::new();
    for _ in 0..16 {
        let group = group.clone();
        tasks.push(tokio::spawn(async move {
            loop {
                let value = Uuid::new_v4().to_string().repeat(5);
                let applied = group.propose(Proposal::new(value.clone())).await.unwrap();
                let line = format!("acknowledged {} {value}\n", applied.index);
                std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
            }
        }));
    }
    futures::future::join_all(tasks).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_entry_acknowledged_before_a_kill_is_there_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged = BTreeMap::new();
    for round in 0..6u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["crash::child", "--exact", "--nocapture"])
            .env(DIR, dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let reader = std::thread::spawn(move || lines.map_while(Result::ok).collect::<Vec<_>>());
        // Not a wait for an event: the moment of the kill.
        tokio::time::sleep(Duration::from_millis(100 + 37 * round)).await;
        child.kill().unwrap();
        child.wait().unwrap();
        for line in reader.join().unwrap() {
            let mut words = line.split_whitespace();
            let found = (words.next(), words.next(), words.next());
            // The last line may be cut.
            if let (Some("acknowledged"), Some(index), Some(value)) =
                (found.0, found.1, found.2.map(str::as_bytes))
                && value.len() == 180
            {
                acknowledged.insert(index.parse::<u64>().unwrap(), value.to_vec());
            }
        }
        let (host, log, group, store) = open(dir.path());
        until("it serves", async || group.leader().ready).await;
        let entries = store.lock().live.entries.clone();
        for (index, value) in &acknowledged {
            assert_eq!(entries.get(index).map(|e| &e[..]), Some(&value[..]), "entry {index}");
        }
        drop(group);
        host.shutdown().await;
        log.close();
    }
    assert!(!acknowledged.is_empty());
}

const FULL: &str = "MULTIRAFT_FULL_DIR";

/// Limits files of this process to `bytes`; further writes fail as on a full disk.
fn limit_files(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: plain calls on this process; the signal would otherwise kill it.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
    }
}

/// The process whose disk is full for a while.
#[tokio::test(flavor = "multi_thread")]
async fn full_child() {
    let Some(dir) = std::env::var_os(FULL) else { return };
    let (_host, log, group, store) = open(Path::new(&dir));
    group.leader_changes().wait_for(|l| l.ready).await.unwrap();
    limit_files(100 << 10);
    let mut waiting = Vec::new();
    let refusal = loop {
        match group.submit(Proposal::new("x".repeat(1000))) {
            Ok(answer) => waiting.push(answer),
            Err(error) => break error,
        }
        tokio::time::sleep(Duration::from_micros(200)).await;
    };
    assert!(matches!(refusal, multiraft::ProposeError::Log(_)), "{refusal}");
    assert!(log.trouble().is_some());
    limit_files(libc::RLIM_INFINITY);
    let count = waiting.len();
    for answer in waiting {
        answer.await.unwrap().unwrap();
    }
    until("the log is well again", async || log.trouble().is_none()).await;
    group.propose(Proposal::new("after")).await.unwrap();
    assert_eq!(store.lock().live.entries.len(), count + 1);
    println!("kept {}", count + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_proposals_until_there_is_room_and_loses_none() {
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["crash::full_child", "--exact", "--nocapture"])
        .env(FULL, dir.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}{errors}");
    let kept = text.lines().find_map(|l| l.split_once("kept ")).unwrap().1.trim();
    let (host, log, group, store) = open(dir.path());
    until("it serves", async || group.leader().ready).await;
    assert_eq!(store.lock().live.entries.len().to_string(), kept);
    drop(group);
    host.shutdown().await;
    log.close();
}
