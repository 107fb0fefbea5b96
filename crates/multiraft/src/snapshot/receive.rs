//! The receiving side: collects pieces until the snapshot is complete.

use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytes::{BufMut, Bytes, BytesMut};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use uuid::Uuid;

use super::piece::Piece;
use super::{Incoming, Scratch};
use crate::consensus::{Message, decode_message};
use crate::error::ReceiveError;

/// Maximum size of a snapshot that is sent in memory.
const IN_MEMORY_BYTES: usize = 256 << 20;

enum Partial {
    Memory(BytesMut),
    Files {
        dir: Scratch,
        written: Vec<PathBuf>,
        /// Size of the last file.
        end: u64,
    },
}

struct Receiving {
    snapshot: Uuid,
    next: u64,
    content: Partial,
}

/// Snapshots in transfer to this host, one per group: a newer one replaces an older.
#[derive(Default)]
pub(crate) struct Receiver {
    groups: Mutex<FxHashMap<Uuid, Receiving>>,
}

impl Receiver {
    /// The next expected piece of a snapshot: 0 if none has arrived.
    pub(crate) fn next(&self, group: Uuid, snapshot: Uuid) -> u64 {
        let groups = self.groups.lock();
        groups.get(&group).filter(|r| r.snapshot == snapshot).map_or(0, |r| r.next)
    }

    /// Adds a piece; returns the snapshot and its message with the last one. Blocks on the disk.
    pub(crate) fn receive(
        &self,
        piece: Piece,
        snapshots: &Path,
    ) -> Result<Option<(Message, Incoming)>, ReceiveError> {
        // Removed from the map during disk writes, so that other groups are not blocked.
        let known = self.groups.lock().remove(&piece.group);
        let mut receiving = match known.filter(|r| r.snapshot == piece.snapshot) {
            Some(receiving) if receiving.next == piece.number => receiving,
            _ if piece.number == 0 => begin(&piece, snapshots)?,
            _ => return Err(ReceiveError::PieceOutOfOrder(piece.number)),
        };
        receiving.next = receiving.next.saturating_add(1);
        if piece.last {
            let message = decode_message(&piece.message)?;
            let incoming = finish(receiving.content).map_err(|error| {
                let path = snapshots.join(piece.snapshot.to_string());
                ReceiveError::Io { path, error }
            })?;
            return Ok(Some((message, incoming)));
        }
        add(&mut receiving.content, &piece)?;
        self.groups.lock().insert(piece.group, receiving);
        Ok(None)
    }
}

fn begin(piece: &Piece, snapshots: &Path) -> Result<Receiving, ReceiveError> {
    let content = if piece.in_memory {
        Partial::Memory(BytesMut::new())
    } else {
        let dir = snapshots.join(piece.snapshot.to_string());
        // An interrupted attempt may have left files.
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir)
            .map_err(|error| ReceiveError::Io { path: dir.clone(), error })?;
        Partial::Files { dir: Scratch(dir), written: Vec::new(), end: 0 }
    };
    Ok(Receiving { snapshot: piece.snapshot, next: 0, content })
}

fn add(content: &mut Partial, piece: &Piece) -> Result<(), ReceiveError> {
    match content {
        Partial::Memory(bytes) => {
            if bytes.len() + piece.data.len() > IN_MEMORY_BYTES {
                return Err(ReceiveError::TooLarge);
            }
            bytes.put_slice(&piece.data);
            Ok(())
        }
        Partial::Files { dir, written, end } => {
            if piece.path.as_os_str().is_empty() {
                return Err(ReceiveError::NoPath);
            }
            let path = dir.0.join(&piece.path);
            if written.last() != Some(&path) {
                written.push(path.clone());
                *end = 0;
            }
            if piece.offset != *end {
                return Err(ReceiveError::FileOutOfOrder(path));
            }
            *end += piece.data.len() as u64;
            write(&path, piece.offset, &piece.data)
                .map_err(|error| ReceiveError::Io { path, error })
        }
    }
}

fn write(path: &Path, offset: u64, data: &[u8]) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let options = std::fs::OpenOptions::new().write(true).create(true).truncate(false).open(path);
    let mut file = options?;
    file.write_all_at(data, offset)?;
    file.flush()
}

fn finish(content: Partial) -> std::io::Result<Incoming> {
    match content {
        Partial::Memory(bytes) => Ok(Incoming::Bytes(Bytes::from(bytes))),
        Partial::Files { dir, written, .. } => {
            for path in &written {
                std::fs::File::open(path)?.sync_all()?;
            }
            let parents = written.iter().filter_map(|p| p.parent());
            for parent in parents.collect::<std::collections::BTreeSet<_>>() {
                std::fs::File::open(parent)?.sync_all()?;
            }
            Ok(Incoming::Dir(dir))
        }
    }
}
