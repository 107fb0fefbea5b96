//! The part of a KeyInfo row that lists show, read without decoding the rest.
//!
//! A row is mostly block locations and ACLs. This reader walks its fields, skips those by their
//! length and keeps slices of the few that a BasicKeyInfo has. It agrees with the full decoder: it
//! takes the last value of a field that comes twice, and ignores unknown fields.

use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};
use prost::{DecodeError, Message};
use proto::hdds::{EcReplicationConfig, ReplicationType};
use proto::ozone::BasicKeyInfo;
use types::StoragePolicy;

use crate::state::metadata::ETAG;

/// Reason for which a row cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BasicError {
    #[error("the message ends within a field")]
    Truncated,
    #[error("a number is longer than ten bytes")]
    Overlong,
    #[error("field {field} has wire type {wire_type}")]
    WireType { field: u64, wire_type: u64 },
    #[error("a name is not UTF-8")]
    Text(#[from] std::str::Utf8Error),
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

/// Slices of a row.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct BasicKey<'a> {
    key_name: &'a str,
    data_size: u64,
    creation_time: u64,
    modification_time: u64,
    kind: i32,
    factor: Option<i32>,
    ec: Option<&'a [u8]>,
    e_tag: Option<&'a str>,
    owner_name: Option<&'a str>,
    encrypted: bool,
    is_file: Option<bool>,
    storage_policy: Option<&'a str>,
}

/// A cursor over the bytes of a message.
pub(super) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// At the first field of `message`.
    pub(super) fn new(message: &'a [u8]) -> Self {
        Self(message)
    }

    /// Skips a field; returns its number and its wire type, `None` after the last one.
    ///
    /// # Errors
    /// When the field is malformed, or a group.
    pub(super) fn pass(&mut self) -> Result<Option<(u64, u64)>, BasicError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        self.skip(tag >> 3, tag & 7)?;
        Ok(Some((tag >> 3, tag & 7)))
    }

    /// Bytes that are left.
    pub(super) fn left(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, BasicError> {
        if let [first, rest @ ..] = self.0
            && *first < 0x80
        {
            self.0 = rest;
            return Ok(u64::from(*first));
        }
        let mut value = 0u64;
        for (at, byte) in self.0.iter().take(10).enumerate() {
            // Of the tenth byte one bit counts; the shift is less than 64.
            value |= u64::from(byte & 0x7f) << at.saturating_mul(7);
            if byte & 0x80 == 0 {
                self.0 = self.0.get(at.saturating_add(1)..).unwrap_or_default();
                return Ok(value);
            }
        }
        Err(if self.0.len() < 10 { BasicError::Truncated } else { BasicError::Overlong })
    }

    #[inline]
    fn read_bytes(&mut self, len: u64) -> Result<&'a [u8], BasicError> {
        let len = usize::try_from(len).map_err(|_| BasicError::Truncated)?;
        let (taken, rest) = self.0.split_at_checked(len).ok_or(BasicError::Truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    #[inline]
    fn bytes(&mut self) -> Result<&'a [u8], BasicError> {
        let len = self.varint()?;
        self.read_bytes(len)
    }

    #[inline]
    fn text(&mut self) -> Result<&'a str, BasicError> {
        Ok(std::str::from_utf8(self.bytes()?)?)
    }

    #[inline]
    fn skip(&mut self, field: u64, wire_type: u64) -> Result<(), BasicError> {
        match wire_type {
            0 => self.varint().map(drop),
            1 => self.read_bytes(8).map(drop),
            2 => self.bytes().map(drop),
            5 => self.read_bytes(4).map(drop),
            _ => Err(BasicError::WireType { field, wire_type }),
        }
    }
}

