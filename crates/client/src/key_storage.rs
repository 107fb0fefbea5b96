//! On which disks the bytes of a key are, where its policy wants them, and how they get there.
//!
//! A key's bytes stay in the containers that they were written to, and a container on disks of one
//! storage type. So a key is brought to other disks by writing it again: under the condition that
//! nobody changed it meanwhile, which OM checks when the copy is begun and when it is committed.
//! Owner, ACLs, metadata, tags, time of creation and id stay; the time of modification does not.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::time::Duration;

use futures::TryStreamExt;
use futures::future::BoxFuture;
use proto::hdds::KeyValue;
use proto::ozone::{BucketInfo, KeyInfo};
use tokio::time::Instant;
use types::{ReplicationConfig, StoragePolicy, StorageType, WireError};

use crate::om::key::is_being_written;
use crate::{Client, CreateKey, Error, ErrorKind, FinishOptions, KeyPath, Precondition, Result};

/// On which disks the bytes of a key are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyStorage {
    /// Its policy: its own, else its bucket's, else the cluster's; `None` when it may be anywhere.
    pub policy: Option<StoragePolicy>,
    /// Its bytes, without replicas, by the type of the disks that they are on.
    pub bytes: BTreeMap<StorageType, u64>,
    /// Whether its writer has synced it, and not closed it yet.
    pub is_being_written: bool,
    /// The version that this is about.
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

    /// Bytes that are not on the disks where they belong.
    pub fn misplaced(&self) -> u64 {
        let Some(policy) = self.policy else { return 0 };
        let elsewhere = |of: &StorageType| *of != policy.storage_type();
        self.bytes
            .iter()
            .filter(|(of, _)| elsewhere(of))
            .fold(0, |sum, (_, n)| n.saturating_add(sum))
    }
}

/// What became of a key that was to be brought to its disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoveOutcome {
    /// It is where it belongs; so many bytes were written.
    Moved(u64),
    /// Somebody changed or deleted it meanwhile: their change stays.
    Changed,
    /// It was written again, and some of it is on other disks all the same: those of its type have
    /// no room.
    Elsewhere,
}

fn nonsense(error: WireError) -> Error {
    Error::om_reply(error.to_string())
}

impl Client {
    /// On which disks the bytes of a key of `bucket` are; `usual` is the policy of keys that have
    /// none, and whose bucket has none. Asks SCM, through OM, as it is now.
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

    /// Writes a key again, so that its bytes come to the disks where they belong, at `rate` bytes a
    /// second at most.
    ///
    /// # Errors
    /// When the key cannot be read or written; it is as it was then.
    pub fn move_to_its_storage<'a>(
        &'a self,
        path: &'a KeyPath,
        storage: &'a KeyStorage,
        rate: Option<NonZeroU64>,
    ) -> BoxFuture<'a, Result<MoveOutcome>> {
        Box::pin(async move {
            match self.rewrite(path, storage, rate).await {
                // Also when it is gone right behind the move.
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
