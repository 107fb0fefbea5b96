//! Record of a log outside of its directory.
//!
//! A replica that finds an empty log directory cannot tell from it whether there was a log before.
//! If it took the log for a new one it would vote and confirm entries as if it had never done so
//! before. The manifest is a small file next to the state machines' tables, possibly on another
//! disk. It contains the log's id, which is in the log's directory, too (`identity.rs`), and for
//! each group a flag for the completeness of its log, and its members: a replica that continues
//! with its tables alone would otherwise use the members of its configuration, regardless of later
//! changes.
//!
//! It is replaced as a whole: written to a temporary file, synced, renamed. That happens when a
//! group starts on the log for the first time, when its members have changed, before the state
//! machine gets past the change, and, asynchronously, when a replica has caught up. The log itself
//! also contains the completeness, in one batch with the entries: there it is never older than
//! those.
//!
//! Format, little endian: magic, version (u8), the log's id (16), count (u32), then per group: id
//! (16), kind (u8), index (u64); then count (u32) and per group whose members are known: id (16),
//! length (u32) and bytes of them. CRC-32 of all that (u32) at the end. Version 1 has no members.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bytes::{BufMut, Bytes, BytesMut};
use crc_fast::{CrcAlgorithm, checksum};
use parking_lot::Mutex;
use uuid::Uuid;

use crate::codec::{Reader, put_block, put_uuid};
use crate::error::{FrameError, LogError};
use crate::membership::Membership;

const MAGIC: &[u8] = b"RAFT-LOG-MANIFEST";
const VERSION: u8 = 2;
const WITHOUT_MEMBERS: u8 = 1;

/// Completeness of a replica's log: it may lack entries that the replica once confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completeness {
    /// Nothing is missing.
    Complete,
    /// Entries may be missing; no leader has reported the index to reach yet. `lost`: there was a
    /// log before. Otherwise the replica is new, or its disks were emptied: that looks the same.
    Unknown { lost: bool },
    /// Complete once it holds everything committed up to this index.
    Until(u64),
    /// The log was lost, and an operator has accepted that.
    Accepted,
}

impl Completeness {
    /// Encodes it for the log and the manifest.
    pub(crate) fn encode(self) -> Vec<u8> {
        let (kind, index) = self.code();
        [&[kind][..], &index.to_le_bytes()].concat()
    }

    /// Decodes the output of [`encode`](Self::encode).
    pub(crate) fn decode(data: &[u8]) -> Option<Self> {
        let (kind, index) = data.split_first()?;
        Self::of(*kind, u64::from_le_bytes(index.try_into().ok()?)).ok()
    }

    fn code(self) -> (u8, u64) {
        match self {
            Self::Complete => (0, 0),
            Self::Unknown { lost } => (1, u64::from(lost)),
            Self::Until(index) => (2, index),
            Self::Accepted => (3, 0),
        }
    }

    fn of(kind: u8, index: u64) -> Result<Self, FrameError> {
        match (kind, index) {
            (0, 0) => Ok(Self::Complete),
            (1, 0 | 1) => Ok(Self::Unknown { lost: index == 1 }),
            (2, index) => Ok(Self::Until(index)),
            (3, 0) => Ok(Self::Accepted),
            _ => Err(FrameError(format!("unknown completeness {kind} {index}"))),
        }
    }
}

/// The contents of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// Identity of the log.
    pub(crate) log: Uuid,
    /// The groups that the log has or had.
    pub(crate) groups: BTreeMap<Uuid, Completeness>,
    /// Their members, as far as known.
    pub(crate) members: BTreeMap<Uuid, Membership>,
}

