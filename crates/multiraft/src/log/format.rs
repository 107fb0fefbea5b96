//! What a log keeps for each group beside its entries: who its members are, and where its
//! entries begin.
//!
//! Three records per group, under one-byte keys: [`META`] (written once), [`HARD`] (Raft's
//! term and vote, a protobuf `HardState`), [`TRUNCATED`] (position before the first entry).

use uuid::Uuid;

use crate::machine::LogPosition;
use crate::options::Peer;

pub(crate) const META: &[u8] = b"m";
pub(crate) const HARD: &[u8] = b"h";
pub(crate) const TRUNCATED: &[u8] = b"t";

const VERSION: u8 = 1;

/// A group as its log remembers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersistedGroup {
    /// The group.
    pub id: Uuid,
    /// Which member this node is.
    pub me: Uuid,
    /// All members.
    pub peers: Vec<Peer>,
}

impl PersistedGroup {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.extend_from_slice(self.id.as_bytes());
        out.extend_from_slice(self.me.as_bytes());
        out.extend_from_slice(&(self.peers.len() as u32).to_le_bytes());
        for peer in &self.peers {
            out.extend_from_slice(peer.node.as_bytes());
            out.extend_from_slice(&peer.priority.to_le_bytes());
            out.extend_from_slice(&(peer.address.len() as u32).to_le_bytes());
            out.extend_from_slice(peer.address.as_bytes());
        }
        out
    }

    pub(crate) fn decode(mut data: &[u8]) -> Option<Self> {
        let data = &mut data;
        if take(data, 1)? != [VERSION] {
            return None;
        }
        let id = uuid(data)?;
        let me = uuid(data)?;
        let count = u32_le(data)?;
        let mut peers = Vec::new();
        for _ in 0..count {
            let node = uuid(data)?;
            let priority = i64::from_le_bytes(take(data, 8)?.try_into().ok()?);
            let len = u32_le(data)? as usize;
            let address = std::str::from_utf8(take(data, len)?).ok()?.to_owned();
            peers.push(Peer { node, address, priority });
        }
        data.is_empty().then_some(Self { id, me, peers })
    }
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

fn uuid(data: &mut &[u8]) -> Option<Uuid> {
    Uuid::from_slice(take(data, 16)?).ok()
}

fn u32_le(data: &mut &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(take(data, 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_survives_the_round_trip_and_its_bytes_do_not_change() {
        let group = PersistedGroup {
            id: Uuid::from_u128(1),
            me: Uuid::from_u128(2),
            peers: vec![Peer { node: Uuid::from_u128(2), address: "a:1".into(), priority: 7 }],
        };
        let bytes = group.encode();
        let mut golden = vec![1u8];
        golden.extend_from_slice(&1u128.to_be_bytes());
        golden.extend_from_slice(&2u128.to_be_bytes());
        golden.extend_from_slice(&[1, 0, 0, 0]);
        golden.extend_from_slice(&2u128.to_be_bytes());
        golden.extend_from_slice(&[7, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, b'a', b':', b'1']);
        assert_eq!(bytes, golden);
        assert_eq!(PersistedGroup::decode(&bytes), Some(group));
        for cut in 0..bytes.len() {
            assert_eq!(PersistedGroup::decode(&bytes[..cut]), None, "cut at {cut}");
        }
    }

    #[test]
    fn a_position_survives_the_round_trip() {
        let at = LogPosition { term: 3, index: u64::MAX };
        assert_eq!(decode_position(&encode_position(at)), Some(at));
        assert_eq!(decode_position(&[1, 2, 3]), None);
    }
}
