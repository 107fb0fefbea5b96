//! Reads of what any OM has: one client writes a key over and over, another one reads it so. It
//! must never see what was replaced for longer than the OMs promise, nor anything that was not
//! written.

use std::sync::atomic::Ordering;
use std::time::Duration;

use client::BucketSpec;

use super::Board;
use super::client::{Reads, VOLUME, connect};
use super::configuration::Layout;
use crate::scenario::now;
use crate::scenario::process::on_runtime;
use crate::world::clock::SECOND;

/// Maximum lag of a read: OMs guarantee 5 s by default
/// (`ozone.om.follower.read.local.lease.time.ms`), by clocks that drift a little.
const MAX_STALENESS: u64 = 5 * SECOND + SECOND / 100;
const BUCKET: &str = "lease";

/// Writes and reads of the key, whose content is counted up by its only writer.
#[derive(Default)]
pub struct Seen {
    /// Number, time of the request, time of the acknowledgement.
    writes: Vec<(u64, u64, Option<u64>)>,
    /// Number, time of the request, time of the response.
    reads: Vec<(u64, u64, u64)>,
}

impl Seen {
    /// Returns the number of reads, and the violations among them.
    pub fn judge(&self) -> (usize, Vec<String>) {
        let mut wrong = Vec::new();
        for (number, asked, came) in &self.reads {
            let due = self
                .writes
                .iter()
                .rev()
                .find(|(_, _, done)| done.is_some_and(|done| done + MAX_STALENESS < *asked));
            if due.is_some_and(|(least, _, _)| number < least) {
                wrong.push(format!(
                    "a local read at {asked} showed {number}, {due:?} was long there"
                ));
            }
            if self.writes.iter().any(|(other, begun, _)| other == number && begun > came) {
                wrong
                    .push(format!("a local read at {asked} showed {number} before it was written"));
            }
        }
        (self.reads.len(), wrong)
    }
}

/// The process of the one that writes, or of the one that reads.
pub fn work(reads: bool, layout: &Layout, board: &Board) {
    on_runtime(async {
        let kind = if reads { Reads::Local } else { Reads::Leader };
        let Ok(client) = connect(layout, kind) else { return };
        let mut number = 0;
        while !board.stop.load(Ordering::Acquire) {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let asked = now();
            if reads {
                // The number is the bucket's count of namespace, which is one row: what OM itself
                // has.
                if let Ok(info) = client.bucket_info(VOLUME, BUCKET).await {
                    let number = info.quota_in_namespace.unwrap_or(0) as u64;
                    board.lease.lock().reads.push((number, asked, now()));
                }
                continue;
            }
            if number == 0 {
                let spec = BucketSpec { quota_in_namespace: 1, ..BucketSpec::default() };
                let _ = client.create_bucket(VOLUME, BUCKET, spec).await;
            }
            number += 1;
            let change = client::BucketChange {
                quota_in_namespace: Some(number as i64),
                ..client::BucketChange::default()
            };
            let done = client.change_bucket(VOLUME, BUCKET, change).await.is_ok();
            board.lease.lock().writes.push((number, asked, done.then(now)));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_older_than_promised_is_wrong() {
        let write = |number, at| (number, at, Some(at + 1));
        let read = |number, asked| (number, asked, asked + 1);
        let writes = vec![write(1, 0), write(2, 10 * SECOND)];
        let judge = |reads| Seen { writes: writes.clone(), reads }.judge().1.len();
        assert_eq!(judge(vec![read(1, 12 * SECOND), read(2, 11 * SECOND)]), 0);
        assert_eq!(judge(vec![read(1, 26 * SECOND)]), 1);
        assert_eq!(judge(vec![read(2, 9 * SECOND)]), 1);
    }
}
