//! A host with its groups, and its endpoint, for clients, the other hosts, and an operator who
//! changes members.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use framed::{Call, Code, Handler, HandlerFuture, Reply, Server, ServerOptions, Status};
use multiraft::framed::{FramedTransport, Methods, serve};
use multiraft::{
    Change, Group, GroupConfig, HostOptions, LogHandle, LogOptions, Membership, Peer, Proposal,
    ProposeError, RaftHost, Transport,
};
use parking_lot::Mutex;
use uuid::Uuid;

use super::faulty_transport::FaultyTransport;
use super::limits::Limits;
use super::machine::{RegisterState, Registers};
use super::message::{
    CALL, CHANGE, DUMP, HAND_OVER, JOIN, MEMBERS, PORT, Request, STATUS, Through, encode_answer,
};
use crate::history::register::{Answer, Op};
use crate::world::disk::damage::LOG;
use crate::world::node::{address, exit};
use crate::world::random::Random;
use crate::world::{real, world};

const METHODS: Methods = Methods { messages: 1, snapshot: 2, fetch: 3 };

/// Parameters shared by all hosts.
pub struct Setup {
    /// Number of the groups' first members; the first is on machine 1.
    pub hosts: usize,
    /// Number of further hosts, which may join groups.
    pub spares: usize,
    /// Number of groups; every host is a member of each.
    pub groups: u64,
    /// True if messages are lost.
    pub faulty_transport: bool,
    /// True if messages are repeated much later, and truncated.
    pub replays: bool,
    /// Limits of hosts and logs.
    pub limits: Limits,
    /// Of the run.
    pub seed: u64,
}

/// Raft's id of a host.
pub fn node_id(host: usize) -> Uuid {
    Uuid::from_u128(0x1000 + host as u128)
}

fn group_id(group: u64) -> Uuid {
    Uuid::from_u128(0x2000 + u128::from(group))
}

/// A host as a member of a group.
pub fn peer(host: usize) -> Peer {
    Peer { node: node_id(host), address: host_address(host), priority: 0 }
}

/// Address of a host.
pub fn host_address(host: usize) -> String {
    format!("{}:{PORT}", address(host + 1))
}

type Running = (Group, Arc<Mutex<RegisterState>>);

struct Served {
    host: RaftHost,
    log: LogHandle,
    dir: PathBuf,
    number: usize,
    setup: Arc<Setup>,
    groups: Mutex<BTreeMap<u64, Running>>,
    me: Weak<Served>,
}

/// A host's process; ends when it is killed.
pub fn run(setup: &Arc<Setup>, number: usize, dir: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let run = runtime.map_err(|e| e.to_string()).and_then(|runtime| {
        runtime.block_on(async { open(setup, number, dir).await.map_err(|e| e.to_string()) })
    });
    if let Err(error) = run {
        // A full disk, most likely: the process ends as a real one would, and is started again.
        real::say(&format!("host {number} at {} ms: {error}\n", world().now / 1_000_000));
    }
    exit();
}

async fn open(setup: &Arc<Setup>, number: usize, dir: &Path) -> anyhow::Result<()> {
    let mut transport: Arc<dyn Transport> = FramedTransport::new(METHODS, Duration::from_secs(5));
    if setup.faulty_transport {
        let inner = FramedTransport::new(METHODS, Duration::from_secs(5));
        let random = Random::new(setup.seed ^ world().now ^ number as u64);
        transport = FaultyTransport::new(inner, random, setup.replays);
    }
    let options = setup.limits.of_host(HostOptions {
        tick: Duration::from_millis(50),
        heartbeat: Duration::from_millis(150),
        election_timeout: Duration::from_millis(1000),
        snapshot_piece: 64,
        ..HostOptions::new(node_id(number))
    });
    let host = RaftHost::start(options, transport)?;
    let log_options = LogOptions { file_size: 64 << 10, ..LogOptions::default() };
    let log = host.open_log(&dir.join(LOG), setup.limits.of_log(log_options))?;
    let (setup, dir) = (setup.clone(), dir.to_owned());
    let served = Arc::new_cyclic(|me| {
        let (groups, me) = (Mutex::default(), me.clone());
        Served { host, log, dir, number, setup, groups, me }
    });
    for group in 0..served.setup.groups {
        if number < served.setup.hosts || served.log.holds(group_id(group)) {
            served.start(group, None)?;
        }
    }
    let bound = format!("0.0.0.0:{PORT}");
    let _server = Server::bind(&bound, served.clone(), ServerOptions::default()).await?;
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let groups: Vec<Running> = served.groups.lock().values().cloned().collect();
        for (group, _) in &groups {
            let failed = group.status().await.and_then(|status| status.failed);
            anyhow::ensure!(failed.is_none(), "group failed: {failed:?}");
        }
    }
}

impl Served {
    /// Starts a group from the log, as one of those that it begins with, or as one that was added.
    fn start(&self, group: u64, joined: Option<Membership>) -> anyhow::Result<()> {
        let (machine, held) = Registers::open(self.dir.join(format!("registers-{group}")))?;
        let peers = (0..self.setup.hosts).map(peer).collect();
        let me = node_id(self.number);
        let mut config = GroupConfig::new(group_id(group), me, peers, self.log.clone());
        config.joined = joined;
        config.trim = self.setup.limits.trim.clone();
        config.lease_reads = group % 2 == 0;
        let started = self.host.start_group(config, Box::new(machine))?;
        self.groups.lock().insert(group, (started, held));
        Ok(())
    }

    fn find(&self, group: u64) -> Option<Running> {
        self.groups.lock().get(&group).cloned()
    }

