//! Kinds of disks, and which of them blocks go to.
//!
//! A data directory has a [`StorageType`] (`[SSD]/path` in `hdds.datanode.dir`). All replicas of a
//! container belong on disks of one type, which is that of the pipeline it is written through:
//! Ozone calls the container's a *storage tier*. A [`StoragePolicy`] is what users give to buckets
//! and keys. The names are those of Ozone's design for storage policies (HDDS-11233); its release
//! 2.2.0 has storage types in reports only.

use std::fmt;
use std::str::FromStr;

use proto::hdds::{KeyValue, StorageTypeProto};

use crate::WireError;

/// A kind of disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum StorageType {
    /// What a data directory is that names no type.
    #[default]
    Disk,
    /// Fast and dear.
    Ssd,
    /// Slow and cheap.
    Archive,
}

impl StorageType {
    /// All types.
    pub const ALL: [Self; 3] = [Self::Disk, Self::Ssd, Self::Archive];

    /// The wire's enum.
    pub fn to_wire(self) -> StorageTypeProto {
        match self {
            Self::Disk => StorageTypeProto::Disk,
            Self::Ssd => StorageTypeProto::Ssd,
            Self::Archive => StorageTypeProto::Archive,
        }
    }

    /// A field of the wire whose absence stands for [`StorageType::Disk`].
    pub fn to_optional_wire(self) -> Option<i32> {
        (self != Self::Disk).then_some(self.to_wire() as i32)
    }

    /// # Errors
    /// When there are no data directories of that type here, or the number is none of the enum.
    pub fn from_wire(wire: i32) -> Result<Self, WireError> {
        match StorageTypeProto::try_from(wire) {
            Ok(StorageTypeProto::Disk) => Ok(Self::Disk),
            Ok(StorageTypeProto::Ssd) => Ok(Self::Ssd),
            Ok(StorageTypeProto::Archive) => Ok(Self::Archive),
            _ => Err(WireError::invalid("storage", "type", wire)),
        }
    }

    /// The types that blocks without any policy go to, in this order: a cluster need not have
    /// disks of the usual type.
    pub const ANY: [Self; 3] = [Self::Disk, Self::Ssd, Self::Archive];

    /// Where a replica goes when no disk of this type can take it, in this order. A replica on
    /// another kind of disk is better than one too few.
    pub fn instead(self) -> [Self; 2] {
        match self {
            Self::Ssd => [Self::Disk, Self::Archive],
            Self::Disk => [Self::Archive, Self::Ssd],
            Self::Archive => [Self::Disk, Self::Ssd],
        }
    }
}

impl fmt::Display for StorageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_wire().as_str_name())
    }
}

impl FromStr for StorageType {
    type Err = WireError;

    fn from_str(text: &str) -> Result<Self, WireError> {
        let is = |of: &&Self| of.to_wire().as_str_name().eq_ignore_ascii_case(text);
        let found = Self::ALL.iter().find(is).copied();
        found.ok_or_else(|| WireError::invalid("storage", "type", text))
    }
}

/// Which disks the blocks of a key belong on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StoragePolicy {
    /// SSD; DISK when there is none to be had.
    Hot,
    /// DISK.
    Warm,
    /// ARCHIVE.
    Cold,
}

impl StoragePolicy {
    /// All policies.
    pub const ALL: [Self; 3] = [Self::Hot, Self::Warm, Self::Cold];

    /// The entry of a bucket's or key's metadata that has its policy.
    pub const METADATA_KEY: &'static str = "ozone.storage.policy";

    /// The entry of a bucket's metadata that says `false` when blocks may not go to the policy's
    /// second type.
    pub const FALLBACK_KEY: &'static str = "ozone.storage.policy.fallback";

    /// The policy that the metadata of a bucket or key names; what is no policy is none.
    pub fn of_metadata(metadata: &[KeyValue]) -> Option<Self> {
        let entry = metadata.iter().find(|entry| entry.key == Self::METADATA_KEY)?;
        entry.value().parse().ok()
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hot => "HOT",
            Self::Warm => "WARM",
            Self::Cold => "COLD",
        }
    }

    /// The type that blocks belong on.
    pub fn storage_type(self) -> StorageType {
        match self {
            Self::Hot => StorageType::Ssd,
            Self::Warm => StorageType::Disk,
            Self::Cold => StorageType::Archive,
        }
    }

    /// The types that blocks may be written to, the best first; just the best one without
    /// `fallback`.
    pub fn storage_types(self, fallback: bool) -> &'static [StorageType] {
        match (self, fallback) {
            (Self::Hot, true) => &[StorageType::Ssd, StorageType::Disk],
            (Self::Hot, false) => &[StorageType::Ssd],
            (Self::Warm, _) => &[StorageType::Disk],
            (Self::Cold, _) => &[StorageType::Archive],
        }
    }
}

impl fmt::Display for StoragePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for StoragePolicy {
    type Err = WireError;

    fn from_str(text: &str) -> Result<Self, WireError> {
        let found = Self::ALL.into_iter().find(|of| of.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| WireError::invalid("storage", "policy", text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_policies_survive_the_wire_and_their_names() {
        for of in StorageType::ALL {
            assert_eq!(StorageType::from_wire(of.to_wire() as i32).unwrap(), of);
            assert_eq!(of.to_string().to_lowercase().parse::<StorageType>().unwrap(), of);
            assert!(!of.instead().contains(&of));
        }
        for of in StoragePolicy::ALL {
            assert_eq!(of.to_string().to_lowercase().parse::<StoragePolicy>().unwrap(), of);
            for fallback in [false, true] {
                assert_eq!(of.storage_types(fallback).first(), Some(&of.storage_type()));
            }
        }
        for wrong in ["", "RAM_DISK", "ALL_SSD"] {
            assert!(wrong.parse::<StorageType>().is_err());
            assert!(wrong.parse::<StoragePolicy>().is_err());
        }
        assert!(StorageType::from_wire(StorageTypeProto::RamDisk as i32).is_err());
        assert!(StorageType::from_wire(0).is_err());
    }
}
