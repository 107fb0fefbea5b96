//! A cluster in one process: hosts on an in-memory network and logs in temporary directories.
//!
//! [`recorder`]: a state machine whose store survives a crash, or loses its unflushed state.

mod recorder;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use multiraft::memory::MemoryNetwork;
use multiraft::{
    Applied, Change, ChangeError, Clock, Group, GroupConfig, GroupError, HostOptions, LogHandle,
    LogOptions, MemberRole, Membership, PayloadStore, Peer, Proposal, ProposeError, RaftHost,
    TrimOptions,
};
use parking_lot::Mutex;
use uuid::Uuid;

pub use recorder::{Recorder, Store};
pub use testkit::until;

/// One node of a cluster; down while `host` is `None`.
pub struct Node {
    pub id: Uuid,
    pub dir: tempfile::TempDir,
    pub store: Arc<Mutex<Store>>,
    pub payloads: Option<Arc<dyn PayloadStore>>,
    pub host: Option<RaftHost>,
    pub log: Option<LogHandle>,
    pub group: Option<Group>,
    /// For a node added to a running group: its members at that time.
    pub joined: Option<Membership>,
    /// Milliseconds by which its clock has jumped.
    pub jumped: Arc<AtomicU64>,
}

impl Node {
    fn new() -> Self {
        Self {
            id: Uuid::new_v4(),
            dir: tempfile::tempdir().unwrap(),
            store: Arc::default(),
            payloads: None,
            host: None,
            log: None,
            group: None,
            joined: None,
            jumped: Arc::default(),
        }
    }
}

/// Several nodes with one group.
pub struct Cluster {
    pub network: MemoryNetwork,
    pub id: Uuid,
    pub nodes: Vec<Node>,
    /// Number of initial members of the group.
    pub first: usize,
    pub trim: TrimOptions,
    pub log: LogOptions,
    pub files: bool,
    pub cache: usize,
    pub snapshot_rate: u64,
    pub priorities: Vec<i64>,
    /// Interval of heartbeats.
    pub heartbeat: Duration,
    pub election_timeout: Duration,
    /// Maximum bytes of entries per message.
    pub message_bytes: u64,
}

impl Cluster {
    /// Nodes that are not started yet.
    pub fn new(size: usize) -> Self {
        Self {
            network: MemoryNetwork::new(),
            id: Uuid::new_v4(),
            nodes: (0..size).map(|_| Node::new()).collect(),
            first: size,
            trim: TrimOptions::default(),
            log: LogOptions { file_size: 1 << 20, ..LogOptions::default() },
            files: false,
            cache: 16 << 20,
            snapshot_rate: 0,
            priorities: vec![0; size],
            heartbeat: Duration::from_millis(100),
            // A machine that stalls for less time deposes no leader.
            election_timeout: Duration::from_secs(1),
            message_bytes: 4 << 20,
        }
    }

    /// Nodes that are up, with the first as permanent leader: it starts an election at once, and
    /// the others would wait for minutes before they do. For tests that need no other leader, so
    /// that a briefly stalled machine causes no election.
    pub async fn led(size: usize) -> Self {
        let mut cluster = Self::new(size);
        cluster.keep_first_leader();
        (0..size).for_each(|n| cluster.start(n));
        cluster.leader_of(&[0]).await;
        cluster
    }

    /// As in [`led`](Self::led), for nodes that are not started yet.
    pub fn keep_first_leader(&mut self) {
        self.priorities[0] = 1;
        self.election_timeout = Duration::from_secs(600);
    }

    /// Nodes that are up.
    pub fn started(size: usize) -> Self {
        let mut cluster = Self::new(size);
        (0..size).for_each(|n| cluster.start(n));
        cluster
    }

    pub fn options(&self, n: usize) -> HostOptions {
        let (began, jumped) = (Instant::now(), self.nodes[n].jumped.clone());
        let now = move || began.elapsed() + Duration::from_millis(jumped.load(Ordering::SeqCst));
        HostOptions {
            clock: Clock::from_fn(now),
            tick: Duration::from_millis(10),
            heartbeat: self.heartbeat,
            election_timeout: self.election_timeout,
            entry_cache_bytes: self.cache,
            snapshot_piece: 1000,
            max_message_bytes: self.message_bytes,
            snapshot_rate: self.snapshot_rate,
            ..HostOptions::new(self.nodes[n].id)
        }
    }

    pub fn config(&self, n: usize, log: LogHandle) -> GroupConfig {
        let peers = (0..self.first).map(|n| self.peer(n)).collect();
        let mut config = GroupConfig::new(self.id, self.nodes[n].id, peers, log);
        config.joined = self.nodes[n].joined.clone();
        config.trim = self.trim.clone();
        config.payloads = self.nodes[n].payloads.clone();
        config
    }

