//! The process that changes the bucket's storage policy, and the mover: `o3 admin mover`, again and
//! again.

use std::num::NonZeroU64;
use std::time::Duration;

use client::{BucketChange, MoveOutcome};
use types::StoragePolicy;

use crate::scenario::erasure::board::{BUCKET, Board, VOLUME, connect, path};
use crate::scenario::erasure::layout::Layout;
use crate::scenario::process::on_runtime;
use crate::world::random::Random;

/// Between two changes of the policy, in seconds.
const INTERVAL: (u64, u64) = (5, 40);
/// Between two rounds of the mover at most, in seconds.
const PAUSE: u64 = 8;
/// Bytes a second of the mover, so that keys change while it reads and writes them.
const RATES: [u64; 3] = [50_000, 400_000, 0];

/// Changes the bucket's policy.
pub fn change(layout: &Layout, board: &Board, seed: u64) {
    let mut random = Random::new(seed ^ board.number().rotate_left(32));
    on_runtime(async {
        let Ok(client) = connect(layout) else { return };
        loop {
            board.while_quiet().await;
            let policy = *random.pick(&["HOT", "WARM", "COLD", "HOT", "COLD", ""]);
            let fallback = (!random.one_in(4)).to_string();
            let metadata = vec![
                (StoragePolicy::METADATA_KEY.to_owned(), policy.to_owned()),
                (StoragePolicy::FALLBACK_KEY.to_owned(), fallback),
            ];
            let change = BucketChange { metadata, ..BucketChange::default() };
            let changed = client.change_bucket(VOLUME, BUCKET, change).await;
            tracing::info!(policy, ?changed, "the policy of the bucket changes");
            if changed.is_ok() {
                board.count("policies changed", 1);
            }
            tokio::time::sleep(Duration::from_secs(random.range(INTERVAL.0, INTERVAL.1))).await;
        }
    });
}

/// Brings keys to where they belong, also while all is quiet.
pub fn bring(layout: &Layout, board: &Board, seed: u64) {
    let mut random = Random::new(seed ^ board.number().rotate_left(32));
    on_runtime(async {
        let Ok(client) = connect(layout) else { return };
        loop {
            tokio::time::sleep(Duration::from_secs(1 + random.below(PAUSE))).await;
            let rate = NonZeroU64::new(*random.pick(&RATES));
            let keys: Vec<u64> = board.kept.lock().keys().copied().collect();
            let Ok(bucket) = client.bucket_info(VOLUME, BUCKET).await else { continue };
            for number in keys {
                let path = path(number);
                let Ok(storage) = client.key_storage(&path, &bucket, None).await else { continue };
                if storage.misplaced() == 0 || storage.is_being_written {
                    continue;
                }
                let outcome = client.move_to_its_storage(&path, &storage, rate).await;
                tracing::debug!(number, ?outcome, "a key was to be moved");
                board.count(
                    match outcome {
                        Ok(MoveOutcome::Moved(_)) => "keys moved",
                        Ok(MoveOutcome::Changed) => "keys changed while they were moved",
                        Ok(MoveOutcome::Elsewhere) => "keys moved to other disks",
                        Err(_) => "keys not moved",
                    },
                    1,
                );
            }
        }
    });
}
