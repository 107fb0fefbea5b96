//! Groups over real connections.

use std::sync::Arc;
use std::time::Duration;

use framed::{Call, Handler, HandlerFuture, Server, ServerOptions, Status};
use futures::future::join_all;
use multiraft::framed::{FramedTransport, Methods, serve};
use multiraft::{
    Group, GroupConfig, HostOptions, LogOptions, Peer, Proposal, RaftHost, TrimOptions,
};
use uuid::Uuid;

use crate::support::{Recorder, until};

const METHODS: Methods = Methods { messages: 6, snapshot: 7, fetch: 8 };

struct HostHandler(RaftHost);

impl Handler for HostHandler {
    fn call(&self, call: Call) -> HandlerFuture {
        serve(&self.0, METHODS, call).unwrap_or_else(|_| {
            Box::pin(std::future::ready(Err(Status::invalid("not a Raft method"))))
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn three_nodes_replicate_and_restore_over_tcp() {
    let dirs: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let mut hosts = Vec::new();
    let mut servers = Vec::new();
    let mut peers = Vec::new();
    for n in 0..3 {
        let options = HostOptions {
            tick: Duration::from_millis(20),
            heartbeat: Duration::from_millis(60),
            election_timeout: Duration::from_millis(600),
            snapshot_piece: 5000,
            ..HostOptions::new(Uuid::new_v4())
        };
        let node = options.node;
        let transport = FramedTransport::new(METHODS, Duration::from_secs(5));
        let host = RaftHost::start(options, transport).unwrap();
        let handler = Arc::new(HostHandler(host.clone()));
        let server = Server::bind("127.0.0.1:0", handler, ServerOptions::default()).await.unwrap();
        peers.push(Peer { node, address: server.local_addr().to_string(), priority: 3 - n });
        hosts.push(host);
        servers.push(server);
    }
    let id = Uuid::new_v4();
    let stores: Vec<Arc<parking_lot::Mutex<crate::support::Store>>> =
        (0..3).map(|_| Arc::default()).collect();
    let open =
        |n: usize| hosts[n].open_log(&dirs[n].path().join("log"), LogOptions::default()).unwrap();
    let logs: Vec<_> = (0..3).map(open).collect();
    let start = |n: usize| -> Group {
        let mut config = GroupConfig::new(id, peers[n].node, peers.clone(), logs[n].clone());
        config.trim = TrimOptions { entries: 50, bytes: u64::MAX, keep: 5 };
        let machine = Recorder { store: stores[n].clone(), dir: None };
        hosts[n].start_group(config, Box::new(machine)).unwrap()
    };
    let (leader, _second, third) = (start(0), start(1), start(2));
    until("a leader", async || leader.leader().ready).await;
    // A group begins once all members are present.
    until("it to have a leader", async || third.leader().leader.is_some()).await;
    hosts[2].stop_group(id).await.unwrap();
    let put = |n: usize| leader.propose(Proposal::new(format!("entry number {n}")));
    for applied in join_all((0..500).map(put)).await {
        applied.unwrap();
    }
    until("the log to be trimmed", async || match leader.status().await.unwrap().first_index {
        300.. => Ok(()),
        first => Err(first),
    })
    .await;
    let _third = start(2);
    leader.read_index().await.unwrap();
    until("all agree", async || {
        let first = stores[0].lock().live.clone();
        first.entries.len() == 500 && stores.iter().all(|s| s.lock().live.entries == first.entries)
    })
    .await;
    assert!(stores[2].lock().restores >= 1);
    for host in hosts {
        host.shutdown().await;
    }
    for server in servers {
        server.shutdown().await;
    }
}
