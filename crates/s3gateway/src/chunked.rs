//! Splits aws-chunked bodies into small chunks before `s3s` reads them.
//!
//! `s3s` collects a whole chunk, up to 4 GiB, before it passes any of it on, whereas upload memory
//! is reserved piece by piece. So `s3s` receives only small chunks:
//!
//! * A chunk of at most [`FREE_CHUNK`] is passed on unchanged.
//! * A larger unsigned chunk is passed on as it arrives, each piece as a chunk of its own. Some
//!   clients send a whole body as one such chunk.
//! * A larger signed chunk must be complete before it can be verified. Its memory is reserved as it
//!   arrives, and the chunk is refused if no memory is free; one of more than
//!   [`LARGEST_SIGNED_CHUNK`] is always refused.
//!
//! Waiting for memory could deadlock: the upload that reads this body may hold the memory that all
//! others wait for.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use http_body::{Body, Frame, SizeHint};
use limits::{MemoryBudget, MemoryClass, MemoryPermit};
use s3s::{S3Error, S3ErrorCode};

use crate::errors::{custom, invalid_request};
use crate::watched::BodyFault;

/// Chunks up to this size need no reserved memory: a request has at most one at a time, and clients
/// that sign chunks send 64 or 128 KiB.
const FREE_CHUNK: u64 = 128 << 10;

/// Pieces up to this size are copied, because a frame costs more than the copy.
const SMALL_PIECE: usize = 4 << 10;

/// Maximum size of a signed chunk.
const LARGEST_SIGNED_CHUNK: u64 = 16 << 20;

/// Maximum length of a chunk header line: a size and a signature.
const LONGEST_LINE: usize = 256;

/// Maximum number of hexadecimal digits of a size. `s3s` reads the first eight and ignores the
/// others.
const MOST_DIGITS: usize = 8;

/// Separator between the size of a chunk and its signature.
const SIGNATURE: &str = ";chunk-signature=";

/// Returns `true` if the headers declare an aws-chunked body.
pub(crate) fn is_chunked(headers: &HeaderMap) -> bool {
    let said = headers.get_all("x-amz-content-sha256");
    said.iter().any(|value| value.as_bytes().starts_with(b"STREAMING-"))
}

/// The next part of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The header line of a chunk.
    Line,
    /// The remaining `left` of `size` bytes of a chunk, passed on whole or in pieces.
    Data { left: u64, size: u64, is_whole: bool },
    /// The CRLF after a chunk: the number of its bytes that have arrived.
    End { came: usize, is_whole: bool },
    /// The part after the last chunk.
    Trailers,
}

/// An aws-chunked body, re-encoded in small chunks.
pub(crate) struct SmallChunks<B> {
    inner: B,
    state: State,
    line: Vec<u8>,
    /// Bytes that have arrived and are not parsed yet.
    arrived: Bytes,
    /// Parsed chunks that `s3s` reads next.
    ready: VecDeque<Bytes>,
    /// The memory budget for large chunks, and the key of the user.
    budget: Option<(MemoryBudget, u64)>,
    /// Memory of the chunk that `s3s` collects.
    memory: Option<MemoryPermit>,
    fault: BodyFault,
}

impl<B> SmallChunks<B> {
    pub(crate) fn new(inner: B, budget: Option<(MemoryBudget, u64)>, fault: BodyFault) -> Self {
        let (state, line, arrived) = (State::Line, Vec::new(), Bytes::new());
        let ready = VecDeque::new();
        Self { inner, state, line, arrived, ready, budget, memory: None, fault }
    }

