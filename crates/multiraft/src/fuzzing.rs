//! Fuzz targets: frames, snapshot pieces, and the log's records.

use std::path::Component;

use bytes::{Buf, Bytes};
use uuid::Uuid;

use crate::consensus::{Entry, Message, MessageType};
use crate::membership::Membership;
use crate::membership::Peer;
use crate::snapshot::piece::Piece;
use crate::transport::Frame;
use crate::transport::frame::{FetchRequest, decode, encode};

/// The parsers, by name and with sample inputs.
pub fn targets() -> Vec<(&'static str, fn(&[u8]), Vec<Vec<u8>>)> {
    let mut targets = crate::log::fuzzing::targets();
    let fetch = FetchRequest { group: Uuid::from_u128(1), header: Bytes::from_static(b"header") };
    let more: [(&str, fn(&[u8]), Vec<Vec<u8>>); 4] = [
        ("raft-messages", messages, frames()),
        ("raft-fetch", fetched, vec![fetch.encode().to_vec()]),
        ("raft-snapshot-piece", piece, vec![joined(&snapshot_piece().encode())]),
        ("raft-membership", membership, vec![members().encode().to_vec()]),
    ];
    targets.extend(more);
    targets
}

/// Joins a frame into one input: the length of its header, header and payload.
fn joined(frame: &Frame) -> Vec<u8> {
    let mut joined = (frame.header.len() as u16).to_le_bytes().to_vec();
    joined.extend_from_slice(&frame.header);
    frame.payload.iter().for_each(|part| joined.extend_from_slice(part));
    joined
}

fn parted(data: &[u8]) -> Option<(Bytes, Bytes)> {
    let mut data = Bytes::copy_from_slice(data);
    let length = data.try_get_u16_le().ok()? as usize;
    (length <= data.len()).then(|| (data.split_to(length), data))
}

fn messages(data: &[u8]) {
    if let Some((header, payload)) = parted(data) {
        let _ = decode(header, &payload);
    }
}

fn fetched(data: &[u8]) {
    if let Ok(request) = FetchRequest::decode(Bytes::copy_from_slice(data)) {
        assert_eq!(request.encode(), data);
    }
}

fn piece(data: &[u8]) {
    if let Some((header, data)) = parted(data)
        && let Ok(piece) = Piece::decode(header, data)
    {
        assert!(piece.path.components().all(|part| matches!(part, Component::Normal(_))));
    }
}

fn membership(data: &[u8]) {
    if let Ok(membership) = Membership::decode(Bytes::copy_from_slice(data)) {
        assert_eq!(Membership::decode(membership.encode()).ok(), Some(membership));
    }
}

fn members() -> Membership {
    let peer = |n: u128| Peer { node: Uuid::from_u128(n), address: format!("h{n}:1"), priority: 1 };
    Membership::first(&[peer(1), peer(2)])
}

fn snapshot_piece() -> Piece {
    Piece {
        group: Uuid::from_u128(1),
        snapshot: Uuid::from_u128(2),
        number: 3,
        in_memory: false,
        last: true,
        ask: false,
        path: "dir/file".into(),
        offset: 4096,
        message: Bytes::from_static(b"message"),
        data: Bytes::from_static(b"content"),
    }
}

fn frames() -> Vec<Vec<u8>> {
    let mut message = Message::default();
    message.set_msg_type(MessageType::MsgAppend);
    let entry = |index| Entry {
        index,
        data: Bytes::from_static(b"header"),
        context: Bytes::from_static(b"payload"),
        ..Entry::default()
    };
    message.set_entries([1, 2].map(entry).to_vec().into());
    let message = (Uuid::from_u128(1), message);
    let sender = Uuid::from_u128(2);
    vec![joined(&encode(sender, vec![message.clone(), message])), joined(&encode(sender, vec![]))]
}

#[cfg(test)]
#[test]
fn any_bytes_are_read_as_they_were_written_or_refused() {
    testkit::fuzz(targets());
}
