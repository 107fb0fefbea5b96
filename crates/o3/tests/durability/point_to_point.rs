//! `o3 admin datanode decommission --to`: only two nodes move data.

use std::io::{Read, Write};
use std::net::TcpStream;

use testkit::until;

use super::cluster::{Cluster, close_all, containers, is_healed};
use super::ledger::Ledger;
use super::{make_bucket, runtime};
use crate::process::{Daemon, o3, stderr, stdout};

/// The value of one of a DataNode's metrics.
fn metric(node: &Daemon, name: &str) -> u64 {
    let mut stream = TcpStream::connect(node.address("http")).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    let value = |line: &str| {
        let (key, value) = line.rsplit_once(' ')?;
        let is_it = key == name || key.strip_prefix(name).is_some_and(|rest| rest.starts_with('{'));
        is_it.then(|| value.parse::<f64>().ok()).flatten()
    };
    page.lines().find_map(value).unwrap_or_else(|| panic!("no {name} in {page}")) as u64
}

#[test]
fn a_node_is_emptied_to_one_other_and_no_third_one_moves_data() {
    let runtime = runtime();
    let mut cluster = Cluster::start(3);
    let (client, scm, address) = (cluster.client(), cluster.scm_client(), cluster.scm_address());
    let ledger = Ledger::default();
    runtime.block_on(async {
        until("the nodes form a pipeline", async || {
            let pipelines = scm.pipelines().await.unwrap();
            pipelines.iter().any(|p| p.members.len() == 3 && p.leader_datanode_id.is_some())
        })
        .await;
        make_bucket(&client).await;
        ledger.put_new(&client, 70).await;
        close_all(&scm).await;
    });
    let held = runtime.block_on(containers(&scm)).iter().filter(|(.., keys)| *keys > 0).count();
    for n in [3, 4] {
        let node = Daemon::start(cluster.datanode(n, &[]));
        cluster.datanodes.push(Some(node));
    }
    runtime.block_on(until("both are known", async || {
        scm.nodes(None, None).await.unwrap().len() == 5
    }));

    let admin = |args: &[&str]| {
        let mut command = o3(&["admin", "datanode"]);
        command.args(args).args(["--scm", &address]).output().unwrap()
    };
    for (to, why) in [("dn9", "Name or service not known"), ("dn0", "leaves, and cannot be")] {
        let refused = admin(&["decommission", "dn0", "--to", to]);
        assert!(!refused.status.success() && stderr(&refused).contains(why), "{refused:?}");
    }
    let begun = admin(&["decommission", "dn0", "--to", "dn3"]);
    assert!(begun.status.success(), "{begun:?}");
    runtime.block_on(until("it is empty", async || {
        let state = Some(proto::hdds::NodeOperationalState::Decommissioned);
        scm.nodes(None, state).await.unwrap().len() == 1
    }));
    println!("{}", stdout(&admin(&["status"])));
    let counts: Vec<[u64; 4]> = (0..5)
        .map(|n| {
            let node = cluster.datanodes[n].as_ref().unwrap();
            ["sent", "sent_bytes", "received", "received_bytes"]
                .map(|what| metric(node, &format!("datanode_copies_{what}_total")))
        })
        .collect();
    println!("containers and bytes sent and received: {counts:?}");
    let (all, bytes) = (held as u64, counts[0][1]);
    assert!(all > 0 && bytes > 0, "{counts:?}");
    assert_eq!(counts[0], [all, bytes, 0, 0]);
    assert_eq!(counts[3], [0, 0, all, bytes]);
    for n in [1, 2, 4] {
        assert_eq!(counts[n], [0; 4], "node {n}");
    }
    cluster.kill(0);
    runtime.block_on(async {
        until("three replicas are elsewhere", async || is_healed(&scm, Some("dn0")).await).await;
        ledger.verify(&client).await;
    });
}