    /// Parses one piece of the arrived bytes and returns the bytes for `s3s`, if any.
    fn take(&mut self) -> Result<Option<Bytes>, S3Error> {
        match self.state {
            State::Line => self.take_line(),
            State::Data { left, size, is_whole } => {
                let length = self.arrived.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                let piece = self.arrived.split_to(length);
                let left = left.saturating_sub(length as u64);
                self.state = match left {
                    0 => State::End { came: 0, is_whole },
                    left => State::Data { left, size, is_whole },
                };
                if is_whole {
                    self.reserve(size, size - left)?;
                    return Ok(Some(piece));
                }
                self.ready.extend(chunk_of(piece));
                Ok(self.ready.pop_front())
            }
            State::End { came, is_whole } => {
                if self.arrived.get_u8() != b"\r\n"[came] {
                    return Err(malformed());
                }
                self.state = match came {
                    0 => State::End { came: 1, is_whole },
                    _ => State::Line,
                };
                let end = if came == 0 { b"\r" } else { b"\n" };
                Ok(is_whole.then(|| Bytes::from_static(end)))
            }
            State::Trailers => Ok(Some(std::mem::take(&mut self.arrived))),
        }
    }

    fn take_line(&mut self) -> Result<Option<Bytes>, S3Error> {
        let end = self.arrived.iter().position(|byte| *byte == b'\n');
        let part = self.arrived.split_to(end.map_or(self.arrived.len(), |end| end + 1));
        if self.line.len() + part.len() > LONGEST_LINE {
            return Err(malformed());
        }
        self.line.extend_from_slice(&part);
        if end.is_none() {
            return Ok(None);
        }
        // `s3s` asks for more only after it has yielded all of the previous chunk.
        self.memory = None;
        let line = std::mem::take(&mut self.line);
        let (size, is_signed) = parse_line(&line).ok_or_else(malformed)?;
        let is_whole = is_signed || size <= FREE_CHUNK;
        self.state = match size {
            0 => State::Trailers,
            size => State::Data { left: size, size, is_whole },
        };
        if is_whole {
            self.reserve(size, 0)?;
        }
        Ok(is_whole.then(|| Bytes::from(line)))
    }

    /// Reserves memory for a chunk that `s3s` has to collect: twice the bytes that have arrived, so
    /// that a slow client holds no memory that it does not fill.
    fn reserve(&mut self, size: u64, came: u64) -> Result<(), S3Error> {
        if size <= FREE_CHUNK {
            return Ok(());
        }
        if size > LARGEST_SIGNED_CHUNK {
            return Err(custom(
                "InvalidChunkSizeError",
                StatusCode::BAD_REQUEST,
                format!(
                    "A signed chunk of {size} bytes is larger than the largest allowed: {LARGEST_SIGNED_CHUNK}"
                ),
            ));
        }
        let Some((budget, key)) = &self.budget else { return Ok(()) };
        let has = self.memory.as_ref().map_or(0, MemoryPermit::amount);
        let wanted = size.min(came.saturating_mul(2).max(FREE_CHUNK)).saturating_sub(has);
        if wanted == 0 || (came > 0 && came < has) {
            return Ok(());
        }
        let upload = budget.class(MemoryClass::Upload);
        // A chunk larger than the largest share can never be collected.
        let memory = (size <= upload.per_key()).then(|| upload.try_acquire(key, wanted)).flatten();
        let Some(memory) = memory else {
            return Err(S3Error::with_message(
                S3ErrorCode::SlowDown,
                format!(
                    "No memory for a signed chunk of {size} bytes. Send smaller chunks, or try again."
                ),
            ));
        };
        match &mut self.memory {
            Some(all) => drop(all.merge(memory)),
            None => self.memory = Some(memory),
        }
        Ok(())
    }
}

/// Parses a chunk header line into the size and a flag for a signature. Returns `None` for a line
/// that `s3s` would read differently.
fn parse_line(line: &[u8]) -> Option<(u64, bool)> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix("\r\n")?;
    let (size, is_signed) = match line.split_once(SIGNATURE) {
        Some((size, signature)) if signature.len() == 64 => (size, true),
        Some(_) => return None,
        None => (line, false),
    };
    let is_hex = size.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hex || size.is_empty() || size.len() > MOST_DIGITS {
        return None;
    }
    Some((u64::from_str_radix(size, 16).ok()?, is_signed))
}

