//! An operator who makes snapshots of the bucket in use, reads them, has them compared and deletes
//! them, while clients change the bucket and OMs take apart what was deleted.
//!
//! The creation of a snapshot is a call on its bucket like those of clients: the snapshot's
//! contents must be the bucket's at one moment of it, and never change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use client::{Client, ErrorKind, KeyPath, SnapshotPair};
use futures::TryStreamExt;
use proto::ozone::DiffReportEntryProto;
use proto::ozone::diff_report_entry_proto::DiffTypeProto;
use proto::ozone::snapshot_diff_response::JobStatusProto;

use super::Board;
use super::bucket::{Answer, Op};
use super::client::{KEYS, Reads, Seen, VOLUME, connect, content_of};
use super::configuration::Layout;
use crate::history::Event;
use crate::scenario::now;
use crate::scenario::process::on_runtime;
use crate::world::random::Random;

/// Snapshots that are kept; the rest is deleted.
const KEPT: usize = 6;
/// Between two calls at most, in seconds.
const MAX_INTERVAL: u64 = 3;
/// Maximum number of polls of a comparison in progress, one per second.
const COMPARISON_POLLS: u32 = 40;
/// Changes of one page.
const PAGE: u32 = 2;

/// The keys of a bucket with their contents.
type Contents = BTreeMap<u8, u64>;

/// An existing snapshot.
#[derive(Debug, Clone)]
struct Snapshot {
    bucket: u64,
    name: String,
    contents: Contents,
}

/// Counts.
#[derive(Debug, Default)]
pub struct Snapshots {
    /// In the order of their creation.
    kept: Vec<Snapshot>,
    /// Created snapshots.
    pub created: u64,
    /// Deleted snapshots.
    pub deleted: u64,
    /// Compared pairs.
    pub compared: u64,
}

/// Creates, compares and deletes until clients stop.
pub fn work(layout: &Layout, random: Random, board: &Board) {
    on_runtime(async {
        let Ok(client) = connect(layout, Reads::Leader) else { return };
        let mut operator = Operator { client, random, board };
        while !operator.is_over() {
            match operator.random.below(8) {
                0..=2 => operator.create().await,
                3..=4 => operator.read().await,
                5..=6 => operator.compare().await,
                _ => operator.delete(0).await,
            }
            let pause = operator.random.below(MAX_INTERVAL);
            board.pass(pause).await;
        }
        let compactions = operator.client.om_range_compactions().await;
        let compacted = compactions.iter().filter_map(|(_, status)| status.as_ref().ok());
        let compacted: u64 = compacted.map(|status| status.compacted).sum();
        board.compacted.store(compacted, Ordering::Relaxed);
    });
}

