//! How far a log's files are known to be synced.
//!
//! After a loss of power the last batch of a log may be torn: its write was never acknowledged. A
//! batch that *was* synced and is damaged looks just the same. So after every sync the log notes,
//! in a file outside of its directory, how far it has come. The note itself is not synced before
//! the write is acknowledged, which would cost a second sync for each. It is in the operating
//! system's hands as soon as it is written, so a process that is killed loses nothing of it; it is
//! synced every few seconds besides. After a loss of power it may be some seconds old: what was
//! synced after it cannot be told from what was not.
//!
//! Two slots of the file are written in turn, in sectors of their own. Each is the number of the
//! note (u64), the log's id (16), then for the append queue and the rewrite queue the number of a
//! file and an offset in it (u64 each), and a CRC-32 of that (u32), little endian.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytes::{BufMut, Bytes, BytesMut};
use crc_fast::{CrcAlgorithm, checksum};
use parking_lot::Mutex;
use raft_engine::internals::{EventListener, FileBlockHandle, LogQueue};
use uuid::Uuid;

use crate::codec::{Reader, put_uuid};
use crate::error::FrameError;

const SLOT: usize = 512;
const CONTENT: usize = 8 + 16 + 4 * 8;

/// An end of data in one of a queue's files; file 0 is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FilePosition {
    pub(super) file: u64,
    pub(super) offset: u64,
}

/// What is synced of a log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Synced {
    pub(super) log: Uuid,
    /// Of the files that writes go to.
    pub(super) append: FilePosition,
    /// Of the files that the engine moves old entries to.
    pub(super) rewrite: FilePosition,
}

impl Synced {
    pub(super) fn encode(&self, number: u64) -> Vec<u8> {
        let mut out = BytesMut::with_capacity(CONTENT + 4);
        out.put_u64_le(number);
        put_uuid(&mut out, self.log);
        for position in [self.append, self.rewrite] {
            out.put_u64_le(position.file);
            out.put_u64_le(position.offset);
        }
        let crc = checksum(CrcAlgorithm::Crc32IsoHdlc, &out) as u32;
        out.put_u32_le(crc);
        out.to_vec()
    }

    pub(super) fn decode(slot: &[u8]) -> Option<(u64, Self)> {
        let (content, rest) = slot.split_at_checked(CONTENT)?;
        let crc = rest.first_chunk::<4>()?;
        if checksum(CrcAlgorithm::Crc32IsoHdlc, content) as u32 != u32::from_le_bytes(*crc) {
            return None;
        }
        let mut reader = Reader(Bytes::copy_from_slice(content));
        let mut fields = || -> Result<(u64, Self), FrameError> {
            let (number, log) = (reader.u64()?, reader.uuid()?);
            let append = FilePosition { file: reader.u64()?, offset: reader.u64()? };
            let rewrite = FilePosition { file: reader.u64()?, offset: reader.u64()? };
            Ok((number, Self { log, append, rewrite }))
        };
        fields().ok()
    }

    /// Reads the last note, if there is one.
    pub(super) fn read(path: &Path) -> std::io::Result<Option<Self>> {
        Ok(Self::read_numbered(path)?.map(|(_, synced)| synced))
    }

    fn read_numbered(path: &Path) -> std::io::Result<Option<(u64, Self)>> {
        let data = match std::fs::read(path) {
            Ok(data) => data,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let slots = data.chunks(SLOT).filter_map(Self::decode);
        Ok(slots.max_by_key(|(number, _)| *number))
    }
}

/// Where the engine's last write to each queue ends.
#[derive(Default)]
pub(super) struct Written {
    append: Mutex<FilePosition>,
    rewrite: Mutex<FilePosition>,
}

impl Written {
    pub(super) fn append(&self) -> FilePosition {
        *self.append.lock()
    }