impl Manifest {
    pub(crate) fn new(log: Uuid) -> Self {
        Self { log, groups: BTreeMap::new(), members: BTreeMap::new() }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = BytesMut::new();
        out.put_slice(MAGIC);
        out.put_u8(VERSION);
        put_uuid(&mut out, self.log);
        out.put_u32_le(self.groups.len() as u32);
        for (group, completeness) in &self.groups {
            put_uuid(&mut out, *group);
            out.put_slice(&completeness.encode());
        }
        out.put_u32_le(self.members.len() as u32);
        for (group, members) in &self.members {
            put_uuid(&mut out, *group);
            put_block(&mut out, &members.encode());
        }
        let crc = checksum(CrcAlgorithm::Crc32IsoHdlc, &out) as u32;
        out.put_u32_le(crc);
        out.to_vec()
    }

    pub(super) fn decode(data: Bytes) -> Result<Self, FrameError> {
        let short = || FrameError(String::from("too short"));
        let (content, crc) = data.split_last_chunk::<4>().ok_or_else(short)?;
        if checksum(CrcAlgorithm::Crc32IsoHdlc, content) as u32 != u32::from_le_bytes(*crc) {
            return Err(FrameError(String::from("wrong checksum")));
        }
        let mut reader = Reader(data.slice(..content.len()));
        if reader.bytes(MAGIC.len())? != MAGIC {
            return Err(FrameError(String::from("not a manifest of a raft log")));
        }
        let version = reader.u8()?;
        if version != VERSION && version != WITHOUT_MEMBERS {
            return Err(FrameError(format!("unknown version {version}")));
        }
        let mut manifest = Self::new(reader.uuid()?);
        for _ in 0..reader.u32()? {
            let group = reader.uuid()?;
            let completeness = Completeness::of(reader.u8()?, reader.u64()?)?;
            manifest.groups.insert(group, completeness);
        }
        let count = if version == WITHOUT_MEMBERS { 0 } else { reader.u32()? };
        for _ in 0..count {
            let group = reader.uuid()?;
            manifest.members.insert(group, Membership::decode(reader.block()?)?);
        }
        reader.end()?;
        Ok(manifest)
    }

    /// Reads the file, if it exists.
    ///
    /// # Errors
    /// If it cannot be read, or is damaged.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, LogError> {
        let data = match std::fs::read(path) {
            Ok(data) => data,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(LogError::Io { path: path.to_owned(), detail: error.to_string() });
            }
        };
        let corrupt = |FrameError(detail)| LogError::Corrupt { path: path.to_owned(), detail };
        Self::decode(data.into()).map(Some).map_err(corrupt)
    }
}

/// The manifest of an open log.
pub(crate) struct ManifestFile {
    path: PathBuf,
    known: Mutex<Known>,
    /// Held while the file is written.
    writing: Mutex<()>,
}

struct Known {
    manifest: Manifest,
    changed: bool,
}

