//! Changes of keys by writers: write, delete, and replace by a renamed key.

use std::time::Instant;

use client::{CreateKey, ErrorKind, FinishOptions, KeyPath};
use rand::RngExt;

use super::{AttemptError, RETRY_DELAY, Run, at};
use crate::edition;
use crate::history::{Seen, Verdict};

impl Run {
    /// Creates the next version of a key, in one of three ways.
    pub(super) async fn change(&self, key: usize) {
        let path = self.target.key(&self.prefix, key as u64);
        let dice = rand::rng().random_range(0..100);
        if dice < self.deletes {
            self.delete(key, &path).await;
        } else if dice < self.deletes + self.renames {
            self.replace(key, &path).await;
        } else {
            let version = self.history.begin(key);
            let began = Instant::now();
            let written = self.put(path, key, version).await;
            self.changed(key, version, began, "write", written).await;
        }
    }

    /// Writes a version of a key; returns a description of its slowest steps.
    async fn put(&self, path: KeyPath, key: usize, version: u64) -> Result<String, AttemptError> {
        let content = edition::write(key as u64, version, &self.sizes);
        let began = Instant::now();
        let written = self.attempt(async |client| {
            let mut args = CreateKey::new(path).size_hint(content.len() as u64);
            args.replication = self.target.replication;
            let mut writer = client.create_key(args).await?;
            let opened = began.elapsed();
            writer.write(content).await?;
            writer.finish(FinishOptions::default()).await?;
            Ok(format!(", opened after {opened:.1?}"))
        });
        written.await
    }

    /// Deletes a key; a missing key counts as deleted. True if it is deleted.
    async fn delete(&self, key: usize, path: &KeyPath) -> bool {
        let version = self.history.begin_deletion(key);
        let began = Instant::now();
        let deleted = self.attempt(async |client| match client.delete_key(path).await {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
            _ => Ok(String::new()),
        });
        self.changed(key, version, began, "deletion", deleted.await).await
    }

    /// Writes the key under another name, deletes it, and renames the other one to it.
    async fn replace(&self, key: usize, path: &KeyPath) {
        // The deletion is the next version, the renamed key the one after it. A rename of unknown
        // outcome may happen later, so no two use the same name.
        let version = self.history.newest(key) + 2;
        let beside = KeyPath { key: format!("{}.{version}", path.key), ..path.clone() };
        if let Err(e) = self.put(beside.clone(), key, version).await {
            let began = Instant::now();
            self.note(|f| f.write_failed(|| at(began, &format!("write of {beside}: {e}"))));
            return tokio::time::sleep(RETRY_DELAY).await;
        }
        if !self.delete(key, path).await {
            return;
        }
        let version = self.history.begin(key);
        let began = Instant::now();
        let renamed = self.attempt(async |client| {
            client.rename_key(&beside, &path.key).await.map(|()| String::new())
        });
        if !self.changed(key, version, began, "rename", renamed.await).await {
            return;
        }
        // The renamed key is not at its old name.
        let began = Instant::now();
        match self.read_version_at(&beside, key).await {
            Ok(Seen::Absent) => {}
            Ok(seen) => {
                let text = || at(began, &format!("{beside} is {seen:?} after it was renamed"));
                self.note(|f| f.read(began, Verdict::Stale, text));
            }
            Err(e) => self.note(|f| f.read_failed(|| at(began, &format!("read of {beside}: {e}")))),
        }
    }

    /// Records the outcome of a change; true if it was acknowledged.
    async fn changed(
        &self,
        key: usize,
        version: u64,
        began: Instant,
        what: &str,
        outcome: Result<String, AttemptError>,
    ) -> bool {
        match outcome {
            Ok(details) => {
                self.history.acknowledged(key, version);
                let slow = || at(began, &format!("{what} of {key}, version {version}{details}"));
                self.note(|f| f.wrote(began, slow));
                true
            }
            Err(e) => {
                self.history.unknown(key, version);
                let text = || at(began, &format!("{what} of {key}, version {version}: {e}"));
                self.note(|f| f.write_failed(text));
                tokio::time::sleep(RETRY_DELAY).await;
                false
            }
        }
    }
}
