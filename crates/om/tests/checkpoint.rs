//! Copies of the tables over HTTP, and the updates that follow one, as for Recon.

use std::io::Read;

use metastore::OfflineStore;
use proto::ozone::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::requests::*;
use crate::support::{TestOm, World};

/// Response of a path of OM's web port, without its headers.
async fn get(om: &TestOm, path: &str) -> (String, Vec<u8>) {
    let address = om.handle.addresses().http.unwrap();
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.0\r\nHost: om\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let end = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    (head, answer[end + 4..].to_vec())
}

/// Unpacks an archive; the names in it.
fn unpack(archive: &[u8], to: &std::path::Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in tar::Archive::new(archive).entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().display().to_string();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        std::fs::write(to.join(&name), content).unwrap();
        names.push(name);
    }
    names
}

async fn updates(om: &TestOm, sequence: u64) -> DbUpdatesResponse {
    let wish = DbUpdatesRequest { sequence_number: sequence, limit_count: Some(1_000) };
    let asked = OmRequest { db_updates_request: Some(Box::new(wish)), ..request(Type::DbUpdates) };
    *om.ok(asked).await.db_updates_response.unwrap()
}

fn copies(world: &World) -> usize {
    let dir = world.dir.path().join("db.checkpoints");
    std::fs::read_dir(dir).map_or(0, Iterator::count)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_has_the_keys_and_its_updates_the_later_ones() {
    let world = World::new().await.with("trioxide.om.checkpoint.rate", 0);
    let leftover = world.dir.path().join("db.checkpoints/om.db_checkpoint_1_0");
    std::fs::create_dir_all(&leftover).unwrap();
    let om = world.start().await;
    assert!(!leftover.exists(), "leftovers of the last run are removed");
    om.bucket("vol", "bkt").await;
    om.put("vol", "bkt", "k1", 10).await;
    assert_eq!(updates(&om, 1).await.db_update_success, Some(false), "no client has a copy");

    let copy = tempfile::tempdir().unwrap();
    let (head, archive) = get(&om, "/dbCheckpoint?flushBeforeCheckpoint=true").await;
    assert!(head.contains("200 OK") && head.contains("application/x-tar"), "{head}");
    let names = unpack(&archive, copy.path());
    assert_eq!(names.last().map(String::as_str), Some("OZONE_RATIS_SNAPSHOT_COMPLETE"));
    let sequence = {
        let store = OfflineStore::open_read_only(copy.path()).unwrap();
        assert!(store.get("keyTable", b"/vol/bkt/k1").unwrap().is_some());
        store.sequence()
    };
    let nothing = updates(&om, sequence).await;
    assert_eq!((nothing.db_update_success, nothing.data.len()), (Some(true), 0));
    assert_eq!(nothing.latest_sequence_number, Some(sequence));

    om.put("vol", "bkt", "k2", 10).await;
    let some = updates(&om, sequence).await;
    assert_eq!(some.db_update_success, Some(true));
    assert!(some.sequence_number > sequence);
    assert_eq!(some.latest_sequence_number, Some(some.sequence_number));
    let holds = |text: &[u8]| some.data.iter().any(|b| b.windows(text.len()).any(|w| w == text));
    assert!(holds(b"/vol/bkt/k2") && !holds(b"/vol/bkt/k1"));
    // Each batch has its number of changes: a copy that applies them has that number then.
    let changes: u64 = some
        .data
        .iter()
        .map(|batch| u64::from(u32::from_le_bytes(batch[8..12].try_into().unwrap())))
        .sum();
    assert_eq!(sequence + changes, some.sequence_number);
    assert_eq!(updates(&om, some.sequence_number).await.data.len(), 0);

    let (_, archive) = get(&om, "/v2/dbCheckpoint").await;
    let second = tempfile::tempdir().unwrap();
    let names = unpack(&archive, second.path());
    let links = std::fs::read_to_string(second.path().join("hardLinkFile")).unwrap();
    assert_eq!(links.lines().count(), names.len() - 2);
    let (name, id) = links.lines().find(|l| l.contains(".sst")).unwrap().split_once('\t').unwrap();
    assert!(name.starts_with("om.db/") && names.contains(&id.to_owned()), "{links}");
    let (_, archive) = get(&om, &format!("/v2/dbCheckpoint?toExcludeSST={id}")).await;
    let fewer = unpack(&archive, tempfile::tempdir().unwrap().path());
    assert!(!fewer.contains(&id.to_owned()), "{fewer:?}");

    testkit::until("copies that were sent to be removed", async || copies(&world) == 0).await;
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_administrators_copy_where_users_are_judged() {
    let world =
        World::new().await.with("ozone.acl.enabled", true).with("ozone.administrators", "chief");
    let om = world.start().await;
    let (head, _) = get(&om, "/dbCheckpoint").await;
    assert!(head.contains("403"), "{head}");
    let (head, _) = get(&om, "/dbCheckpoint?user.name=eve").await;
    assert!(head.contains("403"), "{head}");
    let (head, _) = get(&om, "/dbCheckpoint?user.name=chief").await;
    assert!(head.contains("200"), "{head}");
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_tells_services_settings_and_log_levels() {
    let world = World::new().await;
    let om = world.start().await;
    let (_, services) = get(&om, "/serviceList").await;
    let services: serde_json::Value = serde_json::from_slice(&services).unwrap();
    assert_eq!(services[0]["nodeType"], "OM");
    let http = om.handle.addresses().http.unwrap().port();
    assert_eq!(services[0]["ports"]["HTTP"], http);
    let (head, conf) = get(&om, "/conf?name=trioxide.om.cache.size").await;
    assert!(head.contains("200 OK"), "{head}");
    let conf = String::from_utf8(conf).unwrap();
    assert!(conf.contains("<name>trioxide.om.cache.size</name><value>32MB</value>"), "{conf}");
    let (head, _) = get(&om, "/conf?name=no.such.key").await;
    assert!(head.contains("404"), "{head}");
    let (_, levels) = get(&om, "/logLevel?log=org.apache.hadoop.ozone.om").await;
    let levels = String::from_utf8(levels).unwrap();
    assert!(levels.contains("<!-- OUTPUT -->Effective Level: <b>"), "{levels}");
    om.handle.shutdown().await;
}
