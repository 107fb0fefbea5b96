//! The reader of frames with bytes that arrive in arbitrary pieces, or do not arrive.

use std::pin::Pin;
use std::task::{Context, Poll};

use proptest::prelude::*;
use tokio::io::ReadBuf;

use super::*;

const MAX_FRAME: usize = 64 << 20;

fn frame(kind: Kind, header: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut wire = head(kind, header, payload.len()).encode().to_vec();
    wire.extend_from_slice(header);
    wire.extend_from_slice(payload);
    wire
}

fn head(kind: Kind, header: &[u8], payload_len: usize) -> Head {
    Head {
        kind,
        method: 1,
        call: 7,
        header_len: header.len() as u32,
        payload_len: payload_len as u32,
        timeout_ms: 0,
        header_crc: crc32c(header),
    }
}

/// Bytes that arrive in pieces, followed by nothing, or by the end.
struct Pieces {
    bytes: Vec<u8>,
    at: usize,
    piece: usize,
    ends: bool,
}

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let end = (self.at + self.piece.min(into.remaining())).min(self.bytes.len());
        if end == self.at && !self.ends {
            return Poll::Pending;
        }
        into.put_slice(&self.bytes[self.at..end]);
        self.at = end;
        Poll::Ready(Ok(()))
    }
}

fn reader(bytes: Vec<u8>, piece: usize, ends: bool) -> FrameReader<Pieces> {
    FrameReader::new(Pieces { bytes, at: 0, piece, ends }, MAX_FRAME)
}

fn budget(limit: u64) -> FrameMemory {
    FrameMemory { budget: MemoryBudget::new(limit), key: 1 }
}

