//! The frame that carries the messages of all groups from one node to another.
//!
//! Header, little endian: version (u8), sender (16), count (u32), then per message: group (16),
//! length and bytes of the protobuf `Message`, number of payloads (u32) and for each the entry it
//! belongs to, its offset in the frame's payload and its length (u32 each).
//!
//! Payloads of [`PART`] bytes and more bypass protobuf: they are taken out of their entries and
//! sent as parts of the frame's payload, where the receiver slices them out without copying. Large
//! ones begin at a multiple of 4 KiB, so that a receiver with aligned frames can write them with
//! O_DIRECT unchanged.
//!
//! A payload that stays in the log is copied out of a large frame. It may stay in the entry cache
//! for long, and as a slice it would keep the whole frame alive, and its share of the memory
//! budget: with the budget used up no further frame of the leader is accepted, and nothing leaves
//! the cache.

use bytes::{BufMut, Bytes, BytesMut};
use uuid::Uuid;

use super::Frame;
use crate::codec::{Reader, put_block, put_uuid};
use crate::consensus::{Message, decode_message, put_message};
use crate::entry::is_external;
use crate::error::FrameError;

const VERSION: u8 = 1;
/// Payloads below this are cheaper inside the message.
const PART: usize = 2 << 10;
/// Minimum size of aligned payloads.
const ALIGN_FROM: usize = 64 << 10;
const ALIGN: usize = 4 << 10;
static ZEROS: [u8; ALIGN] = [0; ALIGN];

/// Messages of one frame: its sender, and each message with its group.
pub(crate) type Decoded = (Uuid, Vec<(Uuid, Message)>);

/// Encodes messages into a frame.
pub(crate) fn encode(from: Uuid, messages: Vec<(Uuid, Message)>) -> Frame {
    let mut header = BytesMut::with_capacity(64 + messages.len() * 128);
    let mut payload = Vec::new();
    let mut offset = 0;
    header.put_u8(VERSION);
    put_uuid(&mut header, from);
    header.put_u32_le(messages.len() as u32);
    for (group, mut message) in messages {
        put_uuid(&mut header, group);
        let mut parts: Vec<(u32, u32, u32)> = Vec::new();
        if message.get_entries().iter().any(|e| e.context.len() >= PART) {
            for (n, entry) in message.mut_entries().iter_mut().enumerate() {
                if entry.context.len() < PART {
                    continue;
                }
                let part = std::mem::take(&mut entry.context);
                if part.len() >= ALIGN_FROM && offset % ALIGN != 0 {
                    let gap = ALIGN - offset % ALIGN;
                    payload.push(Bytes::from_static(&ZEROS[..gap]));
                    offset += gap;
                }
                parts.push((n as u32, offset as u32, part.len() as u32));
                offset += part.len();
                payload.push(part);
            }
        }
        put_message(&mut header, &message);
        header.put_u32_le(parts.len() as u32);
        for (entry, offset, len) in parts {
            header.put_u32_le(entry);
            header.put_u32_le(offset);
            header.put_u32_le(len);
        }
    }
    Frame { header: header.freeze(), payload }
}

/// Decodes the messages of a frame.
pub(crate) fn decode(header: Bytes, payload: &Bytes) -> Result<Decoded, FrameError> {
    let mut reader = Reader(header);
    let version = reader.u8()?;
    if version != VERSION {
        return Err(FrameError(format!("unknown version {version}")));
    }
    let from = reader.uuid()?;
    let count = reader.u32()?;
    // A short frame may claim a large count.
    let mut messages = Vec::with_capacity(count.min(64) as usize);
    for _ in 0..count {
        let group = reader.uuid()?;
        let body = reader.block()?;
        let mut message = decode_message(&body).map_err(|e| FrameError(e.to_string()))?;
        for _ in 0..reader.u32()? {
            let (entry, offset, len) = (reader.u32()?, reader.u32()?, reader.u32()?);
            let range = offset as usize..offset as usize + len as usize;
            let inside = range.end <= payload.len();
            match message.mut_entries().get_mut(entry as usize).filter(|_| inside) {
                Some(entry) if is_external(entry) || payload.len() < framed::LARGE_PAYLOAD => {
                    entry.context = payload.slice(range);
                }
                Some(entry) => entry.context = Bytes::copy_from_slice(&payload[range]),
                None => return Err(FrameError(format!("payload at {range:?} has no entry"))),
            }
        }
        messages.push((group, message));
    }
    reader.end()?;
    Ok((from, messages))
}

/// A request for the payload of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FetchRequest {
    pub(crate) group: Uuid,
    pub(crate) header: Bytes,
}