    pub fn peer(&self, n: usize) -> Peer {
        let node = self.nodes[n].id;
        Peer { node, address: node.to_string(), priority: self.priorities[n] }
    }

    /// Adds a node that does not belong to any group.
    pub fn grow(&mut self) -> usize {
        self.nodes.push(Node::new());
        self.priorities.push(0);
        self.nodes.len() - 1
    }

    /// Changes the members on the leader among `of`, as an operator would.
    pub async fn change(&self, of: &[usize], change: Change) -> u64 {
        until(format!("{change:?} on a leader"), async || {
            let leader = self.leader_of(of).await;
            match self.group(leader).change(change.clone()).await {
                Err(
                    error @ (ChangeError::NotLeader { .. }
                    | ChangeError::Busy
                    | ChangeError::Dropped),
                ) => Err((leader, error, self.group(leader).status().await)),
                done => Ok(done.unwrap()),
            }
        })
        .await
    }

    /// Adds a node and starts it with the leader's members.
    pub async fn join(&mut self, of: &[usize], n: usize) {
        self.change(of, Change::Add(self.peer(n))).await;
        let leader = self.leader_of(of).await;
        self.nodes[n].joined = Some(self.group(leader).membership());
        self.start(n);
    }

    /// Waits until `n` is a voter according to all of `of`.
    pub async fn votes(&self, of: &[usize], n: usize) {
        let node = self.nodes[n].id;
        let votes = |membership: Membership| {
            membership.find(node).is_some_and(|m| m.role == MemberRole::Voter)
        };
        until("it votes", async || of.iter().all(|n| votes(self.group(*n).membership()))).await;
    }

    pub fn start(&mut self, n: usize) {
        let (host, log, group) = self.open(n).unwrap();
        let node = &mut self.nodes[n];
        (node.host, node.log, node.group) = (Some(host), Some(log), Some(group));
    }

    fn open(&self, n: usize) -> Result<(RaftHost, LogHandle, Group), GroupError> {
        let transport = self.network.transport(self.nodes[n].id);
        let host = RaftHost::start(self.options(n), transport).unwrap();
        let log = host.open_log(&self.log_dir(n), self.log.clone())?;
        self.network.attach(&host);
        let config = self.config(n, log.clone());
        let dir = self.files.then(|| self.nodes[n].dir.path().join("snapshots"));
        let machine = Recorder { store: self.nodes[n].store.clone(), dir };
        match host.start_group(config, Box::new(machine)) {
            Ok(group) => Ok((host, log, group)),
            Err(error) => {
                self.network.detach(self.nodes[n].id);
                log.close();
                Err(error)
            }
        }
    }

    /// The error of starting a node.
    pub fn start_error(&self, n: usize) -> GroupError {
        match self.open(n) {
            Ok(_) => panic!("node {n} starts"),
            Err(error) => error,
        }
    }

    /// Accepts the loss of a node's log, as an operator would.
    pub fn accept_loss(&self, n: usize) {
        std::fs::write(self.nodes[n].dir.path().join("log.manifest.accept-loss"), "").unwrap();
    }

    /// Stops a node. With `lose`, its machine loses its unflushed state, as after a power loss.
    pub async fn stop(&mut self, n: usize, lose: bool) {
        self.network.detach(self.nodes[n].id);
        let node = &mut self.nodes[n];
        node.group = None;
        node.host.take().unwrap().shutdown().await;
        let log = node.log.take().unwrap();
        log.close();
        drop(log);
        if lose {
            let mut store = node.store.lock();
            store.live = store.durable.clone();
        }
    }

    /// Stops a node and empties its disk.
    pub async fn wipe(&mut self, n: usize) {
        self.stop(n, true).await;
        let node = &mut self.nodes[n];
        node.dir = tempfile::tempdir().unwrap();
        *node.store.lock() = Store::default();
    }

    /// The directory of a node's log.
    pub fn log_dir(&self, n: usize) -> PathBuf {
        self.nodes[n].dir.path().join("log")
    }

    /// Stops a node and removes its log; its machine keeps its flushed state.
    pub async fn lose_log(&mut self, n: usize) {
        self.stop(n, true).await;
        std::fs::remove_dir_all(self.log_dir(n)).unwrap();
    }

    /// Flushes a node's machine.
    pub fn flush(&self, n: usize) {
        let mut store = self.nodes[n].store.lock();
        store.durable = store.live.clone();
    }

