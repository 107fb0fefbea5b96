//! The synced position of a log's files.
//!
//! After a power loss the last batch of a log may be torn: its write was never acknowledged. A
//! damaged batch that *was* synced looks the same. So after every sync the log records its position
//! in a file outside of its directory. That record is not itself synced before the write is
//! acknowledged, which would cost a second sync each time. It is in the page cache as soon as it is
//! written, so a killed process loses nothing of it; it is also synced every few seconds. After a
//! power loss it may be some seconds old: data synced later is indistinguishable from unsynced
//! data.
//!
//! The first record differs. Before its first use a log gets a record that nothing was acknowledged
//! ([`SyncedFile::begin`]), which is synced, and its first write is not acknowledged before the
//! file is replaced by one with the synced position. So whatever a failed fsync and a power loss
//! leave of a first write may be removed.
//!
//! The file has two slots, in sectors of their own, written alternately. Each contains the number
//! of the record (u64), the log's id (16), then for the append queue and the rewrite queue the
//! number of a file and an offset in it (u64 each), and a CRC-32 of that (u32), little endian.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytes::{BufMut, Bytes, BytesMut};
use crc_fast::{CrcAlgorithm, checksum};
use parking_lot::Mutex;
use uuid::Uuid;

use super::engine_files::FilePosition;
use crate::codec::{Reader, put_uuid};
use crate::error::FrameError;

const SLOT: usize = 512;
const CONTENT: usize = 8 + 16 + 4 * 8;

/// The synced position of a log. File 0 of the append queue, read from a file, means that nothing
/// in the log was acknowledged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Synced {
    pub(super) log: Uuid,
    /// Of append files.
    pub(super) append: FilePosition,
    /// Of the files for entries that the engine moves.
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

    /// Reads the last record, if any.
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

/// Offset of the slot of a record number.
fn slot_offset(number: u64) -> usize {
    if number % 2 == 0 { SLOT } else { 0 }
}

/// The file, while the log is open.
pub(super) struct SyncedFile {
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    /// Set from the first record on.
    file: Option<File>,
    number: u64,
    known: Synced,
    /// The file records that nothing in the log was acknowledged.
    promised: bool,
    /// Records were written since the file was last synced.
    changed: bool,
    /// A write or sync failed: the file stays as it is. Its contents are true, but outdated.
    failed: bool,
}

impl State {
    /// Creates the file as a whole: later records need no space and change no sizes.
    fn make(&mut self, path: &Path) -> std::io::Result<()> {
        self.number = Synced::read_numbered(path)?.map_or(0, |(number, _)| number) + 1;
        // With one slot only: no record is left that nothing was acknowledged.
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
    /// Continues from the records in the file, if it belongs to `log`. The file stays unchanged
    /// until the first record.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn read(path: PathBuf, log: Uuid) -> std::io::Result<Self> {
        let found = Synced::read(&path)?.filter(|synced| synced.log == log);
        let promised = found.is_some_and(|synced| synced.append.file == 0);
        let known = found.unwrap_or(Synced { log, ..Synced::default() });
        let (file, number, changed, failed) = (None, 0, false, false);
        let state = State { file, number, known, promised, changed, failed };
        Ok(Self { path, state: Mutex::new(state) })
    }

    /// The synced position, as far as known.
    pub(super) fn known(&self) -> Synced {
        self.state.lock().known
    }

    /// Returns `true` if it is certain that nothing in the log was acknowledged.
    pub(super) fn nothing_acknowledged(&self) -> bool {
        self.state.lock().promised
    }