    /// "group host": the leader, if this is it, hands over to that host.
    fn hand_over(&self, text: &str) -> Result<Bytes, Status> {
        let words = text.split_once(' ').ok_or_else(|| Status::invalid("not a hand-over"))?;
        let (Ok(group), Ok(host)) = (words.0.parse(), words.1.parse()) else {
            return Err(Status::invalid("not a hand-over"));
        };
        let (group, _) = self.find(group).ok_or_else(|| Status::invalid("no such group"))?;
        group.transfer_leader(node_id(host));
        Ok(Bytes::new())
    }

    fn join(&self, text: &str, members: Bytes) -> Result<Reply, Status> {
        let group = text.parse().ok().filter(|group| *group < self.setup.groups);
        let group = group.ok_or_else(|| Status::invalid("no such group"))?;
        if self.find(group).is_none() {
            let members =
                Membership::decode(members).map_err(|e| Status::invalid(e.to_string()))?;
            self.start(group, Some(members)).map_err(|e| Status::unavailable(e.to_string()))?;
        }
        Ok(Reply { header: Bytes::new(), payload: Bytes::new() })
    }
}

/// State of a replica, and its host's counters.
async fn status(group: &Group, metrics: Vec<(&'static str, i64)>) -> Result<String, Status> {
    let status = group.status().await.ok_or_else(|| Status::unavailable("it ends"))?;
    let own = [
        ("leads", u64::from(group.is_leader())),
        ("term", status.term),
        ("commit", status.commit),
        ("applied", status.applied),
        ("first_index", status.first_index),
        ("last_index", status.last_index),
        ("incomplete", u64::from(status.incomplete)),
    ];
    let own = own.iter().map(|(name, value)| format!("{name} {value}\n"));
    Ok(own.chain(metrics.iter().map(|(name, value)| format!("{name} {value}\n"))).collect())
}

/// A change of members, as an operator asks for it: "group add host" or "group remove host".
async fn change(text: &str, served: &Served) -> Result<Reply, Status> {
    let not_here = || Status::new(Code::NotLeader, "not here");
    let words: Vec<&str> = text.split(' ').collect();
    let [group, kind, host] = words[..] else { return Err(Status::invalid("not a change")) };
    let group = group.parse().ok().and_then(|group| served.find(group));
    let (Some((group, _)), Ok(host)) = (group, host.parse()) else { return Err(not_here()) };
    // Never fewer members than in the beginning, or those whose disks are lost are too many.
    let change = match kind {
        "add" => Change::Add(peer(host)),
        _ if group.membership().voters().count() <= served.setup.hosts => return Err(not_here()),
        _ => Change::Remove(node_id(host)),
    };
    match group.change(change).await {
        Ok(_) => Ok(Reply { header: Bytes::new(), payload: Bytes::new() }),
        Err(error) => Err(Status::new(Code::NotLeader, error.to_string())),
    }
}

impl Handler for Served {
    fn call(&self, call: Call) -> HandlerFuture {
        let call = match serve(&self.host, METHODS, call) {
            Ok(answered) => return answered,
            Err(call) => call,
        };
        let text = String::from_utf8_lossy(&call.header).into_owned();
        let empty = |header: Bytes| Reply { header, payload: Bytes::new() };
        let found = text.parse().ok().and_then(|group| self.find(group));
        match call.method {
            DUMP => {
                let dump = found.map(|(_, held)| empty(held.lock().encode().into()));
                let dump = dump.ok_or_else(|| Status::invalid("no such group"));
                return Box::pin(std::future::ready(dump));
            }
            MEMBERS => {
                let members = found.map(|(group, _)| empty(group.membership().encode()));
                let members = members.ok_or_else(|| Status::invalid("no such group"));
                return Box::pin(std::future::ready(members));
            }
            STATUS => {
                let metrics = self.host.metrics().snapshot();
                return Box::pin(async move {
                    let found = found.ok_or_else(|| Status::invalid("no such group"))?;
                    status(&found.0, metrics).await.map(|text| empty(text.into()))
                });
            }
            HAND_OVER => return Box::pin(std::future::ready(self.hand_over(&text).map(empty))),
            JOIN => return Box::pin(std::future::ready(self.join(&text, call.payload))),
            CHANGE => {
                let served = self.me.upgrade();
                return Box::pin(async move {
                    let served = served.ok_or_else(|| Status::unavailable("it ends"))?;
                    change(&text, &served).await
                });
            }
            _ => {}
        }
        let request = Request::decode(&text).filter(|_| call.method == CALL);
        let found = request.as_ref().and_then(|r| self.find(r.group));
        Box::pin(async move {
            let Some(request) = request else { return Err(Status::invalid("not a request")) };
            let Some((group, held)) = found else {
                return Err(Status::new(Code::NotLeader, "the group is not here"));
            };
            let header = answer(request, text, &group, &held).await?;
            Ok(Reply { header, payload: Bytes::new() })
        })
    }
}

async fn answer(
    request: Request,
    text: String,
    group: &Group,
    held: &Mutex<RegisterState>,
) -> Result<Bytes, Status> {
    if request.op != Op::Read {
        let applied = group.propose(Proposal::new(text)).await;
        return applied.map(|applied| applied.response).map_err(|error| match error {
            ProposeError::NotLeader { .. } | ProposeError::Busy | ProposeError::Log(_) => {
                Status::new(Code::NotLeader, error.to_string())
            }
            other => Status::unavailable(other.to_string()),
        });
    }
    let read = match request.through {
        Through::Leader => group.read_index().await,
        Through::Anywhere => group.read_index_anywhere().await,
    };
    read.map_err(|error| Status::new(Code::NotLeader, error.to_string()))?;
    let value = held.lock().value(request.key);
    Ok(encode_answer(&Answer::Value(value)).into())
}