    /// Waits until a leader has noticed a member's absence.
    pub async fn is_away(&self, leader: usize, member: usize) {
        let node = self.nodes[member].id;
        until("its absence to be noticed", async || {
            let status = self.group(leader).status().await.unwrap();
            status.followers.iter().any(|f| f.node == node && !f.active)
        })
        .await;
    }

    /// Waits until a leader has sent the heartbeats of `election_timeouts` election timeouts.
    pub async fn heartbeats(&self, leader: usize, election_timeouts: u64) {
        let others = self.group(leader).membership().members.len() as u64 - 1;
        let rounds = (self.election_timeout.as_millis() / self.heartbeat.as_millis()) as u64;
        let metrics = self.nodes[leader].host.as_ref().unwrap().metrics().clone();
        let sent = || metrics.messages_sent.load(Ordering::Relaxed);
        let enough = sent() + election_timeouts * rounds * others;
        until("heartbeats are sent", async || sent() >= enough).await;
    }

    /// Checks that for five election timeouts none of `of` is or has a leader.
    pub async fn nobody_leads(&self, of: &[usize]) {
        let looks = async {
            loop {
                for n in of {
                    let leader = self.group(*n).leader();
                    assert!(
                        leader.leader.is_none_or(|l| !of.iter().any(|n| self.nodes[*n].id == l)),
                        "{n}: {leader:?}"
                    );
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let _: Result<(), _> = tokio::time::timeout(self.election_timeout * 5, looks).await;
    }

    pub fn group(&self, n: usize) -> Group {
        self.nodes[n].group.clone().unwrap()
    }

    pub fn up(&self) -> Vec<usize> {
        (0..self.nodes.len()).filter(|n| self.nodes[*n].group.is_some()).collect()
    }

    /// Waits for a serving leader among `of`.
    pub async fn leader_of(&self, of: &[usize]) -> usize {
        until("a leader", async || {
            let ready = |n: &usize| self.nodes[*n].group.as_ref().is_some_and(|g| g.leader().ready);
            of.iter().copied().filter(ready).max_by_key(|n| self.group(*n).leader().term)
        })
        .await
    }

    pub async fn leader(&self) -> usize {
        self.leader_of(&self.up()).await
    }

    /// Transfers leadership to a node. A request is an attempt: another transfer may be in
    /// progress, and Raft gives up an attempt after an election timeout.
    pub async fn hand_over(&self, to: usize) {
        until("it to be the leader", async || {
            let now = self.leader().await;
            if now != to {
                self.group(now).transfer_leader(self.nodes[to].id);
                tokio::time::sleep(self.election_timeout / 10).await;
            }
            self.group(to).leader().ready
        })
        .await;
    }

    /// Proposes until some leader accepts it, as a client would.
    pub async fn put(&self, of: &[usize], header: &str) -> Applied {
        until(format!("a leader that accepts {header}"), async || {
            let leader = self.leader_of(of).await;
            match self.group(leader).propose(Proposal::new(header.to_owned())).await {
                Err(error @ (ProposeError::NotLeader { .. } | ProposeError::Dropped)) => {
                    Err((leader, error))
                }
                done => Ok(done.unwrap()),
            }
        })
        .await
    }

    pub fn entries(&self, n: usize) -> BTreeMap<u64, Bytes> {
        self.nodes[n].store.lock().live.entries.clone()
    }

    /// A cluster of three after 301 entries, of which a stopped follower has one and the logs of
    /// the others have the last ones only. Returns it with the leader, that follower and the third.
    pub async fn with_one_left_behind(files: bool) -> (Self, [usize; 3]) {
        let mut cluster = Self::new(3);
        cluster.files = files;
        cluster.trim = TrimOptions { entries: 20, bytes: u64::MAX, keep: 5 };
        (0..3).for_each(|n| cluster.start(n));
        cluster.put(&[0, 1, 2], "first").await;
        let leader = cluster.leader().await;
        let (follower, third) = ((leader + 1) % 3, (leader + 2) % 3);
        cluster.stop(follower, true).await;
        for n in 0..300 {
            cluster.put(&cluster.up(), &format!("entry number {n}")).await;
        }
        for n in cluster.up() {
            until("the log to be trimmed", async || {
                cluster.group(n).status().await.unwrap().first_index >= 100
            })
            .await;
        }
        (cluster, [leader, follower, third])
    }

    /// Waits until all nodes that are up hold the same `count` entries.
    pub async fn agree(&self, count: usize) {
        let up = self.up();
        until("all replicas agree", async || {
            let first = self.entries(up[0]);
            first.len() == count && up.iter().all(|n| self.entries(*n) == first)
        })
        .await;
    }

    pub async fn shutdown(mut self) {
        for n in self.up() {
            self.stop(n, false).await;
        }
    }
}
