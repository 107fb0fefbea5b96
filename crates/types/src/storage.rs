//! Kinds of disks, and policies that select them.
//!
//! A data directory has a [`StorageType`] (`[SSD]/path` in `hdds.datanode.dir`). All replicas of a
//! container belong on disks of one type, that of the pipeline through which it is written: Ozone
//! calls the container's a *storage tier*. A [`StoragePolicy`] is what users give to buckets and
//! keys. The names are those of Ozone's design for storage policies (HDDS-11233); its release 2.2.0
//! has storage types in reports only.

use std::fmt;
use std::str::FromStr;

use proto::hdds::{KeyValue, StorageTypeProto};

use crate::WireError;

/// A kind of disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum StorageType {
    /// The type of a data directory without a declared type.
    #[default]
    Disk,
    /// Fast and expensive.
    Ssd,
    /// Slow and cheap.
    Archive,
}

impl StorageType {
    /// All types.
    pub const ALL: [Self; 3] = [Self::Disk, Self::Ssd, Self::Archive];

    /// Converts to the wire's enum.
    pub fn to_wire(self) -> StorageTypeProto {
        match self {
            Self::Disk => StorageTypeProto::Disk,
            Self::Ssd => StorageTypeProto::Ssd,
            Self::Archive => StorageTypeProto::Archive,
        }
    }

    /// Converts to an optional field, which is absent for [`StorageType::Disk`].
    pub fn to_optional_wire(self) -> Option<i32> {
        (self != Self::Disk).then_some(self.to_wire() as i32)
    }

    /// # Errors
    /// If there are no data directories of that type, or the number is not in the enum.
    pub fn from_wire(wire: i32) -> Result<Self, WireError> {
        match StorageTypeProto::try_from(wire) {
            Ok(StorageTypeProto::Disk) => Ok(Self::Disk),
            Ok(StorageTypeProto::Ssd) => Ok(Self::Ssd),
            Ok(StorageTypeProto::Archive) => Ok(Self::Archive),
            _ => Err(WireError::invalid("storage", "type", wire)),
        }
    }

    /// The types for blocks without a policy, in order of preference: a cluster need not have disks
    /// of the usual type.
    pub const ANY: [Self; 3] = [Self::Disk, Self::Ssd, Self::Archive];

    /// Replacement types for a replica if no disk of this type has space, in order of preference. A
    /// replica on another kind of disk is better than a missing one.
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

/// The disks for the blocks of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StoragePolicy {
    /// SSD; DISK if there is none.
    Hot,
    /// DISK.
    Warm,
    /// ARCHIVE.
    Cold,
}

impl StoragePolicy {
    /// All policies.
    pub const ALL: [Self; 3] = [Self::Hot, Self::Warm, Self::Cold];

    /// The metadata entry of a bucket or key with its policy.
    pub const METADATA_KEY: &'static str = "ozone.storage.policy";

    /// The metadata entry of a bucket that is `false` if blocks must not use the policy's second
    /// type.
    pub const FALLBACK_KEY: &'static str = "ozone.storage.policy.fallback";

    /// The policy in the metadata of a bucket or key; an unknown policy counts as none.
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

    /// The preferred type for blocks.
    pub fn storage_type(self) -> StorageType {
        match self {
            Self::Hot => StorageType::Ssd,
            Self::Warm => StorageType::Disk,
            Self::Cold => StorageType::Archive,
        }
    }

    /// The types to which blocks may be written, the best first; only the best one without
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