impl<'a> BasicKey<'a> {
    /// Reads an encoded KeyInfo.
    pub fn parse(row: &'a [u8]) -> Result<Self, BasicError> {
        let mut fields = Fields::new(row);
        let mut key = Self { kind: ReplicationType::default() as i32, ..Self::default() };
        while !fields.0.is_empty() {
            let tag = fields.varint()?;
            match (tag >> 3, tag & 7) {
                (3, 2) => key.key_name = fields.text()?,
                (4, 0) => key.data_size = fields.varint()?,
                (5, 0) => key.kind = enumerated(fields.varint()?),
                (6, 0) => key.factor = Some(enumerated(fields.varint()?)),
                (8, 0) => key.creation_time = fields.varint()?,
                (9, 0) => key.modification_time = fields.varint()?,
                (11, 2) => {
                    let (name, value) = entry(fields.bytes()?)?;
                    if name == ETAG.as_bytes() {
                        key.e_tag.get_or_insert(std::str::from_utf8(value)?);
                    } else if name == StoragePolicy::METADATA_KEY.as_bytes() {
                        key.storage_policy.get_or_insert(std::str::from_utf8(value)?);
                    }
                }
                (12, 2) => {
                    fields.bytes()?;
                    key.encrypted = true;
                }
                (17, 2) => key.ec = Some(fields.bytes()?),
                (19, 0) => key.is_file = Some(fields.varint()? != 0),
                (20, 2) => key.owner_name = Some(fields.text()?),
                (field @ (3..=6 | 8 | 9 | 11 | 12 | 17 | 19 | 20), wire_type) => {
                    return Err(BasicError::WireType { field, wire_type });
                }
                (field, wire_type) => fields.skip(field, wire_type)?,
            }
        }
        Ok(key)
    }

    /// Gives the entry another name: rows of a tree have the last one only.
    pub fn rename(&mut self, name: &'a str) {
        self.key_name = name;
    }

    /// The entry as a message.
    pub fn to_message(&self) -> Result<BasicKeyInfo, BasicError> {
        Ok(BasicKeyInfo {
            key_name: Some(self.key_name.to_owned()),
            data_size: Some(self.data_size),
            creation_time: Some(self.creation_time),
            modification_time: Some(self.modification_time),
            r#type: Some(self.kind),
            factor: self.factor,
            ec_replication_config: self.ec.map(EcReplicationConfig::decode).transpose()?,
            e_tag: self.e_tag.map(str::to_owned),
            owner_name: self.owner_name.map(str::to_owned),
            is_encrypted: Some(self.encrypted),
            is_file: self.is_file,
            storage_policy: self.storage_policy.map(str::to_owned),
        })
    }

    /// Bytes of the entry as a message.
    pub fn encoded_len(&self) -> usize {
        let number = |field, n| key_len(field).saturating_add(encoded_len_varint(n));
        let bytes = |field, b: &[u8]| number(field, b.len() as u64).saturating_add(b.len());
        let some_bytes = |field, b: Option<&[u8]>| b.map_or(0, |b| bytes(field, b));
        [
            bytes(1, self.key_name.as_bytes()),
            number(2, self.data_size),
            number(3, self.creation_time),
            number(4, self.modification_time),
            number(5, enumeration(self.kind)),
            self.factor.map_or(0, |factor| number(6, enumeration(factor))),
            some_bytes(7, self.ec),
            some_bytes(8, self.e_tag.map(str::as_bytes)),
            some_bytes(9, self.owner_name.map(str::as_bytes)),
            number(10, u64::from(self.encrypted)),
            self.is_file.map_or(0, |is_file| number(11, u64::from(is_file))),
            some_bytes(1000, self.storage_policy.map(str::as_bytes)),
        ]
        .into_iter()
        .fold(0, usize::saturating_add)
    }

    /// Appends the entry as a message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let number = |out: &mut Vec<u8>, field, n| {
            encode_key(field, WireType::Varint, out);
            encode_varint(n, out);
        };
        let bytes = |out: &mut Vec<u8>, field, b: &[u8]| {
            encode_key(field, WireType::LengthDelimited, out);
            encode_varint(b.len() as u64, out);
            out.extend_from_slice(b);
        };
        bytes(out, 1, self.key_name.as_bytes());
        number(out, 2, self.data_size);
        number(out, 3, self.creation_time);
        number(out, 4, self.modification_time);
        number(out, 5, enumeration(self.kind));
        self.factor.into_iter().for_each(|n| number(out, 6, enumeration(n)));
        self.ec.into_iter().for_each(|b| bytes(out, 7, b));
        self.e_tag.into_iter().for_each(|text| bytes(out, 8, text.as_bytes()));
        self.owner_name.into_iter().for_each(|text| bytes(out, 9, text.as_bytes()));
        number(out, 10, u64::from(self.encrypted));
        self.is_file.into_iter().for_each(|b| number(out, 11, u64::from(b)));
        self.storage_policy.into_iter().for_each(|text| bytes(out, 1000, text.as_bytes()));
    }
}

