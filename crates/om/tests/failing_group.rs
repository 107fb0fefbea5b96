//! An OM whose Raft group fails: it recovers, or stops with the reason.

use std::net::SocketAddr;
use std::time::Duration;

use proto::ozone::Status;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{TIMEOUT, TestOm, World, requests};

/// Response of its web port.
async fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// Makes a volume, as a client that asks until it is made.
async fn volume(om: &TestOm, name: &str) {
    // A request that the failure took with it is not answered: it is sent again, and has more time.
    let mut limit = Duration::from_secs(1);
    testkit::until(format!("{name} to be made"), async || {
        limit *= 2;
        let answer = om.try_ask(requests::create_volume(name), limit).await;
        match answer.map(|answer| answer.status()) {
            Ok(Status::Ok | Status::VolumeAlreadyExists) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
}

/// Makes the OM's group panic. A permanently failed group was removed: no call reaches it.
fn panic(om: &TestOm) {
    let raft = om.handle.raft();
    if let Some(group) = raft.groups().first() {
        raft.panic_group(group.id());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_om_whose_group_panics_comes_back_and_has_everything() {
    let world = World::new().await;
    let om = world.start().await;
    let http = om.handle.addresses().http.unwrap();
    assert!(get(http, "/health").await.starts_with("HTTP/1.1 200"));
    for round in 0..3 {
        volume(&om, &format!("before{round}")).await;
        panic(&om);
        volume(&om, &format!("after{round}")).await;
    }
    for round in 0..3 {
        om.ok(requests::info_volume(&format!("before{round}"))).await;
        om.ok(requests::info_volume(&format!("after{round}"))).await;
    }
    assert!(get(http, "/health").await.starts_with("HTTP/1.1 200"), "it works again");
    let status = get(http, "/status.json").await;
    assert!(status.contains("\"restarts after a failure\":\"3\""), "{status}");
    om.handle.shutdown().await;
    // The survivors are on disk, too.
    let om = world.start().await;
    om.ok(requests::info_volume("after2")).await;
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_om_whose_group_panics_again_and_again_stops_and_says_why() {
    let world = World::new().await;
    let om = world.start().await;
    let http = om.handle.addresses().http.unwrap();
    let panics = async {
        loop {
            panic(&om);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let why = tokio::select! {
        why = tokio::time::timeout(TIMEOUT, om.handle.stopped()) => why.unwrap(),
        () = panics => unreachable!(),
    };
    assert!(why.contains("failed permanently") && why.contains("a test asked for it"), "{why}");
    let health = get(http, "/health").await;
    assert!(health.starts_with("HTTP/1.1 503") && health.contains(&why), "{health}");
    om.handle.shutdown().await;
}

/// RocksDB can make no file any more: the first flush fails, and so does every later round.
#[tokio::test(flavor = "multi_thread")]
async fn an_om_whose_tables_are_gone_stops_and_says_why() {
    let world = World::new().await.with("ozone.om.ratis.snapshot.auto.trigger.threshold", 5);
    let om = world.start().await;
    volume(&om, "before").await;
    let tables: Vec<_> = std::fs::read_dir(world.dir.path()).unwrap().flatten().collect();
    let tables: Vec<_> = tables.iter().map(|entry| entry.path()).collect();
    let tables = tables.iter().find(|path| path.ends_with("om.db"));
    std::fs::remove_dir_all(tables.expect("om.db is not where it was")).unwrap();
    let writes = async {
        let mut number = 0;
        loop {
            let request = requests::create_volume(&format!("volume{number}"));
            let _ = om.try_ask(request, Duration::from_millis(500)).await;
            number += 1;
        }
    };
    let why = tokio::select! {
        why = tokio::time::timeout(TIMEOUT * 2, om.handle.stopped()) => why.unwrap(),
        () = writes => unreachable!(),
    };
    assert!(why.contains("failed permanently"), "{why}");
    let health = get(om.handle.addresses().http.unwrap(), "/health").await;
    assert!(health.starts_with("HTTP/1.1 503"), "{health}");
    om.handle.shutdown().await;
}
