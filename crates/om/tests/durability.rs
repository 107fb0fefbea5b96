//! Acknowledged writes survive every end of OM.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use framed::{Client, ClientOptions};
use om::{Om, OmOptions};
use prost::Message;
use proto::ozone::{OmResponse, Status};
use testkit::until;

use crate::support::requests::*;
use crate::support::{TIMEOUT, World, blocks};

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_everything() {
    let world = World::new().await;
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    let before = om.put("vol", "bkt", "k", 10).await;
    let (session, open) = om.open(key_args("vol", "bkt", "open", 10)).await;
    let bucket = om.bucket_info("vol", "bkt").await;
    om.handle.shutdown().await;

    let om = world.start().await;
    let after = om.info("vol", "bkt", "k").await;
    assert_eq!(blocks(&after), blocks(&before));
    assert_eq!((after.object_id, after.update_id), (before.object_id, before.update_id));
    assert_eq!(om.bucket_info("vol", "bkt").await, bucket);
    om.ok(commit_key(open, session)).await;
    assert_eq!(om.names("vol", "bkt", "").await, ["k", "open"]);
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_that_a_crash_left_goes_with_the_next_start() {
    let world = World::new().await;
    let left = world.dir.path().join("om/snapshots/1-5");
    world.start().await.handle.shutdown().await;
    std::fs::create_dir_all(&left).unwrap();
    std::fs::write(left.join("000001.sst"), "rows").unwrap();
    let om = world.start().await;
    assert!(!left.exists());
    om.bucket("vol", "bkt").await;
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_replays_the_log_over_tables_that_were_not_flushed() {
    let world = World::new().await;
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    for i in 0..50 {
        om.put("vol", "bkt", &format!("k{i:02}"), 10).await;
    }
    om.ok(rename_key("vol", "bkt", "k00", "renamed")).await;
    om.ok(delete_key("vol", "bkt", "k01")).await;
    let (names, bucket) = (om.names("vol", "bkt", "").await, om.bucket_info("vol", "bkt").await);
    let key = om.info("vol", "bkt", "renamed").await;
    let image = world.crash_image();
    let again = world.start_in(image.path()).await;
    assert_eq!(again.names("vol", "bkt", "").await, names);
    let replayed = again.info("vol", "bkt", "renamed").await;
    assert_eq!(replayed, key, "replaying gives the same ids and times");
    let recovered = again.bucket_info("vol", "bkt").await;
    assert_eq!(recovered.used_bytes, bucket.used_bytes);
    assert_eq!(recovered.used_namespace, bucket.used_namespace);
    again.put("vol", "bkt", "new", 10).await;
    again.handle.shutdown().await;
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trimming_the_log_loses_nothing() {
    let world = World::new().await.with("ozone.om.ratis.snapshot.auto.trigger.threshold", 100);
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    let om = Arc::new(om);
    let mut tasks = Vec::new();
    for writer in 0..8 {
        let om = Arc::clone(&om);
        tasks.push(tokio::spawn(async move {
            for i in 0..100 {
                let args = key_args("vol", "bkt", &format!("{writer}-{i:03}"), 0);
                let (session, args) = om.open(args).await;
                om.ok(commit_key(args, session)).await;
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let flushes = || {
        let text = om.handle.metrics().encode();
        let line = text.lines().find(|l| l.starts_with("om_table_flushes_total")).unwrap_or("x 0");
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    until("the tables were flushed", async || flushes() >= 1.0).await;
    let image = world.crash_image();
    let again = world.start_in(image.path()).await;
    assert_eq!(again.bucket_info("vol", "bkt").await.used_namespace, Some(800));
    again.handle.shutdown().await;
}

const CHILD: &str = "OM_TEST_CHILD";

/// Not a test: the process that [`kill_nine_loses_no_acknowledged_key`] kills.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "the second process of a test"]
async fn an_om_to_be_killed() {
    let Ok(settings) = std::env::var(CHILD) else { return };
    let (dir, scm) = settings.split_once('|').unwrap();
    let dir = PathBuf::from(dir);
    let conf = config::Configuration::builder()
        .build()
        .unwrap()
        .with("ozone.om.db.dirs", dir.display())
        .with("ozone.om.address", "127.0.0.1:0")
        .with("ozone.om.grpc.port", 0)
        .with("ozone.om.http.enabled", false)
        .with("ozone.om.ratis.snapshot.auto.trigger.threshold", 300)
        .with("ozone.scm.client.address", scm)
        .with("ozone.scm.block.client.address", scm);
    let om = Om::start(&conf, OmOptions::default()).await.unwrap();
    let mut file = std::fs::File::create(dir.join("address.tmp")).unwrap();
    write!(file, "{}", om.addresses().framed).unwrap();
    std::fs::rename(dir.join("address.tmp"), dir.join("address")).unwrap();
    // A parent that failed must not leave this behind for ever.
    tokio::time::sleep(std::time::Duration::from_secs(120)).await;
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn spawn(world: &World) -> Killed {
    let settings = format!("{}|{}", world.dir.path().display(), world.scm_server.local_addr());
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "durability::an_om_to_be_killed", "--ignored"])
        .env(CHILD, settings)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    Killed(child)
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_nine_loses_no_acknowledged_key() {
    let world = World::new().await;
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    om.handle.shutdown().await;
    let mut acknowledged: Vec<String> = Vec::new();
    for round in 0..3 {
        let _ = std::fs::remove_file(world.dir.path().join("address"));
        let mut child = spawn(&world);
        let file = world.dir.path().join("address");
        until("the child serves", async || file.exists()).await;
        let address = std::fs::read_to_string(&file).unwrap();
        let dead = Arc::new(AtomicBool::new(false));
        let count = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..4)
            .map(|writer| {
                let (dead, count) = (Arc::clone(&dead), Arc::clone(&count));
                let client = Client::new(address.as_str(), ClientOptions::default());
                tokio::spawn(write_until(client, dead, count, format!("{round}-{writer}")))
            })
            .collect();
        // Somewhere in the middle of a round, of a flush or of a trim.
        let enough = 150 + 97 * round;
        until("some keys are acknowledged", async || count.load(Ordering::Relaxed) > enough).await;
        child.0.kill().unwrap();
        dead.store(true, Ordering::Relaxed);
        for task in tasks {
            acknowledged.extend(task.await.unwrap());
        }
        child.0.wait().unwrap();
    }
    let om = world.start().await;
    for name in &acknowledged {
        assert_eq!(om.info("vol", "bkt", name).await.data_size, 10);
    }
    let names = om.names("vol", "bkt", "").await;
    let bucket = om.bucket_info("vol", "bkt").await;
    assert_eq!(bucket.used_namespace, Some(names.len() as u64), "counters fit the rows");
    om.handle.shutdown().await;
}

/// Writes keys until the server is down; returns the acknowledged ones.
async fn write_until(
    client: Client,
    dead: Arc<AtomicBool>,
    count: Arc<AtomicUsize>,
    prefix: String,
) -> Vec<String> {
    let mut acknowledged = Vec::new();
    let ask = async |request: proto::ozone::OmRequest| {
        let header = Bytes::from(request.encode_to_vec());
        let reply = client.call(proto::method::OM, header, Bytes::new(), TIMEOUT).await.ok()?;
        let answer = OmResponse::decode(reply.header).unwrap();
        (answer.status() == Status::Ok).then_some(answer)
    };
    for i in 0.. {
        if dead.load(Ordering::Relaxed) {
            break;
        }
        let name = format!("{prefix}-{i:05}");
        let mut args = key_args("vol", "bkt", &name, 10);
        let Some(created) = ask(create_key(args.clone())).await else { continue };
        let created = created.create_key_response.unwrap();
        let info = created.key_info.unwrap();
        args.key_locations =
            info.key_location_list.into_iter().flat_map(|v| v.key_locations).collect();
        args.key_locations[0].length = 10;
        if ask(commit_key(args, created.id.unwrap())).await.is_some() {
            count.fetch_add(1, Ordering::Relaxed);
            acknowledged.push(name);
        }
    }
    acknowledged
}
