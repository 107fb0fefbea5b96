//! Separate processes, one DataNode killed while clients write.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use testkit::until_blocking;

use super::ledger::Ledger;
use super::{client_of, make_bucket, runtime};
use crate::process::{Daemon, o3};

const WRITERS: usize = 4;

/// A role on free ports, with what all roles of the test share.
fn role(name: &str, dir: &Path, more: &[(&str, String)]) -> Command {
    let dir = dir.join(name);
    let kind = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let mut command = o3(&[kind, "--json"]);
    let mut define = |key: &str, value: &str| {
        command.args(["-D", &format!("{key}={value}")]);
    };
    define("ozone.metadata.dirs", &dir.join("meta").display().to_string());
    define("hdds.datanode.dir", &dir.join("data").display().to_string());
    define("ozone.scm.stale.node.interval", "2s");
    define("ozone.scm.dead.node.interval", "5s");
    for (key, value) in more {
        define(key, value);
    }
    command
}

struct Cluster {
    scm: Daemon,
    om: Daemon,
    datanodes: Vec<Daemon>,
}

fn start(dir: &Path) -> Cluster {
    let free = || "127.0.0.1:0".to_owned();
    let scm = Daemon::start(role(
        "scm",
        dir,
        &[
            ("ozone.scm.client.address", free()),
            ("ozone.scm.block.client.address", free()),
            ("ozone.scm.datanode.address", free()),
            ("ozone.scm.http-address", free()),
        ],
    ));
    let scm_client = ("ozone.scm.client.address", scm.address("client"));
    let scm_block = ("ozone.scm.block.client.address", scm.address("block"));
    let scm_datanode = ("ozone.scm.datanode.address", scm.address("datanode"));
    let datanodes = (1..=4)
        .map(|i| {
            let more = [
                scm_datanode.clone(),
                ("hdds.container.ipc.random.port", "true".to_owned()),
                ("hdds.container.ratis.ipc.random.port", "true".to_owned()),
                ("trioxide.datanode.port", "0".to_owned()),
                ("hdds.datanode.http-address", free()),
            ];
            Daemon::start(role(&format!("datanode{i}"), dir, &more))
        })
        .collect();
    let om = Daemon::start(role(
        "om",
        dir,
        &[
            scm_client,
            scm_block,
            ("ozone.om.address", free()),
            ("ozone.om.grpc.port", "0".to_owned()),
            ("ozone.om.http-address", free()),
        ],
    ));
    Cluster { scm, om, datanodes }
}

#[test]
fn clients_go_on_when_one_of_four_datanodes_is_killed_while_they_write() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = runtime();
    let mut cluster = start(dir.path());
    let client = client_of(&cluster.om.address("om"), &cluster.scm.address("client"));
    runtime.block_on(make_bucket(&client));
    let ledger = Arc::new(Ledger::default());
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..WRITERS)
        .map(|w| runtime.spawn(ledger.clone().write(client.clone(), w, 7, stop.clone())))
        .collect();
    until_blocking("writes begin", || {
        ledger.acknowledged() > 40 || writers.iter().any(|w| w.is_finished())
    });
    cluster.datanodes.remove(1).kill();
    let at_kill = ledger.acknowledged();
    // More than was under way: every writer has begun and ended operations without that DataNode.
    until_blocking("writes go on", || {
        ledger.acknowledged() > at_kill + 100 || writers.iter().any(|w| w.is_finished())
    });
    stop.store(true, Ordering::Relaxed);
    runtime.block_on(async {
        for writer in writers {
            let failed = writer.await.unwrap();
            assert!(failed.is_none(), "a client saw the loss: {failed:?}");
        }
        ledger.verify(&client).await;
    });
}