/// Reads every remaining snapshot, until all of it can be read.
pub async fn read_all(client: &Client, board: &Board) {
    let kept = board.snapshots.lock().kept.clone();
    for snapshot in kept {
        let found = contents(client, board, snapshot.bucket, &snapshot.name, || false).await;
        snapshot.must_hold(&found.unwrap_or_default(), board);
        let bucket = bucket_name(snapshot.bucket);
        let listed = loop {
            let listed = client.list_snapshots(VOLUME, &bucket, "", "");
            match listed.try_collect::<Vec<_>>().await {
                Ok(listed) => break listed,
                Err(error) => tracing::debug!(%error, "snapshots are not listed"),
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        };
        if !listed.iter().any(|info| info.name() == snapshot.name) {
            let told = format!("{} of {bucket} is not listed", snapshot.name);
            board.violations.lock().push(told);
        }
    }
}

fn bucket_name(bucket: u64) -> String {
    format!("bucket-{bucket}")
}

/// Contents of a snapshot; `None` if they are not needed any more.
async fn contents(
    client: &Client,
    board: &Board,
    bucket: u64,
    name: &str,
    is_over: impl Fn() -> bool,
) -> Option<Contents> {
    let mut contents = Contents::new();
    for key in 0..KEYS as u8 {
        let path = format!(".snapshot/{name}/key-{key}");
        let path = KeyPath::new(VOLUME, bucket_name(bucket), path);
        loop {
            match client.read_key(&path).await {
                Ok(bytes) => {
                    match content_of(&bytes) {
                        Some(content) => drop(contents.insert(key, content)),
                        None => {
                            let told = format!("{path:?} holds what no client wrote");
                            board.violations.lock().push(told);
                        }
                    }
                    break;
                }
                Err(e) if e.kind() == ErrorKind::NotFound && e.om_status().is_some() => break,
                Err(_) if is_over() => return None,
                Err(error) => tracing::debug!(%error, ?path, "a key of a snapshot is not read"),
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
    Some(contents)
}

impl Snapshot {
    fn must_hold(&self, found: &Contents, board: &Board) {
        if *found != self.contents {
            let Self { bucket, name, contents } = self;
            let told = format!("{name} of bucket {bucket} had {contents:?} and has {found:?}");
            board.violations.lock().push(told);
        }
    }
}

struct Operator<'a> {
    client: Client,
    random: Random,
    board: &'a Board,
}

impl Operator<'_> {
    fn is_over(&self) -> bool {
        self.board.stop.load(Ordering::Acquire)
    }

    async fn create(&mut self) {
        let number = {
            let mut snapshots = self.board.snapshots.lock();
            snapshots.created += 1;
            snapshots.created
        };
        let bucket = self.board.bucket.load(Ordering::Acquire);
        let name = format!("snapshot-{number}");
        let asked = now();
        while let Err(error) =
            self.client.create_snapshot(VOLUME, &bucket_name(bucket), Some(&name)).await
        {
            // It was made by a call whose answer was lost.
            if error.kind() == ErrorKind::AlreadyExists {
                break;
            }
            tracing::debug!(%error, %name, "a snapshot is not created");
            if self.is_over() {
                return;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let answered = now();
        let contents = contents(&self.client, self.board, bucket, &name, || self.is_over()).await;
        let Some(contents) = contents else { return };
        let answer = Some(Answer::Contents(contents.clone()));
        let event = Event { op: Op::Snapshot, answer, asked, answered };
        self.board.seen.lock().push(Seen { bucket, event });
        let kept = {
            let kept = &mut self.board.snapshots.lock().kept;
            kept.push(Snapshot { bucket, name, contents });
            kept.len()
        };
        if kept > KEPT {
            let number = self.random.below(kept as u64) as usize;
            self.delete(number).await;
        }
    }

    /// Reads one once more.
    async fn read(&mut self) {
        let kept = self.board.snapshots.lock().kept.clone();
        if kept.is_empty() {
            return;
        }
        let snapshot = self.random.pick(&kept);
        let (bucket, name) = (snapshot.bucket, &snapshot.name);
        let found = contents(&self.client, self.board, bucket, name, || self.is_over()).await;
        if let Some(found) = found {
            snapshot.must_hold(&found, self.board);
        }
    }

    /// Deletes the one at a place.
    async fn delete(&mut self, number: usize) {
        let snapshot = {
            let kept = &mut self.board.snapshots.lock().kept;
            if number >= kept.len() {
                return;
            }
            kept.remove(number)
        };
        let bucket = bucket_name(snapshot.bucket);
        while let Err(error) = self.client.delete_snapshot(VOLUME, &bucket, &snapshot.name).await {
            if error.kind() == ErrorKind::NotFound && error.om_status().is_some() {
                break;
            }
            tracing::debug!(%error, ?snapshot, "a snapshot is not deleted");
            if self.is_over() {
                return;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        self.board.snapshots.lock().deleted += 1;
    }

    /// Has two of the same bucket compared.
    async fn compare(&mut self) {
        let kept = self.board.snapshots.lock().kept.clone();
        let pairs: Vec<(&Snapshot, &Snapshot)> = (0..kept.len())
            .flat_map(|a| (a + 1..kept.len()).map(move |b| (a, b)))
            .map(|(a, b)| (&kept[a], &kept[b]))
            .filter(|(from, to)| from.bucket == to.bucket)
            .collect();
        if pairs.is_empty() {
            return;
        }
        let (from, to) = *self.random.pick(&pairs);
        let Some(changes) = self.changes(from, to).await else { return };
        self.board.snapshots.lock().compared += 1;
        if let Some(wrong) = wrong(&from.contents, &to.contents, &changes) {
            let told = format!("from {from:?} to {to:?}: {wrong} of {changes:?}");
            self.board.violations.lock().push(told);
        }
    }

    /// Changes that OM reports; `None` if it does not answer in time.
    async fn changes(&self, from: &Snapshot, to: &Snapshot) -> Option<Vec<DiffReportEntryProto>> {
        let bucket = bucket_name(from.bucket);
        let (volume, bucket, from, to) = (VOLUME, bucket.as_str(), &*from.name, &*to.name);
        let pair = SnapshotPair { volume, bucket, from, to };
        let (mut changes, mut token) = (Vec::new(), String::new());
        for _ in 0..COMPARISON_POLLS {
            let page = self.client.snapshot_diff(pair, &token, PAGE).await;
            let status = page.as_ref().ok().map(|page| page.job_status());
            match (page, status) {
                (Ok(page), Some(JobStatusProto::Done)) => {
                    let report = page.snapshot_diff_report.unwrap_or_default();
                    changes.extend(report.diff_list);
                    token = report.token.unwrap_or_default();
                    if token.is_empty() {
                        return Some(changes);
                    }
                    continue;
                }
                (_, Some(JobStatusProto::Queued | JobStatusProto::InProgress)) => {}
                // Another OM leads, which has not compared them: from the first page on.
                (page, status) => {
                    tracing::debug!(?status, error = ?page.err(), "no comparison yet");
                    (changes, token) = (Vec::new(), String::new());
                    let submitted = self.client.submit_snapshot_diff(pair).await;
                    tracing::debug!(?submitted, "a comparison");
                }
            }
            if self.is_over() {
                return None;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        None
    }
}

/// Errors in the reported changes between two contents. No content is written twice, so keys with
/// the same content are the same.
fn wrong(from: &Contents, to: &Contents, changes: &[DiffReportEntryProto]) -> Option<String> {
    let number = |path: &str| path.rsplit('/').next()?.strip_prefix("key-")?.parse::<u8>().ok();
    let (mut gone, mut new, mut changed) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut moved = BTreeMap::new();
    for change in changes {
        let Some(source) = number(change.source_path()) else {
            return Some("a path that is none".to_owned());
        };
        match change.diff_type() {
            DiffTypeProto::Create => drop(new.insert(source)),
            DiffTypeProto::Delete => drop(gone.insert(source)),
            DiffTypeProto::Modify => drop(changed.insert(source)),
            DiffTypeProto::Rename => match number(change.target_path()) {
                Some(target) => drop(moved.insert(target, source)),
                None => return Some("a target that is none".to_owned()),
            },
        }
    }
    let left = |key: &&u8| !gone.contains(*key) && !moved.values().any(|source| source == *key);
    let mut names: BTreeSet<u8> = from.keys().filter(left).copied().collect();
    for added in new.iter().chain(moved.keys()) {
        if !names.insert(*added) {
            return Some(format!("key {added} is there twice"));
        }
    }
    if !names.iter().eq(to.keys()) {
        return Some(format!("the keys are {names:?} then"));
    }
    for (key, content) in to.iter().filter(|(key, _)| !new.contains(key)) {
        let source = moved.get(key).unwrap_or(key);
        let is_same = from.get(source) == Some(content);
        let is_changed = changed.contains(source) || changed.contains(key);
        if is_same == is_changed {
            return Some(format!("key {key} is changed: {is_changed}"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(kind: DiffTypeProto, source: u8, target: Option<u8>) -> DiffReportEntryProto {
        DiffReportEntryProto {
            diff_type: Some(kind as i32),
            source_path: Some(format!("key-{source}")),
            target_path: target.map(|target| format!("key-{target}")),
        }
    }

    #[test]
    fn changes_must_lead_from_the_one_to_the_other() {
        let from = Contents::from([(0, 10), (1, 11), (2, 12)]);
        let to = Contents::from([(1, 12), (2, 20), (3, 30)]);
        let (delete, create) = (DiffTypeProto::Delete, DiffTypeProto::Create);
        let good = [
            change(delete, 0, None),
            change(delete, 1, None),
            change(DiffTypeProto::Rename, 2, Some(1)),
            change(create, 2, None),
            change(create, 3, None),
        ];
        assert_eq!(wrong(&from, &to, &good), None);
        for left_out in 0..good.len() {
            let mut fewer = good.to_vec();
            fewer.remove(left_out);
            assert!(wrong(&from, &to, &fewer).is_some(), "without {left_out}");
        }
        let other = Contents::from([(0, 10), (1, 13), (2, 12)]);
        assert_eq!(wrong(&from, &other, &[change(DiffTypeProto::Modify, 1, None)]), None);
        assert!(wrong(&from, &other, &[]).is_some());
        assert!(wrong(&from, &from, &[change(DiffTypeProto::Modify, 1, None)]).is_some());
    }
}