    pub(super) fn rewrite(&self) -> FilePosition {
        *self.rewrite.lock()
    }
}

impl EventListener for Written {
    fn on_append_log_file(&self, handle: FileBlockHandle) {
        let queue = match handle.id.queue {
            LogQueue::Append => &self.append,
            LogQueue::Rewrite => &self.rewrite,
        };
        let offset = handle.offset.saturating_add(handle.len as u64);
        *queue.lock() = FilePosition { file: handle.id.seq, offset };
    }
}

/// Where the note of a number is in the file.
fn slot_offset(number: u64) -> usize {
    if number % 2 == 0 { SLOT } else { 0 }
}

/// The file, while the log is open.
pub(super) struct SyncedFile {
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    /// From the first note on.
    file: Option<File>,
    number: u64,
    known: Synced,
    /// Notes have been written since the file was last synced.
    changed: bool,
    /// A write or sync failed: the file is left as it is. What it says is true, but no longer new.
    failed: bool,
}

impl State {
    /// Makes the file as a whole: later notes take no more room and change no sizes.
    fn make(&mut self, path: &Path) -> std::io::Result<()> {
        self.number = Synced::read_numbered(path)?.map_or(0, |(number, _)| number) + 1;
        let mut content = vec![0; 2 * SLOT];
        let slot = self.known.encode(self.number);
        let at = slot_offset(self.number);
        content[at..at + slot.len()].copy_from_slice(&slot);
        super::manifest::replace(path, &content)?;
        self.file = Some(File::options().write(true).open(path)?);
        Ok(())
    }

    fn write(&mut self) -> std::io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        self.number += 1;
        self.changed = true;
        file.write_all_at(&self.known.encode(self.number), slot_offset(self.number) as u64)
    }
}

impl SyncedFile {
    /// Notes will go on from `known`. Until the first one the file is left alone.
    pub(super) fn new(path: PathBuf, known: Synced) -> Self {
        let state = State { file: None, number: 0, known, changed: false, failed: false };
        Self { path, state: Mutex::new(state) }
    }

    /// Notes how far the queues are synced; `None` for one that is where it was.
    pub(super) fn note(&self, append: Option<FilePosition>, rewrite: Option<FilePosition>) {
        let mut state = self.state.lock();
        let known = &mut state.known;
        known.append = append.unwrap_or(known.append).max(known.append);
        known.rewrite = rewrite.unwrap_or(known.rewrite).max(known.rewrite);
        if state.failed {
            return;
        }
        let written = match state.file {
            Some(_) => state.write(),
            None => state.make(&self.path),
        };
        self.check(&mut state, written);
    }

    /// Makes the notes durable. Blocks on the disk, and holds up no other thread.
    pub(super) fn sync(&self) {
        let file = {
            let mut state = self.state.lock();
            if state.file.is_none() {
                // It could not be made, on a full disk perhaps: the next note tries it again.
                state.failed = false;
            }
            if state.failed || !std::mem::take(&mut state.changed) {
                return;
            }
            state.file.as_ref().map(File::try_clone).transpose()
        };
        let synced = file.and_then(|file| file.map_or(Ok(()), |file| file.sync_data()));
        self.check(&mut self.state.lock(), synced);
    }

    fn check(&self, state: &mut State, done: std::io::Result<()>) {
        if let Err(error) = done {
            tracing::warn!(path = %self.path.display(), %error, "how far a raft log is synced is not noted any more");
            state.failed = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_whole_note_counts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("synced");
        assert_eq!(Synced::read(&path).unwrap(), None);
        let first = Synced { log: Uuid::from_u128(5), ..Synced::default() };
        let file = SyncedFile::new(path.clone(), first);
        assert_eq!(Synced::read(&path).unwrap(), None, "nothing was noted");
        let position = |file, offset| FilePosition { file, offset };
        for n in 1..9 {
            file.note(Some(position(1, n * 100)), None);
            assert_eq!(Synced::read(&path).unwrap().unwrap().append, position(1, n * 100));
        }
        file.note(None, Some(position(3, 7)));
        file.note(Some(position(1, 5)), None);
        file.sync();
        let last = Synced { append: position(1, 800), rewrite: position(3, 7), ..first };
        assert_eq!(Synced::read(&path).unwrap(), Some(last), "it never goes back");
        // One note is torn: the one before it is still there.
        file.note(Some(position(2, 100)), None);
        let good = std::fs::read(&path).unwrap();
        for slot in [0, SLOT] {
            let mut torn = good.clone();
            torn[slot + 20] ^= 1;
            std::fs::write(&path, &torn).unwrap();
            let known = Synced::read(&path).unwrap().unwrap();
            assert!([position(1, 800), position(2, 100)].contains(&known.append), "{known:?}");
        }
        std::fs::write(&path, &good).unwrap();
        // The next process goes on with higher numbers.
        drop(file);
        let known = Synced::read(&path).unwrap().unwrap();
        let file = SyncedFile::new(path.clone(), known);
        file.note(Some(position(2, 200)), None);
        assert_eq!(Synced::read(&path).unwrap().unwrap().append, position(2, 200));
    }
}