    /// Records, before the first use of the log, that nothing in it was acknowledged, unless there
    /// is such a record already. It is on disk on return.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn begin(&self) -> std::io::Result<()> {
        let mut state = self.state.lock();
        if state.known.append.file > 0 {
            return Ok(());
        }
        state.make(&self.path)?;
        state.promised = true;
        Ok(())
    }

    /// Allows acknowledgements from now on, independent of records of the synced position.
    ///
    /// # Errors
    /// If the file cannot be removed.
    pub(super) fn may_acknowledge(&self) -> std::io::Result<()> {
        let mut state = self.state.lock();
        if std::mem::take(&mut state.promised) {
            state.file = None;
            std::fs::remove_file(&self.path)?;
            blockio::durable::sync_name(&self.path)?;
        }
        Ok(())
    }

    /// Records the synced position of the append queue.
    ///
    /// # Errors
    /// If the file still records that nothing in the log was acknowledged, and cannot be replaced.
    /// After any other failure the record is only outdated.
    pub(super) fn note_appended(&self, position: FilePosition) -> std::io::Result<()> {
        let mut state = self.state.lock();
        state.known.append = position.max(state.known.append);
        if state.promised {
            state.make(&self.path)?;
            state.promised = false;
        } else {
            self.write(&mut state);
        }
        Ok(())
    }

    /// Records the synced position of the rewrite queue. While the file records that nothing in the
    /// log was acknowledged, that stays.
    pub(super) fn note_rewritten(&self, position: FilePosition) {
        let mut state = self.state.lock();
        state.known.rewrite = position.max(state.known.rewrite);
        if !state.promised {
            self.write(&mut state);
        }
    }

    /// Writes the current position. After a failure the record is outdated.
    fn write(&self, state: &mut State) {
        if state.failed {
            return;
        }
        let written = match state.file {
            Some(_) => state.write(),
            None => state.make(&self.path),
        };
        self.check(state, written);
    }

    /// Makes the records durable. Blocks on the disk, but blocks no other thread.
    pub(super) fn sync(&self) {
        let file = {
            let mut state = self.state.lock();
            if state.file.is_none() {
                // It could not be created, on a full disk perhaps: the next record retries it.
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
            tracing::warn!(path = %self.path.display(), %error, "the synced position of a raft log is no longer recorded");
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
        let file = SyncedFile::read(path.clone(), first.log).unwrap();
        assert_eq!(Synced::read(&path).unwrap(), None, "nothing was recorded");
        let position = |file, offset| FilePosition { file, offset };
        for n in 1..9 {
            file.note_appended(position(1, n * 100)).unwrap();
            assert_eq!(Synced::read(&path).unwrap().unwrap().append, position(1, n * 100));
        }
        file.note_rewritten(position(3, 7));
        file.note_appended(position(1, 5)).unwrap();
        file.sync();
        let last = Synced { append: position(1, 800), rewrite: position(3, 7), ..first };
        assert_eq!(Synced::read(&path).unwrap(), Some(last), "the position never decreases");
        // One record is torn: the previous one is still there.
        file.note_appended(position(2, 100)).unwrap();
        let good = std::fs::read(&path).unwrap();
        for slot in [0, SLOT] {
            let mut torn = good.clone();
            torn[slot + 20] ^= 1;
            std::fs::write(&path, &torn).unwrap();
            let known = Synced::read(&path).unwrap().unwrap();
            assert!([position(1, 800), position(2, 100)].contains(&known.append), "{known:?}");
        }
        std::fs::write(&path, &good).unwrap();
        // The next process continues with higher numbers.
        drop(file);
        let file = SyncedFile::read(path.clone(), first.log).unwrap();
        file.note_appended(position(2, 200)).unwrap();
        assert_eq!(Synced::read(&path).unwrap().unwrap().append, position(2, 200));
    }

    #[test]
    fn nothing_was_acknowledged_until_the_first_note_is_on_disk() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("synced");
        let log = Uuid::from_u128(5);
        let read = || SyncedFile::read(path.clone(), log).unwrap();
        assert!(!read().nothing_acknowledged(), "a log that has no note yet may hold anything");
        read().begin().unwrap();
        assert!(read().nothing_acknowledged());
        let other = SyncedFile::read(path.clone(), Uuid::from_u128(6)).unwrap();
        assert!(!other.nothing_acknowledged(), "the record is for another log");
        // The file cannot be replaced: the write it covers must not be acknowledged.
        let beside = dir.path().join("synced.new");
        std::fs::create_dir(&beside).unwrap();
        let file = read();
        let position = FilePosition { file: 1, offset: 100 };
        file.note_appended(position).unwrap_err();
        assert!(file.nothing_acknowledged() && read().nothing_acknowledged());
        file.note_rewritten(position);
        assert!(read().nothing_acknowledged(), "the other queue does not matter");
        std::fs::remove_dir(&beside).unwrap();
        file.note_appended(position).unwrap();
        assert!(!file.nothing_acknowledged() && !read().nothing_acknowledged());
        // No slot contains it any more, whichever is damaged.
        let good = std::fs::read(&path).unwrap();
        let slots = good.chunks(SLOT).filter_map(Synced::decode);
        assert_eq!(slots.map(|(_, synced)| synced.append).collect::<Vec<_>>(), [position]);
        file.begin().unwrap();
        assert!(!file.nothing_acknowledged() && !read().nothing_acknowledged(), "it was");
        // Without fsyncs anything may be acknowledged at any time.
        std::fs::remove_file(&path).unwrap();
        read().begin().unwrap();
        let file = read();
        assert!(file.nothing_acknowledged());
        file.may_acknowledge().unwrap();
        assert!(!file.nothing_acknowledged() && !read().nothing_acknowledged());
    }
}
