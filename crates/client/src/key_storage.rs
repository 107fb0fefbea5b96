//! Storage types of a key's bytes, compared with its storage policy, and moves between disks.
//!
//! The bytes of a key stay in their containers, and a container on disks of one storage type. A key
//! is therefore moved by rewriting it, on the condition that it is not changed concurrently, which
//! OM checks when the copy is opened and when it is committed. Owner, ACLs, metadata, tags,
//! creation time and id are kept; the modification time is not.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::time::Duration;

use futures::TryStreamExt;
use futures::future::BoxFuture;
use proto::hdds::KeyValue;
use proto::ozone::{BucketInfo, KeyInfo};
use tokio::time::Instant;
use types::{ReplicationConfig, StoragePolicy, StorageType, WireError};

use crate::read::synced::is_being_written;
use crate::{Client, CreateKey, Error, ErrorKind, FinishOptions, KeyPath, Precondition, Result};

/// Storage types of the bytes of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyStorage {
    /// Its policy: its own, else its bucket's, else the cluster's; `None` if any disk is allowed.
    pub policy: Option<StoragePolicy>,
    /// Its bytes, without replicas, by storage type.
    pub bytes: BTreeMap<StorageType, u64>,
    /// True if its writer has synced it but not closed it yet.
    pub is_being_written: bool,
    /// The generation of the key.
    generation: u64,
}

impl KeyStorage {
    fn of(info: &KeyInfo, policy: Option<StoragePolicy>) -> Result<Self> {
        let mut bytes = BTreeMap::new();
        let locations = info.key_location_list.last().map(|of| of.key_locations.as_slice());
        for location in locations.unwrap_or_default() {
            let pipeline = location.pipeline.as_ref();
            let pipeline = pipeline.ok_or_else(|| Error::om_reply("a block without its nodes"))?;
            let of = StorageType::from_wire(pipeline.storage_type() as i32).map_err(nonsense)?;
            let sum: &mut u64 = bytes.entry(of).or_default();
            *sum = sum.saturating_add(location.length);
        }
        let is_being_written = is_being_written(info);
        Ok(Self { policy, bytes, is_being_written, generation: info.update_id() })
    }

    /// Number of bytes on disks of the wrong type.
    pub fn misplaced(&self) -> u64 {
        let Some(policy) = self.policy else { return 0 };
        let elsewhere = |of: &StorageType| *of != policy.storage_type();
        self.bytes
            .iter()
            .filter(|(of, _)| elsewhere(of))
            .fold(0, |sum, (_, n)| n.saturating_add(sum))
    }
}

/// Result of moving a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoveOutcome {
    /// The key was moved; with the number of bytes written.
    Moved(u64),
    /// The key was changed or deleted concurrently, and the change is kept.
    Changed,
    /// The key was rewritten, but a part of it is on other disks because those of its type are
    /// full.
    Elsewhere,
}

fn nonsense(error: WireError) -> Error {
    Error::om_reply(error.to_string())
}

impl Client {
    /// Storage types of the bytes of a key of `bucket`; `usual` is the policy of keys without one
    /// in a bucket without one. Queries the current state from SCM through OM.
    ///
    /// # Errors
    /// `KEY_NOT_FOUND`, or a failure to reach OM.
    pub fn key_storage<'a>(
        &'a self,
        path: &'a KeyPath,
        bucket: &'a BucketInfo,
        usual: Option<StoragePolicy>,
    ) -> BoxFuture<'a, Result<KeyStorage>> {
        Box::pin(async move {
            let info = self.locate_key(path, true).await?;
            let policy = StoragePolicy::of_metadata(&info.metadata)
                .or_else(|| StoragePolicy::of_metadata(&bucket.metadata))
                .or(usual);
            KeyStorage::of(&info, policy)
        })
    }

    /// Rewrites a key, so that its bytes are on disks that match its policy, at no more than `rate`
    /// bytes per second.
    ///
    /// # Errors
    /// If the key cannot be read or written; it is then unchanged.
    pub fn move_to_its_storage<'a>(
        &'a self,
        path: &'a KeyPath,
        storage: &'a KeyStorage,
        rate: Option<NonZeroU64>,
    ) -> BoxFuture<'a, Result<MoveOutcome>> {
        Box::pin(async move {
            match self.rewrite(path, storage, rate).await {
                // Also if it is deleted just after the move.
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(MoveOutcome::Changed),
                outcome => outcome,
            }
        })
    }

    async fn rewrite(
        &self,
        path: &KeyPath,
        storage: &KeyStorage,
        rate: Option<NonZeroU64>,
    ) -> Result<MoveOutcome> {
        let reader = self.open_key(path).await?;
        let info = reader.info();
        if info.update_id() != storage.generation {
            return Ok(MoveOutcome::Changed);
        }
        let replication = ReplicationConfig::from_wire(
            info.r#type,
            info.factor,
            info.ec_replication_config.as_ref(),
        )
        .map_err(nonsense)?;
        let pairs = |pairs: &[KeyValue]| {
            pairs.iter().map(|pair| (pair.key.clone(), pair.value().to_owned())).collect()
        };
        let to = CreateKey::new(path.clone())
            .size_hint(reader.len())
            .replication(replication)
            .metadata(pairs(&info.metadata))
            .tags(pairs(&info.tags))
            .only_if(Precondition::Generation(storage.generation));
        let mut pieces = reader.begin(0..reader.len()).await?;
        let mut writer = self.create_key(to).await?;
        let (begun, mut written) = (Instant::now(), 0_u64);
        while let Some(piece) = pieces.try_next().await? {
            written = written.saturating_add(piece.len() as u64);
            writer.write(piece).await?;
            if let Some(rate) = rate {
                let due = Duration::from_secs_f64(written as f64 / rate.get() as f64);
                tokio::time::sleep_until(begun + due).await;
            }
        }
        writer.finish(FinishOptions::default()).await?;
        let now = KeyStorage::of(&self.locate_key(path, true).await?, storage.policy)?;
        Ok(match now.misplaced() {
            0 => MoveOutcome::Moved(written),
            _ => MoveOutcome::Elsewhere,
        })
    }
}

#[cfg(test)]
mod tests {
    use proto::hdds;
    use proto::ozone::{KeyLocation, KeyLocationList};

    use super::*;

    #[test]
    fn bytes_on_other_disks_than_the_policys_are_misplaced() {
        let block = |of: StorageType, length| KeyLocation {
            length,
            pipeline: Some(Box::new(hdds::Pipeline {
                storage_type: of.to_optional_wire(),
                ..hdds::Pipeline::default()
            })),
            ..KeyLocation::default()
        };
        let blocks = vec![block(StorageType::Disk, 5), block(StorageType::Archive, 7)];
        let list = KeyLocationList { key_locations: blocks, ..KeyLocationList::default() };
        let info = KeyInfo { key_location_list: vec![list], ..KeyInfo::default() };
        let misplaced = |policy| KeyStorage::of(&info, policy).unwrap().misplaced();
        assert_eq!(misplaced(None), 0);
        assert_eq!(misplaced(Some(StoragePolicy::Hot)), 12);
        assert_eq!(misplaced(Some(StoragePolicy::Warm)), 7);
        assert_eq!(misplaced(Some(StoragePolicy::Cold)), 5);
    }
}
