//! A flood of one user and the requests of another, measured in requests: how many of the flood's
//! are answered while one of the other user is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use framed::{Client, ClientOptions};
use prost::Message;
use proto::method;
use proto::ozone::*;
use testkit::until;

use crate::support::requests::*;
use crate::support::{TIMEOUT, TestOm, World};

const CONNECTIONS: usize = 64;
const WRITES: usize = 4;

fn of_user(user: &str, request: OmRequest) -> OmRequest {
    let user_info = UserInfo { user_name: Some(user.to_owned()), ..UserInfo::default() };
    OmRequest { user_info: Some(Box::new(user_info)), ..request }
}

/// Connections of one user that ask for one thing after the other.
struct Flood {
    answered: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Flood {
    fn begin(om: &TestOm, request: impl Fn(usize) -> OmRequest) -> Self {
        let (answered, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let address = om.handle.addresses().framed.to_string();
        let tasks = (0..CONNECTIONS).map(|n| {
            let client = Client::new(address.clone(), ClientOptions::default());
            let request = Bytes::from(of_user("flood", request(n)).encode_to_vec());
            let (answered, stop) = (Arc::clone(&answered), Arc::clone(&stop));
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let call = client.call(method::OM, request.clone(), Bytes::new(), TIMEOUT);
                    call.await.unwrap();
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        Self { tasks: tasks.collect(), answered, stop }
    }

    fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    async fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await.unwrap();
        }
    }
}

/// Number of the flood's requests answered during each of the light user's, sorted.
async fn seen_by_light(world: &World) -> Vec<u64> {
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    let flood = Flood::begin(&om, |n| create_key(key_args("vol", "bkt", &format!("f{n}"), 1)));
    until("the flood is there", async || flood.answered() > 10 * CONNECTIONS as u64).await;
    let light = create_key(key_args("vol", "bkt", "light", 1));
    let mut seen = Vec::new();
    for n in 0..120 {
        let before = flood.answered();
        om.ok(of_user("light", light.clone())).await;
        // The first ones of a user find the flood in places that it took while it was alone.
        if n >= 20 {
            seen.push(flood.answered() - before);
        }
    }
    flood.end().await;
    om.handle.shutdown().await;
    seen.sort_unstable();
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_creates_does_not_hold_up_another_user() {
    let fair = World::new().await.with("trioxide.om.limit.writes", WRITES);
    let seen = seen_by_light(&fair).await;
    // A request of the light user has a place at once, and waits for the rounds of the log that
    // are under way and its own: each has as many of the flood's as there are places.
    let p99 = seen[seen.len() * 99 / 100];
    assert!(p99 <= 8 * WRITES as u64, "{seen:?}");
    // In the order in which they come, all that wait go before.
    let fifo = World::new().await.with("trioxide.om.limit.writes", WRITES);
    let fifo = fifo.with("ipc.callqueue.impl", "java.util.concurrent.LinkedBlockingQueue");
    let seen = seen_by_light(&fifo).await;
    assert!(seen[seen.len() / 2] >= CONNECTIONS as u64 / 2, "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_long_lists_does_not_hold_up_reads() {
    let world = World::new().await.with("trioxide.om.limit.lists", 1);
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    for n in 0..300 {
        om.put_any("vol", "bkt", &format!("k{n:03}"), 1).await;
    }
    let flood = Flood::begin(&om, |_| list_keys("vol", "bkt", "", "", 1_000));
    until("the flood is there", async || flood.answered() > 2 * CONNECTIONS as u64).await;
    let mut seen = Vec::new();
    for _ in 0..60 {
        let before = flood.answered();
        om.ok(of_user("light", get_key_info(key_args("vol", "bkt", "k007", 0)))).await;
        seen.push(flood.answered() - before);
    }
    seen.sort_unstable();
    assert!(seen[seen.len() / 2] <= 8, "{seen:?}");
    flood.end().await;
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_of_the_queue_that_contradict_each_other_stop_the_start() {
    let world = World::new().await.with("ipc.0.faircallqueue.multiplexer.weights", "3,1");
    let started = om::Om::start(&world.conf(world.dir.path()), om::OmOptions::default()).await;
    let error = started.err().expect("four levels have four weights").to_string();
    assert!(error.contains("ipc.0.faircallqueue.multiplexer.weights"), "{error}");
}
