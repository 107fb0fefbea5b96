//! Records that a log keeps for each group in addition to its entries: its members, and the start
//! of its entries.
//!
//! Four records per group, under one-byte keys: [`META`] (the members), [`HARD`] (Raft's term and
//! vote, a protobuf `HardState`), [`TRUNCATED`] (position before the first entry), [`COMPLETENESS`]
//! (a flag for entries that this replica once confirmed and may lack).

use bytes::{BufMut, Bytes, BytesMut};
use uuid::Uuid;

use crate::codec::{Reader, put_uuid};
use crate::error::FrameError;
use crate::machine::LogPosition;
use crate::membership::{Membership, Peer};

pub(crate) const META: &[u8] = b"m";
pub(crate) const HARD: &[u8] = b"h";
pub(crate) const TRUNCATED: &[u8] = b"t";
pub(crate) const COMPLETENESS: &[u8] = b"c";

/// Members that never changed.
const FIXED: u8 = 1;
/// Members as of an entry.
const VERSION: u8 = 2;

/// A group as recorded in its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersistedGroup {
    /// The group.
    pub id: Uuid,
    /// The member that is this node.
    pub me: Uuid,
    /// All members.
    pub membership: Membership,
}

impl PersistedGroup {
    /// The addresses of all members.
    pub fn peers(&self) -> Vec<Peer> {
        self.membership.members.iter().map(|m| m.peer.clone()).collect()
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = BytesMut::new();
        out.put_u8(VERSION);
        put_uuid(&mut out, self.id);
        put_uuid(&mut out, self.me);
        self.membership.put(&mut out);
        out.to_vec()
    }

    pub(crate) fn decode(data: &[u8]) -> Option<Self> {
        let mut reader = Reader(Bytes::copy_from_slice(data));
        let version = reader.u8().ok()?;
        let (id, me) = (reader.uuid().ok()?, reader.uuid().ok()?);
        let membership = match version {
            FIXED => Membership::first(&peers(&mut reader).ok()?),
            VERSION => Membership::decode_from(&mut reader).ok()?,
            _ => return None,
        };
        reader.end().ok()?;
        Some(Self { id, me, membership })
    }
}

fn peers(reader: &mut Reader) -> Result<Vec<Peer>, FrameError> {
    let mut peers = Vec::new();
    for _ in 0..reader.u32()? {
        let (node, priority) = (reader.uuid()?, reader.u64()? as i64);
        let address = String::from_utf8(reader.block()?.to_vec());
        let address = address.map_err(|e| FrameError(e.to_string()))?;
        peers.push(Peer { node, address, priority });
    }
    Ok(peers)
}

pub(crate) fn encode_position(at: LogPosition) -> Vec<u8> {
    [at.index.to_le_bytes(), at.term.to_le_bytes()].concat()
}

pub(crate) fn decode_position(mut data: &[u8]) -> Option<LogPosition> {
    let data = &mut data;
    let index = u64::from_le_bytes(take(data, 8)?.try_into().ok()?);
    let term = u64::from_le_bytes(take(data, 8)?.try_into().ok()?);
    Some(LogPosition { term, index })
}

fn take<'a>(data: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (head, tail) = data.split_at_checked(len)?;
    *data = tail;
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_survives_the_round_trip_and_its_bytes_do_not_change() {
        let peer = Peer { node: Uuid::from_u128(2), address: "a:1".into(), priority: 7 };
        let first = Membership::first(&[peer]);
        let membership = Membership { index: 9, ..first.clone() };
        let group = PersistedGroup { id: Uuid::from_u128(1), me: Uuid::from_u128(2), membership };
        let bytes = group.encode();
        let mut golden = vec![2u8];
        golden.extend_from_slice(&1u128.to_be_bytes());
        golden.extend_from_slice(&2u128.to_be_bytes());
        golden.extend_from_slice(&[1, 9, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
        golden.extend_from_slice(&2u128.to_be_bytes());
        golden.extend_from_slice(&[7, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, b'a', b':', b'1']);
        assert_eq!(bytes, golden);
        for cut in 0..bytes.len() {
            assert_eq!(PersistedGroup::decode(&bytes[..cut]), None, "cut at {cut}");
        }
        assert_eq!(PersistedGroup::decode(&bytes), Some(group.clone()));
        // The format from before members could change.
        let mut golden = vec![1u8];
        golden.extend_from_slice(&1u128.to_be_bytes());
        golden.extend_from_slice(&2u128.to_be_bytes());
        golden.extend_from_slice(&[1, 0, 0, 0]);
        golden.extend_from_slice(&2u128.to_be_bytes());
        golden.extend_from_slice(&[7, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, b'a', b':', b'1']);
        let group = PersistedGroup { membership: first, ..group };
        assert_eq!(PersistedGroup::decode(&golden), Some(group));
        for cut in 0..golden.len() {
            assert_eq!(PersistedGroup::decode(&golden[..cut]), None, "cut at {cut}");
        }
    }

    #[test]
    fn a_position_survives_the_round_trip() {
        let at = LogPosition { term: 3, index: u64::MAX };
        assert_eq!(decode_position(&encode_position(at)), Some(at));
        assert_eq!(decode_position(&[1, 2, 3]), None);
    }
}
