//! A host with its groups, and its door.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use framed::{Call, Code, Handler, HandlerFuture, Reply, Server, ServerOptions, Status};
use multiraft::transport::framed::{FramedTransport, Methods, serve};
use multiraft::{
    Group, GroupConfig, HostOptions, LogOptions, Peer, Proposal, ProposeError, RaftHost, Transport,
    TrimOptions,
};
use parking_lot::Mutex;
use uuid::Uuid;

use super::machine::{Held, Registers};
use super::message::{CALL, DUMP, PORT, Request, Through, encode_answer};
use super::unruly::Unruly;
use crate::history::register::{Answer, Op};
use crate::world::node::{address, exit};
use crate::world::random::Random;
use crate::world::{real, world};

const METHODS: Methods = Methods { messages: 1, snapshot: 2, fetch: 3 };

/// What all hosts have in common.
pub struct Setup {
    /// How many; the first is on machine 1.
    pub hosts: usize,
    /// How many groups; every host is a member of each.
    pub groups: u64,
    /// Whether messages go astray.
    pub unruly: bool,
    /// Of the run.
    pub seed: u64,
}

fn node_id(host: usize) -> Uuid {
    Uuid::from_u128(0x1000 + host as u128)
}

/// Where a host listens.
pub fn door(host: usize) -> String {
    format!("{}:{PORT}", address(host + 1))
}

struct Served {
    host: RaftHost,
    groups: Vec<(Group, Arc<Mutex<Held>>)>,
}

/// A host's process; ends when it is killed.
pub fn run(setup: &Setup, number: usize, dir: &Path) {
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

async fn open(setup: &Setup, number: usize, dir: &Path) -> anyhow::Result<()> {
    let mut transport: Arc<dyn Transport> = FramedTransport::new(METHODS, Duration::from_secs(5));
    if setup.unruly {
        let inner = FramedTransport::new(METHODS, Duration::from_secs(5));
        transport = Unruly::new(inner, Random::new(setup.seed ^ world().now ^ number as u64));
    }
    let options = HostOptions {
        tick: Duration::from_millis(50),
        heartbeat: Duration::from_millis(150),
        election_timeout: Duration::from_millis(1000),
        snapshot_piece: 64,
        ..HostOptions::new(node_id(number))
    };
    let host = RaftHost::start(options, transport)?;
    let log_options = LogOptions { file_size: 64 << 10, ..LogOptions::default() };
    let log = host.open_log(&dir.join("log"), log_options)?;
    let peers: Vec<Peer> = (0..setup.hosts)
        .map(|host| Peer { node: node_id(host), address: door(host), priority: 0 })
        .collect();
    let mut groups = Vec::new();
    for group in 0..setup.groups {
        let (machine, held) = Registers::open(dir.join(format!("registers-{group}")))?;
        let id = Uuid::from_u128(0x2000 + u128::from(group));
        let mut config = GroupConfig::new(id, node_id(number), peers.clone(), log.clone());
        config.trim = TrimOptions { entries: 40, keep: 5, ..TrimOptions::default() };
        config.lease_reads = group % 2 == 0;
        groups.push((host.start_group(config, Box::new(machine))?, held));
    }
    let served = Arc::new(Served { host, groups });
    let bound = format!("0.0.0.0:{PORT}");
    let _server = Server::bind(&bound, served.clone(), ServerOptions::default()).await?;
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        for (group, _) in &served.groups {
            let failed = group.status().await.and_then(|status| status.failed);
            anyhow::ensure!(failed.is_none(), "group failed: {failed:?}");
        }
    }
}

impl Handler for Served {
    fn call(&self, call: Call) -> HandlerFuture {
        let call = match serve(&self.host, METHODS, call) {
            Ok(answered) => return answered,
            Err(call) => call,
        };
        let text = String::from_utf8_lossy(&call.header).into_owned();
        if call.method == DUMP {
            let dump = text.parse().ok().and_then(|group: usize| self.groups.get(group));
            let dump = dump.map(|(_, held)| held.lock().encode());
            let reply = |dump: String| Reply { header: dump.into(), payload: Bytes::new() };
            let dump = dump.map(reply).ok_or_else(|| Status::invalid("no such group"));
            return Box::pin(std::future::ready(dump));
        }
        let request = Request::decode(&text).filter(|_| call.method == CALL);
        let found = request.as_ref().and_then(|r| self.groups.get(r.group as usize)).cloned();
        Box::pin(async move {
            let (Some(request), Some((group, held))) = (request, found) else {
                return Err(Status::invalid("not a request"));
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
    held: &Mutex<Held>,
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