/// Encodes a piece as an unsigned chunk.
fn chunk_of(piece: Bytes) -> Vec<Bytes> {
    let line = format!("{:x}\r\n", piece.len());
    if piece.len() >= SMALL_PIECE {
        return vec![line.into(), piece, Bytes::from_static(b"\r\n")];
    }
    let mut chunk = BytesMut::with_capacity(line.len() + piece.len() + 2);
    chunk.extend_from_slice(line.as_bytes());
    chunk.extend_from_slice(&piece);
    chunk.extend_from_slice(b"\r\n");
    vec![chunk.freeze()]
}

fn malformed() -> S3Error {
    invalid_request("The body is not in chunks as x-amz-content-sha256 says")
}

impl<B> Body for SmallChunks<B>
where
    B: Body<Data = Bytes, Error = s3s::StdError> + Unpin,
{
    type Data = Bytes;
    type Error = s3s::StdError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, s3s::StdError>>> {
        let this = &mut *self;
        loop {
            if let Some(piece) = this.ready.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            while !this.arrived.is_empty() {
                match this.take() {
                    Ok(Some(piece)) => return Poll::Ready(Some(Ok(Frame::data(piece)))),
                    Ok(None) => {}
                    Err(error) => return Poll::Ready(Some(Err(this.fault.fail(error)))),
                }
            }
            match ready!(Pin::new(&mut this.inner).poll_frame(cx)) {
                // HTTP trailers are dropped: aws-chunked has its own.
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        this.arrived = data;
                    }
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }

    /// The encoded length depends on how the body arrives. `s3s` uses the request's headers.
    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http_body_util::{BodyExt, StreamBody};

    use super::*;

    const SIGNED: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    /// Re-encodes a body that arrives in pieces of `size`.
    async fn cut(
        body: &[u8],
        size: usize,
        budget: Option<(MemoryBudget, u64)>,
    ) -> Result<Vec<Bytes>, String> {
        let fault = BodyFault::default();
        let pieces: Vec<_> = body.chunks(size).map(Bytes::copy_from_slice).collect();
        let frames = pieces.into_iter().map(|piece| Ok::<_, Infallible>(Frame::data(piece)));
        let inner = StreamBody::new(futures::stream::iter(frames)).map_err(|never| match never {});
        let mut chunks = SmallChunks::new(inner, budget, fault.clone());
        let mut passed = Vec::new();
        while let Some(frame) = chunks.frame().await {
            match frame {
                Ok(frame) => passed.push(frame.into_data().unwrap()),
                Err(_) => return Err(fault.take().unwrap().code().as_str().to_owned()),
            }
        }
        Ok(passed)
    }

    /// Returns the data of unsigned chunks, the size of the largest, and the bytes after the last
    /// chunk.
    fn read(body: &[u8]) -> (Vec<u8>, usize, Vec<u8>) {
        let (mut rest, mut data, mut largest) = (body, Vec::new(), 0);
        loop {
            let end = rest.windows(2).position(|two| two == b"\r\n").unwrap();
            let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16);
            let size = size.unwrap();
            rest = &rest[end + 2..];
            if size == 0 {
                return (data, largest, rest.to_vec());
            }
            largest = largest.max(size);
            data.extend_from_slice(&rest[..size]);
            assert_eq!(&rest[size..size + 2], b"\r\n");
            rest = &rest[size + 2..];
        }
    }

    #[tokio::test]
    async fn a_large_chunk_without_a_signature_is_passed_on_as_it_arrives() {
        let data: Vec<u8> = (0..FREE_CHUNK + 1).map(|i| (i % 251) as u8).collect();
        let trailer = b"x-amz-checksum-crc32:AAAAAA==\r\n\r\n";
        let line = format!("{:x}\r\n", data.len());
        let rest = b"\r\n5\r\nabcde\r\n0\r\n";
        let body = [line.as_bytes(), &data[..], rest, trailer].concat();
        for size in [997, 4096, 100_000] {
            let passed = cut(&body, size, None).await.unwrap().concat();
            let (read, largest, rest) = read(&passed);
            assert!(read == [&data[..], b"abcde"].concat() && rest == trailer, "{size}");
            assert!(largest <= size, "{largest} {size}");
        }
        // The arrived part of an incomplete chunk is passed on.
        for (size, expected) in [(1, "1\r\na\r\n1\r\nb\r\n1\r\nc\r\n"), (20, "3\r\nabc\r\n")] {
            let passed = cut(b"ffffffff\r\nabc", size, None).await.unwrap().concat();
            assert_eq!(passed, expected.as_bytes());
        }
    }

    #[tokio::test]
    async fn a_small_chunk_is_left_as_it_is() {
        let signed = format!(
            "3;chunk-signature={SIGNED}\r\nabc\r\n0;chunk-signature={SIGNED}\r\n\r\nx:y\r\n"
        );
        for body in [signed.as_str(), "3\r\nabc\r\n0\r\nx:y\r\n\r\n", "0\r\n\r\n"] {
            for size in [1, 5, 1000] {
                let passed = cut(body.as_bytes(), size, None).await.unwrap().concat();
                assert_eq!(passed, body.as_bytes(), "{size}");
            }
        }
    }

    #[tokio::test]
    async fn a_large_chunk_with_a_signature_takes_memory_or_is_refused() {
        let begin = |size: u64| format!("{size:x};chunk-signature={SIGNED}\r\nabc").into_bytes();
        let budget = MemoryBudget::new(40 << 20);
        let upload = budget.class(MemoryClass::Upload).clone();
        let taken = async |size| cut(&begin(size), 1000, Some((budget.clone(), 1))).await.map(drop);
        assert_eq!(taken(LARGEST_SIGNED_CHUNK + 1).await.unwrap_err(), "InvalidChunkSizeError");
        assert_eq!(taken(LARGEST_SIGNED_CHUNK).await.unwrap_err(), "SlowDown");
        assert!(taken(FREE_CHUNK + 1).await.is_ok());
        let all = upload.try_acquire(&1, u64::MAX).unwrap();
        assert_eq!(taken(FREE_CHUNK + 1).await.unwrap_err(), "SlowDown");
        assert!(taken(FREE_CHUNK).await.is_ok());
        drop(all);
        // Memory is reserved for the bytes that arrive.
        let budget = MemoryBudget::new(100 << 20);
        let upload = budget.class(MemoryClass::Upload);
        let part = |came: usize| [begin(16 << 20), vec![0; came - 3]].concat();
        for came in [3, 1 << 20, 5 << 20] {
            let fault = BodyFault::default();
            let pieces: Vec<_> = part(came).chunks(1 << 16).map(Bytes::copy_from_slice).collect();
            let frames = pieces.into_iter().map(|piece| Ok::<_, Infallible>(Frame::data(piece)));
            let inner = StreamBody::new(futures::stream::iter(frames));
            let inner = inner.map_err(|never| match never {});
            let mut chunks = SmallChunks::new(inner, Some((budget.clone(), 1)), fault);
            while let Some(frame) = chunks.frame().await {
                frame.unwrap();
            }
            let (taken, came) = (upload.taken(), came as u64);
            assert!((came..=FREE_CHUNK + 2 * came).contains(&taken), "{taken} of {came}");
        }
        // The memory belongs to one chunk, and is released with its body.
        let two = [begin(2 << 20), vec![0; (2 << 20) - 3], b"\r\n".to_vec(), begin(2 << 20)];
        let again = cut(&two.concat(), 64 << 10, Some((MemoryBudget::new(10 << 20), 1))).await;
        assert!(again.is_ok());
        assert_eq!(upload.taken(), 0);
    }

    #[tokio::test]
    async fn what_is_no_chunk_is_refused() {
        let long = "0".repeat(LONGEST_LINE + 1);
        for body in [
            "zz\r\nx",
            "\r\n",
            "1\nx",
            "100000000\r\nx",
            "1;chunk-signature=abc\r\nx",
            "1;other=1\r\nx",
            "ffffffffffffffff\r\nx",
            "1\r\nxyz",
            "1\r\nx\rz",
            "+1\r\nx",
            &long,
        ] {
            for size in [1, 1000] {
                let refused = cut(body.as_bytes(), size, None).await.unwrap_err();
                assert_eq!(refused, "InvalidRequest", "{body:?}");
            }
        }
    }
}
