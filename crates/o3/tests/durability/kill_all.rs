//! kill -9 of a whole cluster at random moments, repeatedly.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rand::RngExt;

use super::ledger::Ledger;
use super::{client, make_bucket, runtime};
use crate::process::{Daemon, server};

/// Number of kills of the cluster; `O3_KILL_ROUNDS` sets more.
const ROUNDS: u64 = 6;
const WRITERS: usize = 6;

#[test]
fn acknowledged_writes_survive_kill_9_of_everything_at_any_moment() {
    let rounds =
        std::env::var("O3_KILL_ROUNDS").ok().and_then(|r| r.parse().ok()).unwrap_or(ROUNDS);
    let dir = tempfile::tempdir().unwrap();
    let runtime = runtime();
    let ledger = Arc::new(Ledger::default());
    for round in 0..rounds {
        let daemon = Daemon::start(server(dir.path(), &[]));
        let client = client(&daemon);
        runtime.block_on(async {
            if round == 0 {
                make_bucket(&client).await;
            }
            ledger.verify(&client).await;
        });
        let stop = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = (0..WRITERS)
            .map(|w| {
                runtime.spawn(ledger.clone().write(client.clone(), w, round + 1, stop.clone()))
            })
            .collect();
        let before = ledger.acknowledged();
        // The test is about the random moment. It comes after some writes, on any machine.
        let enough = before + rand::rng().random_range(5..150);
        testkit::until_blocking("some writes", || ledger.acknowledged() >= enough);
        daemon.kill();
        stop.store(true, Ordering::Relaxed);
        writers.into_iter().for_each(|w| w.abort());
        assert!(ledger.acknowledged() > before, "round {round}: nothing was written");
    }
    let daemon = Daemon::start(server(dir.path(), &[]));
    runtime.block_on(ledger.verify(&client(&daemon)));
    eprintln!("{rounds} rounds, {} acknowledged operations", ledger.acknowledged());
}
