//! Fuzz targets for the records of the log other than entries.

use bytes::Bytes;
use crc_fast::{CrcAlgorithm, checksum};
use uuid::Uuid;

use super::format::{PersistedGroup, decode_position};
use super::manifest::{Completeness, Manifest};
use super::synced::Synced;
use crate::membership::Membership;
use crate::membership::Peer;

/// The parsers, by name and with sample inputs.
pub(crate) fn targets() -> Vec<(&'static str, fn(&[u8]), Vec<Vec<u8>>)> {
    let numbers = vec![(0..16).collect(), vec![2, 9, 0, 0, 0, 0, 0, 0, 0]];
    vec![
        ("raft-group", group, groups()),
        ("raft-manifest", manifest, manifests()),
        ("raft-position", position, numbers),
        ("raft-synced", synced, vec![Synced::default().encode(7)]),
    ]
}

/// Appends the valid checksum, so that the fuzzer gets past it.
fn with_checksum(content: &[u8]) -> Vec<u8> {
    let crc = checksum(CrcAlgorithm::Crc32IsoHdlc, content) as u32;
    [content, &crc.to_le_bytes()].concat()
}

fn group(data: &[u8]) {
    if let Some(group) = PersistedGroup::decode(data) {
        assert_eq!(PersistedGroup::decode(&group.encode()), Some(group));
    }
}

fn manifest(data: &[u8]) {
    if let Ok(manifest) = Manifest::decode(Bytes::from(with_checksum(data))) {
        assert_eq!(Manifest::decode(Bytes::from(manifest.encode())).ok(), Some(manifest));
    }
}

fn position(data: &[u8]) {
    let _ = (decode_position(data), Completeness::decode(data));
}

fn synced(data: &[u8]) {
    if let Some((number, synced)) = Synced::decode(&with_checksum(data)) {
        assert_eq!(Synced::decode(&synced.encode(number)), Some((number, synced)));
    }
}

fn membership() -> Membership {
    let peer = |n: u128| Peer { node: Uuid::from_u128(n), address: format!("h{n}:1"), priority: 1 };
    Membership::first(&[peer(1), peer(2)])
}

fn groups() -> Vec<Vec<u8>> {
    let (id, me) = (Uuid::from_u128(7), Uuid::from_u128(1));
    vec![PersistedGroup { id, me, membership: membership() }.encode()]
}

fn manifests() -> Vec<Vec<u8>> {
    let mut manifest = Manifest::new(Uuid::from_u128(9));
    manifest.groups.insert(Uuid::from_u128(7), Completeness::Until(5));
    manifest.members.insert(Uuid::from_u128(7), membership());
    let mut encoded = manifest.encode();
    encoded.truncate(encoded.len() - 4);
    vec![encoded]
}
