//! The sending side: walks the files and sends piece after piece, starting with the first that the
//! receiver lacks.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::io::AsyncReadExt;

use crate::consensus::{Message, encode_message};
use crate::error::TransportError;
use crate::metrics::add;
use crate::shared::GroupShared;
use crate::snapshot::piece::Piece;
use crate::snapshot::{Content, Outgoing};
use crate::transport::{Frame, Target};

/// All files below `dir`, as relative paths in a stable order.
fn files(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        for entry in std::fs::read_dir(dir.join(&below))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            if entry.file_type()?.is_dir() { open.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    Ok(found)
}

struct Stream<'a> {
    shared: &'a GroupShared,
    to: &'a Target,
    next: Piece,
    /// The first piece that the peer lacks.
    from: u64,
    pace: Pace,
}

/// Limits a stream to a number of bytes per second.
struct Pace {
    rate: u64,
    began: Instant,
    bytes: u64,
}

impl Pace {
    async fn keep(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        if self.rate > 0 {
            let due = Duration::from_secs_f64(self.bytes as f64 / self.rate as f64);
            tokio::time::sleep_until((self.began + due).into()).await;
        }
    }
}

impl Stream<'_> {
    async fn send(&mut self, data: Bytes) -> Result<(), TransportError> {
        if self.next.number < self.from && !self.next.last {
            self.next.number += 1;
            return Ok(());
        }
        self.pace.keep(data.len()).await;
        self.next.data = data;
        let frame = self.next.encode();
        self.next.number += 1;
        self.exchange(frame).await?;
        add(&self.shared.metrics.snapshot_pieces_sent, 1);
        Ok(())
    }

    /// Requests the position at which an interrupted stream resumes.
    async fn query_position(&mut self) -> Result<(), TransportError> {
        let question = Piece { ask: true, ..self.next.clone() };
        self.from = self.exchange(question.encode()).await?;
        Ok(())
    }

    async fn exchange(&self, frame: Frame) -> Result<u64, TransportError> {
        let sent = self.shared.transport.send_snapshot(self.to, frame);
        match tokio::time::timeout(self.shared.request_timeout, sent).await {
            Ok(result) => result,
            Err(_) => Err(self.error("request timed out")),
        }
    }

    fn error(&self, detail: impl ToString) -> TransportError {
        let address = self.to.address.clone();
        TransportError::Unreachable { address, detail: detail.to_string() }
    }
}

/// Streams a snapshot and then its Raft message.
pub(crate) async fn stream(
    shared: &GroupShared,
    to: &Target,
    outgoing: &Outgoing,
    message: &Message,
    piece_bytes: usize,
) -> Result<(), TransportError> {
    let next = Piece {
        group: shared.id,
        snapshot: outgoing.id,
        number: 0,
        in_memory: matches!(outgoing.content, Content::Bytes(_)),
        last: false,
        ask: false,
        path: PathBuf::new(),
        offset: 0,
        message: Bytes::new(),
        data: Bytes::new(),
    };
    let pace = Pace { rate: shared.snapshot_rate, began: Instant::now(), bytes: 0 };
    let mut stream = Stream { shared, to, next, from: 0, pace };
    stream.query_position().await?;
    match &outgoing.content {
        Content::Bytes(bytes) => {
            let mut rest = bytes.clone();
            while !rest.is_empty() {
                let piece = rest.split_to(piece_bytes.min(rest.len()));
                let len = piece.len() as u64;
                stream.send(piece).await?;
                stream.next.offset += len;
            }
        }
        Content::Dir(dir) => {
            for path in files(&dir.0).map_err(|e| stream.error(e))? {
                stream.next.path.clone_from(&path);
                stream.next.offset = 0;
                send_file(&mut stream, &dir.0.join(&path), piece_bytes).await?;
            }
        }
    }
    let body = encode_message(message).map_err(|e| stream.error(e))?;
    stream.next.message = body.into();
    stream.next.last = true;
    stream.next.path = PathBuf::new();
    stream.send(Bytes::new()).await
}

async fn send_file(
    stream: &mut Stream<'_>,
    path: &Path,
    piece_bytes: usize,
) -> Result<(), TransportError> {
    let mut file = tokio::fs::File::open(path).await.map_err(|e| stream.error(e))?;
    loop {
        let mut data = bytes::BytesMut::with_capacity(piece_bytes);
        let mut part = (&mut file).take(piece_bytes as u64);
        while part.read_buf(&mut data).await.map_err(|e| stream.error(e))? > 0 {}
        let end = data.is_empty();
        // An empty file also makes a piece.
        if end && stream.next.offset > 0 {
            return Ok(());
        }
        let len = data.len() as u64;
        stream.send(data.freeze()).await?;
        stream.next.offset += len;
        if end {
            return Ok(());
        }
    }
}