impl FetchRequest {
    pub(crate) fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(24 + self.header.len());
        out.put_u8(VERSION);
        put_uuid(&mut out, self.group);
        put_block(&mut out, &self.header);
        out.freeze()
    }

    pub(crate) fn decode(data: Bytes) -> Result<Self, FrameError> {
        let mut reader = Reader(data);
        let version = reader.u8()?;
        if version != VERSION {
            return Err(FrameError(format!("unknown version {version}")));
        }
        let (group, header) = (reader.uuid()?, reader.block()?);
        reader.end()?;
        Ok(Self { group, header })
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::consensus::{Entry, MessageType};

    fn message(payloads: &[usize]) -> Message {
        let mut message = Message::default();
        message.set_msg_type(MessageType::MsgAppend);
        message.to = 7;
        message.term = 3;
        let entry = |(n, len): (usize, &usize)| Entry {
            index: n as u64 + 1,
            data: Bytes::from_static(b"header"),
            context: vec![n as u8 + 1; *len].into(),
            sync_log: n % 2 == 0,
            ..Entry::default()
        };
        message.set_entries(payloads.iter().enumerate().map(entry).collect::<Vec<_>>().into());
        message
    }

    fn joined(frame: &Frame) -> Bytes {
        frame.payload.concat().into()
    }

    #[test]
    fn messages_survive_the_round_trip_whatever_their_payloads() {
        for payloads in
            [&[][..], &[0], &[1, PART - 1], &[PART, 100, 3 * PART], &[70_000, 5000, 70_000]]
        {
            let from = Uuid::new_v4();
            let messages =
                vec![(Uuid::new_v4(), message(payloads)), (Uuid::new_v4(), message(&[]))];
            let frame = encode(from, messages.clone());
            let decoded = decode(frame.header.clone(), &joined(&frame)).unwrap();
            assert_eq!(decoded, (from, messages), "{payloads:?}");
        }
    }

    #[test]
    fn large_payloads_begin_aligned() {
        let frame = encode(
            Uuid::nil(),
            vec![(Uuid::nil(), message(&[5000, ALIGN_FROM, ALIGN_FROM + 1, ALIGN_FROM]))],
        );
        let mut offset = 0;
        let mut seen = 0;
        for part in &frame.payload {
            if part.len() >= ALIGN_FROM {
                assert_eq!(offset % ALIGN, 0);
                seen += 1;
            }
            offset += part.len();
        }
        assert_eq!(seen, 3);
    }

    /// Bytes that report their release.
    struct Watched {
        bytes: Bytes,
        _held: std::sync::Arc<()>,
    }

    impl AsRef<[u8]> for Watched {
        fn as_ref(&self) -> &[u8] {
            &self.bytes
        }
    }

    #[test]
    fn payloads_that_stay_in_the_log_do_not_keep_the_frame_that_they_came_in() {
        // The second and the fourth entry are of the log, the others are stored outside of it.
        let frame =
            encode(Uuid::nil(), vec![(Uuid::nil(), message(&[400_000, PART, PART, 90_000]))]);
        let held = std::sync::Arc::new(());
        let payload = Bytes::from_owner(Watched { bytes: joined(&frame), _held: held.clone() });
        let (_, mut messages) = decode(frame.header, &payload).unwrap();
        drop(payload);
        let mut entries = messages.remove(0).1.take_entries().into_vec();
        assert_eq!(std::sync::Arc::strong_count(&held), 2, "large payloads are not copied");
        for entry in entries.iter_mut().filter(|e| is_external(e)) {
            entry.context = Bytes::new();
        }
        assert_eq!(std::sync::Arc::strong_count(&held), 1);
        assert_eq!([entries[1].context.len(), entries[3].context.len()], [PART, 90_000]);
    }

    #[test]
    fn a_cut_frame_is_refused_and_never_panics() {
        let frame = encode(Uuid::nil(), vec![(Uuid::nil(), message(&[PART, 9]))]);
        let payload = joined(&frame);
        for cut in 0..frame.header.len() {
            assert!(decode(frame.header.slice(..cut), &payload).is_err(), "cut at {cut}");
        }
        assert!(decode(frame.header.clone(), &payload.slice(1..)).is_err());
    }

    #[test]
    fn a_fetch_request_survives_the_round_trip() {
        let request = FetchRequest { group: Uuid::new_v4(), header: Bytes::from_static(b"h") };
        let bytes = request.encode();
        assert_eq!(FetchRequest::decode(bytes.clone()).unwrap(), request);
        assert!(FetchRequest::decode(bytes.slice(..5)).is_err());
    }
}