impl ManifestFile {
    /// `changed`: the file does not contain the current state yet.
    pub(crate) fn new(path: PathBuf, manifest: Manifest, changed: bool) -> Self {
        let known = Mutex::new(Known { manifest, changed });
        Self { path, known, writing: Mutex::new(()) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The log's id.
    pub(crate) fn log(&self) -> Uuid {
        self.known.lock().manifest.log
    }

    pub(crate) fn get(&self, group: Uuid) -> Option<Completeness> {
        self.known.lock().manifest.groups.get(&group).copied()
    }

    /// Records a group; on disk with the next [`persist`](Self::persist).
    pub(crate) fn set(&self, group: Uuid, completeness: Completeness) {
        let mut known = self.known.lock();
        let before = known.manifest.groups.insert(group, completeness);
        known.changed |= before != Some(completeness);
    }

    /// The members of a group, as far as known.
    pub(crate) fn members(&self, group: Uuid) -> Option<Membership> {
        self.known.lock().manifest.members.get(&group).cloned()
    }

    /// Records the members of a group; on disk with the next [`persist`](Self::persist).
    pub(crate) fn set_members(&self, group: Uuid, members: &Membership) {
        let mut known = self.known.lock();
        if known.manifest.members.get(&group) != Some(members) {
            known.manifest.members.insert(group, members.clone());
            known.changed = true;
        }
    }

    /// Removes a group that was erased from the log.
    pub(crate) fn forget(&self, group: Uuid) {
        let mut known = self.known.lock();
        known.changed |= known.manifest.groups.remove(&group).is_some();
        known.changed |= known.manifest.members.remove(&group).is_some();
    }

    /// Writes changes. Returns when they are on disk.
    ///
    /// # Errors
    /// If it cannot be written; the file is unchanged then.
    pub(crate) fn persist(&self) -> Result<(), LogError> {
        let _writing = self.writing.lock();
        let manifest = {
            let mut known = self.known.lock();
            if !std::mem::take(&mut known.changed) {
                return Ok(());
            }
            known.manifest.clone()
        };
        replace(&self.path, &manifest.encode()).map_err(|error| {
            self.known.lock().changed = true;
            LogError::Io { path: self.path.clone(), detail: error.to_string() }
        })
    }
}

/// Replaces a file as a whole, durably.
pub(super) fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    blockio::durable::replace(path, Path::new(&beside), content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::membership::Peer;

    #[test]
    fn a_manifest_survives_the_round_trip_and_no_other_bytes_are_taken_for_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("manifest");
        assert_eq!(Manifest::read(&path).unwrap(), None);
        let file = ManifestFile::new(path.clone(), Manifest::new(Uuid::from_u128(9)), false);
        let kinds = [
            Completeness::Complete,
            Completeness::Unknown { lost: false },
            Completeness::Unknown { lost: true },
            Completeness::Until(u64::MAX),
            Completeness::Accepted,
        ];
        for (n, kind) in kinds.into_iter().enumerate() {
            file.set(Uuid::from_u128(n as u128), kind);
        }
        let peer = Peer { node: Uuid::from_u128(7), address: "a:1".into(), priority: 0 };
        let members = Membership { index: 5, ..Membership::first(&[peer]) };
        file.set_members(Uuid::from_u128(1), &members);
        file.persist().unwrap();
        let read = Manifest::read(&path).unwrap().unwrap();
        assert_eq!(read.log, Uuid::from_u128(9));
        assert_eq!(read.members, [(Uuid::from_u128(1), members.clone())].into());
        assert_eq!(read.groups.into_values().collect::<Vec<_>>(), kinds);
        let good = std::fs::read(&path).unwrap();
        let block = 4 + members.encode().len();
        assert_eq!(good.len(), 17 + 1 + 16 + 4 + 5 * 25 + 4 + 16 + block + 4);
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 4;
            std::fs::write(&path, &bad).unwrap();
            assert!(Manifest::read(&path).is_err(), "flip at {at}");
            std::fs::write(&path, &good[..at]).unwrap();
            assert!(Manifest::read(&path).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn a_manifest_of_before_members_were_in_it_is_read() {
        let mut old = MAGIC.to_vec();
        old.push(1);
        old.extend_from_slice(&9u128.to_be_bytes());
        old.extend_from_slice(&1u32.to_le_bytes());
        old.extend_from_slice(&3u128.to_be_bytes());
        old.extend_from_slice(&Completeness::Until(7).encode());
        let crc = checksum(CrcAlgorithm::Crc32IsoHdlc, &old) as u32;
        old.extend_from_slice(&crc.to_le_bytes());
        let read = Manifest::decode(old.into()).unwrap();
        assert_eq!(read.log, Uuid::from_u128(9));
        assert_eq!(read.groups, [(Uuid::from_u128(3), Completeness::Until(7))].into());
        assert!(read.members.is_empty());
    }

    #[test]
    fn only_what_has_changed_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("manifest");
        let file = ManifestFile::new(path.clone(), Manifest::new(Uuid::from_u128(9)), false);
        let group = Uuid::from_u128(1);
        file.persist().unwrap();
        assert!(!path.exists());
        file.set(group, Completeness::Complete);
        file.persist().unwrap();
        std::fs::remove_file(&path).unwrap();
        file.set(group, Completeness::Complete);
        file.persist().unwrap();
        assert!(!path.exists());
        file.forget(group);
        file.persist().unwrap();
        assert_eq!(Manifest::read(&path).unwrap().unwrap().groups.len(), 0);
    }
}