/// A number of an enumeration as the wire has it: negative ones are sign-extended.
fn enumeration(n: i32) -> u64 {
    i64::from(n).cast_unsigned()
}

/// The way back: the low 32 bits, as the decoder of messages has it.
fn enumerated(n: u64) -> i32 {
    let [a, b, c, d, ..] = n.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

/// The name and the value of a metadata entry.
fn entry(entry: &[u8]) -> Result<(&[u8], &[u8]), BasicError> {
    let mut fields = Fields(entry);
    let (mut key, mut value): (&[u8], &[u8]) = (&[], &[]);
    while !fields.0.is_empty() {
        let tag = fields.varint()?;
        match (tag >> 3, tag & 7) {
            (1, 2) => key = fields.bytes()?,
            (2, 2) => value = fields.bytes()?,
            (field, wire_type) => fields.skip(field, wire_type)?,
        }
    }
    Ok((key, value))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::TestRunner;
    use proto::hdds::KeyValue;
    use proto::ozone::{KeyInfo, KeyLocation, KeyLocationList};

    use super::*;

    fn row() -> Vec<u8> {
        let entry = |key: &str, value: &str| KeyValue {
            key: key.to_owned(),
            value: Some(value.to_owned()),
        };
        let key = KeyInfo {
            volume_name: "vol1".to_owned(),
            bucket_name: "bucket1".to_owned(),
            key_name: "some/key".to_owned(),
            data_size: 300,
            r#type: -1,
            factor: Some(3),
            key_location_list: vec![KeyLocationList {
                key_locations: vec![KeyLocation { length: 300, ..KeyLocation::default() }],
                ..KeyLocationList::default()
            }],
            creation_time: 1_700_000_000_000,
            modification_time: 1_700_000_000_001,
            metadata: vec![
                entry("a", "b"),
                entry(ETAG, "0123456789abcdef"),
                entry(StoragePolicy::METADATA_KEY, "COLD"),
            ],
            object_id: Some(1 << 63),
            is_file: Some(true),
            owner_name: Some("ann".to_owned()),
            ..KeyInfo::default()
        };
        key.encode_to_vec()
    }

    /// List attributes of a key, by the full decoder.
    fn full(row: &[u8]) -> Option<BasicKeyInfo> {
        let key = KeyInfo::decode(row).ok()?;
        let value_of = |name: &str| {
            let found = key.metadata.iter().find(|entry| entry.key == name);
            found.map(|entry| entry.value.clone().unwrap_or_default())
        };
        let (e_tag, storage_policy) = (value_of(ETAG), value_of(StoragePolicy::METADATA_KEY));
        Some(BasicKeyInfo {
            key_name: Some(key.key_name),
            data_size: Some(key.data_size),
            creation_time: Some(key.creation_time),
            modification_time: Some(key.modification_time),
            r#type: Some(key.r#type),
            factor: key.factor,
            ec_replication_config: key.ec_replication_config,
            e_tag,
            owner_name: key.owner_name,
            is_encrypted: Some(key.file_encryption_info.is_some()),
            is_file: key.is_file,
            storage_policy,
        })
    }

    /// Whatever the full decoder makes of a damaged row, this one makes the same; where that one
    /// refuses, this one may not notice, but never panics.
    #[test]
    fn damaged_rows_are_read_as_by_the_full_decoder_or_refused() {
        let flips = proptest::collection::vec((0..row().len(), any::<u8>()), 0..4);
        let cut = 0..row().len() + 1;
        // The same cases each time: a flip can make two of a field that the decoder merges.
        let config =
            ProptestConfig { cases: 4096, failure_persistence: None, ..Default::default() };
        let rng = proptest::test_runner::TestRng::deterministic_rng(config.rng_algorithm);
        TestRunner::new_with_rng(config, rng)
            .run(&(flips, cut), |(flips, cut)| {
                let mut row = row();
                for (at, value) in flips {
                    row[at] = value;
                }
                row.truncate(cut);
                let parsed = BasicKey::parse(&row).and_then(|key| key.to_message());
                if let Some(full) = full(&row) {
                    prop_assert_eq!(parsed.ok(), Some(full));
                }
                Ok(())
            })
            .unwrap();
    }
}
