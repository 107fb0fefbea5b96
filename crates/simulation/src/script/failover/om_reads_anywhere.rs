//! Clients that read at any OM, while OMs are killed one after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use client::{BucketSpec, Client, FollowerReads};
use parking_lot::Mutex;

use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "failover/om-reads-anywhere",
    about: "a client that reads at any OM sees its own writes, and none of its reads fails when OMs are killed",
    run,
};

/// Delay between two reads.
const PACE: Duration = Duration::from_millis(50);

/// Results of a client. Clones share it.
#[derive(Clone, Default)]
struct Found {
    wrong: Arc<Mutex<Vec<String>>>,
    reads: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
}

impl Found {
    /// Creates a bucket now and then, and reads it and the first one without an end.
    async fn work(self, om: Client, volume: &'static str) {
        for count in 0.. {
            if self.is_over.load(Ordering::Acquire) {
                return;
            }
            let bucket = format!("bucket-{}", count / 10);
            if count % 10 == 0
                && let Err(error) = om.create_bucket(volume, &bucket, BucketSpec::default()).await
            {
                self.wrong.lock().push(format!("{bucket} is not made: {error}"));
                continue;
            }
            for bucket in [bucket.as_str(), "bucket-0"] {
                if let Err(error) = om.bucket_info(volume, bucket).await {
                    self.wrong.lock().push(format!("{bucket} of {volume} is not seen: {error}"));
                }
                self.reads.fetch_add(1, Ordering::AcqRel);
            }
            tokio::time::sleep(PACE).await;
        }
    }

    fn reached(&self, count: usize) -> Result<()> {
        let wrong = self.wrong.lock();
        ensure!(wrong.is_empty(), "{} calls failed, the first: {}", wrong.len(), wrong[0]);
        let reads = self.reads.load(Ordering::Acquire);
        ensure!(reads >= count, "{reads} of {count} reads are answered");
        Ok(())
    }
}

fn run() -> Result<()> {
    let setup = cluster(1, 3, 3).with("ozone.om.follower.read.local.lease.enabled", "true");
    let mut c = setup.start()?;
    let kinds = [
        ("local", FollowerReads::Local { max_lag: 1_000 }),
        ("linear", FollowerReads::Linearizable),
    ];
    for (volume, reads) in kinds {
        c.ask(move |it| async move { it.om.create_volume(volume, None, -1, -1).await })??;
        let mut options = c.client_options();
        options.follower_reads = Some(reads);
        let found = Found::default();
        let of = found.clone();
        c.begin(move |_| async move {
            match Client::new(options) {
                Ok(client) => of.work(client, volume).await,
                Err(error) => of.wrong.lock().push(error.to_string()),
            }
        });
        c.expect("it reads", minutes(1), |_| found.reached(40))?;
        for om in [Om(0), Om(1), Om(2)] {
            c.kill([om])?;
            let before = found.reads.load(Ordering::Acquire);
            let what = format!("{volume} reads go on without {om}");
            c.expect(&what, minutes(1), |_| found.reached(before + 60))?;
            c.start([om])?;
            c.expect("it is back", minutes(2), |c| c.om_is_even(om))?;
        }
        found.is_over.store(true, Ordering::Release);
        found.reached(0)?;
    }
    Ok(())
}