async fn read_all(reader: &mut FrameReader<Pieces>) -> io::Result<Vec<Option<Frame>>> {
    let mut all = Vec::new();
    while let Some(received) = reader.next().await? {
        all.push(match received {
            Received::Frame(frame) => Some(frame),
            Received::Dropped => None,
        });
    }
    Ok(all)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

/// Capacity of aligned buffers that this thread acquired during one poll.
fn taken_by_one_poll(mut reader: FrameReader<Pieces>) -> (usize, usize) {
    use futures::FutureExt;
    let before = crate::aligned::taken_here();
    assert!(reader.next().now_or_never().is_none(), "the rest has not arrived");
    (crate::aligned::taken_here() - before, reader.buffer.capacity())
}

#[test]
fn memory_is_taken_for_what_arrives_not_for_what_is_claimed() {
    // 36 bytes: a head that claims 64 MiB, and four bytes more.
    let claim = head(Kind::Request, b"", MAX_FRAME);
    let mut wire = claim.encode().to_vec();
    wire.extend_from_slice(b"more");
    let (aligned, buffer) = taken_by_one_poll(reader(wire.clone(), 1 << 20, false));
    assert!(aligned <= READ_BUFFER && buffer <= 2 * READ_BUFFER, "{aligned} + {buffer}");
    // More has arrived: proportionally more is allocated.
    wire.resize(HEAD + READ_BUFFER + 1, 0);
    let (aligned, _) = taken_by_one_poll(reader(wire, 1 << 20, false));
    assert!(aligned <= READ_BUFFER + READ_BUFFER * GROWTH, "{aligned}");
    // The same for a header.
    let mut claim = head(Kind::Request, b"", 0);
    claim.header_len = MAX_FRAME as u32;
    let mut wire = claim.encode().to_vec();
    wire.extend_from_slice(b"more");
    let (aligned, buffer) = taken_by_one_poll(reader(wire, 1 << 20, false));
    assert!(aligned == 0 && buffer <= 2 * READ_BUFFER, "{aligned} + {buffer}");
}

#[tokio::test]
async fn a_large_frame_waits_for_memory_and_its_bytes_are_counted_until_it_is_done_with() {
    use futures::FutureExt;
    let payload = vec![7; 1 << 20];
    let mut reader = reader(frame(Kind::Request, b"h", &payload), 1 << 20, false);
    let memory = budget(16 << 20);
    let class = memory.budget.class(MemoryClass::Request).clone();
    reader = reader.with_memory(Some(memory));
    let others: Vec<_> = (10..12).map(|key| class.try_acquire(&key, class.total() / 2)).collect();
    let mut next = Box::pin(reader.next());
    assert!(next.as_mut().now_or_never().is_none(), "there is none");
    drop(others);
    let Some(Some(Received::Frame(frame))) = next.now_or_never().map(Result::unwrap) else {
        panic!("no frame")
    };
    assert!(frame.payload == payload && class.taken() >= 1 << 20);
    drop(frame);
    assert_eq!(class.taken(), 0);
}

#[tokio::test]
async fn a_one_way_frame_without_memory_is_dropped_and_those_behind_it_come() {
    let payload = vec![7; 1 << 20];
    let mut wire = frame(Kind::OneWay, b"large", &payload);
    wire.extend(frame(Kind::OneWay, b"small", b"1"));
    wire.extend(frame(Kind::OneWay, b"large", &payload));
    let memory = budget(16 << 20);
    let class = memory.budget.class(MemoryClass::Replication).clone();
    let mut reader = reader(wire, 100_000, true).with_memory(Some(memory));
    let others: Vec<_> = (10..12).map(|key| class.try_acquire(&key, class.total() / 2)).collect();
    assert!(matches!(reader.next().await, Ok(Some(Received::Dropped))));
    assert!(matches!(reader.next().await, Ok(Some(Received::Frame(f))) if f.header == "small"));
    drop(others);
    let Ok(Some(Received::Frame(frame))) = reader.next().await else { panic!("no frame") };
    let part = frame.payload.slice(10..20);
    drop(frame);
    assert!(class.taken() >= 1 << 20, "a part keeps all of it");
    drop(part);
    assert_eq!(class.taken(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn frames_are_read_as_they_were_written_however_they_arrive(
        sizes in proptest::collection::vec(
            (
                prop_oneof![0_usize..200, Just(READ_BUFFER), Just(3 * READ_BUFFER + 1)],
                prop_oneof![
                    0_usize..200, LARGE_PAYLOAD - 2..LARGE_PAYLOAD + 2, Just(5 << 20)
                ],
            ),
            0..4,
        ),
        piece in prop_oneof![1000_usize..5000, Just(1 << 20), Just(16 << 20)],
        with_budget: bool,
        cut in any::<proptest::sample::Index>(),
    ) {
        let content = |len: usize, salt: usize| -> Vec<u8> {
            (0..len).map(|b| (b * 31 + salt) as u8).collect()
        };
        let mut wire = Vec::new();
        for (header, payload) in &sizes {
            wire.extend(frame(Kind::Request, &content(*header, 1), &content(*payload, 2)));
        }
        // All frames are held at once, and must fit into the share of one peer.
        let memory = || with_budget.then(|| budget(256 << 20));
        let mut whole = reader(wire.clone(), piece, true).with_memory(memory());
        let frames = runtime().block_on(read_all(&mut whole)).unwrap();
        prop_assert_eq!(frames.len(), sizes.len());
        for (frame, (header, payload)) in frames.iter().zip(&sizes) {
            let frame = frame.as_ref().unwrap();
            prop_assert!(frame.header == content(*header, 1));
            prop_assert!(frame.payload == content(*payload, 2));
        }
        drop(frames);
        wire.truncate(cut.index(wire.len() + 1));
        let mut part = reader(wire, piece, true).with_memory(memory());
        if let Ok(frames) = runtime().block_on(read_all(&mut part)) {
            prop_assert!(frames.len() <= sizes.len());
        }
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes: Vec<u8>, header_len: u32, payload_len: u32, kind in 0..3) {
        let mut raw = reader(bytes.clone(), 100, true);
        let _ = runtime().block_on(read_all(&mut raw));
        // A valid head, without anything after it.
        let kind = [Kind::Request, Kind::Response, Kind::OneWay][kind as usize];
        let head = Head { header_len, payload_len, ..head(kind, &bytes, 0) };
        let mut wire = head.encode().to_vec();
        wire.extend_from_slice(&bytes);
        let mut raw = reader(wire, 100, true).with_memory(Some(budget(1 << 20)));
        let _ = runtime().block_on(read_all(&mut raw));
    }

    #[test]
    fn flipped_bits_do_no_harm(at in any::<proptest::sample::Index>(), mask in 1_u8..) {
        let mut wire = frame(Kind::Request, b"a header", b"a payload");
        wire.extend(frame(Kind::OneWay, b"another", &vec![1; LARGE_PAYLOAD]));
        let at = at.index(wire.len());
        wire[at] ^= mask;
        let mut raw = reader(wire, 4096, true);
        let _ = runtime().block_on(read_all(&mut raw));
    }
}
