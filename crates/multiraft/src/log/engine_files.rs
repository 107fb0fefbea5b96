//! Undocumented format of raft-engine's files: **version 0.4.2**, file format 2 (and 1, for
//! reading). Nothing else in this crate depends on their bytes.
//!
//! The engine itself would truncate data that it cannot read, acknowledged or not. `check.rs`
//! therefore reads its files first, and `synced.rs` records their synced position, from the
//! engine's `internals` events about each write.
//!
//! * A directory: `LOCK`, held by `flock` while the engine is open; `N.raftlog`, append files, and
//!   `N.rewrite`, files for entries that the engine moves, with a number of 16 decimal digits each,
//!   the highest the newest; `N.raftlog.reserved`, empty files for later.
//! * A file: magic (53 bytes), version, alignment (u64 each, big endian), then batches: `len << 8 |
//!   compression` and footer offset (u64 big endian), entries and their crc32, footer and its crc32
//!   xor the file's number (little endian). A recycled file still contains batches of its previous
//!   use after the valid ones; the number in the crc makes those invalid. Files are preallocated
//!   with zeros.
//! * A file of version 1 has neither alignment nor number in the crc: the engine writes one when it
//!   opens a file without a header.
//!
//! The workspace pins the version exactly. Before an upgrade, compare with 0.4.2:
//!
//! 1. `src/file_pipe_log/format.rs`: names of files and of the lock, header, versions;
//! 2. `src/log_batch.rs`: header of a batch, how its parts are sealed, available compressions
//!    (`valid_batch` rejects all but 0 and 1);
//! 3. `src/config.rs`: the default format version and alignment (version 2 without alignment, else
//!    `header` finds no header), and the checks of `AbsoluteConsistency`;
//! 4. `src/event_listener.rs` and `FileBlockHandle`: `on_append_log_file` is called for each write,
//!    before `write` returns, with the file and the written range;
//! 5. `src/engine.rs`: a write syncs on request, and one that fails with `TryAgain`, or for lack of
//!    space, leaves nothing behind.
//!
//! The test below, `check.rs`, `tests/damage.rs` and `tests/crash.rs` verify all that with files
//! written by the engine; `make simulate ARGS="--faults disks"` does so with power losses.

use std::path::{Path, PathBuf};

use crc_fast::{CrcAlgorithm, checksum};
use parking_lot::Mutex;
use raft_engine::internals::{EventListener, FileBlockHandle, LogQueue};

/// Held while the engine is open.
pub(super) const LOCK: &str = "LOCK";

const MAGIC: &[u8] = b"RAFT-LOG-FILE-HEADER-9986AB3E47F320B394C8E84916EB0ED5";
/// Bytes before the first batch of a file.
pub(super) const FILE_HEADER: usize = MAGIC.len() + 16;
const FILE_HEADER_1: usize = MAGIC.len() + 8;
const BATCH_HEADER: usize = 16;

/// Suffix of append files.
pub(super) const APPEND: &str = ".raftlog";
/// Suffix of files for entries that the engine moves.
pub(super) const REWRITE: &str = ".rewrite";

/// The files of a queue, each with its number, oldest first.
pub(super) fn files(dir: &Path, suffix: &str) -> std::io::Result<Vec<(u64, PathBuf)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(stem) = name.to_str().and_then(|n| n.strip_suffix(suffix)) else { continue };
        if let Ok(seq) = stem.parse::<u64>() {
            files.push((seq, entry.path()));
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Returns `true` if the file has a header.
pub(super) fn has_header(data: &[u8]) -> bool {
    header(data).is_some()
}

/// Length of a file's header, and the modifier of its batch checksums: the file's number in version
/// 2 without alignment, which is the version we write; none in version 1.
fn header(data: &[u8]) -> Option<(usize, Signature)> {
    let rest = data.strip_prefix(MAGIC)?;
    match u64::from_be_bytes(*rest.first_chunk()?) {
        1 => Some((FILE_HEADER_1, Signature::None)),
        2 if rest.get(8..16)? == [0; 8] => Some((FILE_HEADER, Signature::Number)),
        _ => None,
    }
}

/// The modifier of a file's checksums.
#[derive(Clone, Copy)]
enum Signature {
    None,
    Number,
}

impl Signature {
    fn of(self, seq: u64) -> u32 {
        match self {
            Self::None => 0,
            Self::Number => seq as u32,
        }
    }
}

/// Offset of the first complete batch of file `seq` at or after an offset.
pub(super) fn any_batch(data: &[u8], from: usize, seq: u64) -> Option<usize> {
    let (_, signature) = header(data).unwrap_or((0, Signature::Number));
    (from..data.len()).find(|at| valid_batch(data, *at, signature.of(seq)).is_some())
}

/// End of the valid data of file `seq`.
pub(super) fn valid_to(data: &[u8], seq: u64) -> usize {
    let Some((mut at, signature)) = header(data) else { return 0 };
    while let Some(len) = valid_batch(data, at, signature.of(seq)) {
        at += len;
    }
    at
}

/// Length of the batch at `at` if every checksum in it holds.
fn valid_batch(data: &[u8], at: usize, signature: u32) -> Option<usize> {
    let rest = data.get(at..)?;
    let (header, _) = rest.split_first_chunk::<BATCH_HEADER>()?;
    // Most positions fail here: compression is 0 or 1 and lengths are far below 2^40.
    if header[7] > 1 || header[0] != 0 || header[8] != 0 || header[9] != 0 {
        return None;
    }
    let (first, second) = header.split_at(8);
    let len = (u64::from_be_bytes(first.try_into().ok()?) >> 8) as usize;
    let footer = u64::from_be_bytes(second.try_into().ok()?) as usize;
    if footer < BATCH_HEADER || len < footer + 5 || len > rest.len() {
        return None;
    }
    sealed(rest.get(footer..len)?, signature)?;
    let entries = rest.get(BATCH_HEADER..footer)?;
    if !entries.is_empty() {
        sealed(entries, 0)?;
    }
    Some(len)
}

/// Checks that `block` ends with the crc of the rest, xor `signature`.
fn sealed(block: &[u8], signature: u32) -> Option<()> {
    let (content, crc) = block.split_last_chunk::<4>()?;
    let expected = u32::from_le_bytes(*crc) ^ signature;
    (checksum(CrcAlgorithm::Crc32IsoHdlc, content) as u32 == expected).then_some(())
}

/// An end of data in one of a queue's files; file 0 stands for none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FilePosition {
    pub(super) file: u64,
    pub(super) offset: u64,
}

/// End of the engine's last write to each queue.
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use raft_engine::{Command, LogBatch};

    use super::*;
    use crate::log::engine::Guarded;
    use crate::options::LogOptions;

    /// Fails with an engine version that has another file format.
    #[test]
    fn what_the_engine_writes_is_what_this_file_knows() {
        let dir = tempfile::tempdir().unwrap();
        let written = Arc::<Written>::default();
        let engine = Guarded::open(dir.path(), &LogOptions::default(), written.clone()).unwrap();
        for number in 1..=3_u64 {
            let mut batch = LogBatch::default();
            batch.put(number, b"key".to_vec(), vec![7; 100 * number as usize]).unwrap();
            batch.add_command(number + 10, Command::Clean);
            engine.write(&mut batch, true).unwrap();
            let found = files(dir.path(), APPEND).unwrap();
            let [(1, path)] = &found[..] else { panic!("{found:?}") };
            let data = std::fs::read(path).unwrap();
            assert!(has_header(&data) && data.len() > FILE_HEADER);
            let end = valid_to(&data, 1);
            assert!(end > FILE_HEADER + 100);
            assert_eq!(written.append(), FilePosition { file: 1, offset: end as u64 });
            assert_eq!(any_batch(&data, 0, 1), Some(FILE_HEADER));
            assert_eq!(any_batch(&data, FILE_HEADER, 2), None, "of the file before it");
            let mut torn = data[..end].to_vec();
            torn[end - 1] ^= 1;
            assert!((FILE_HEADER..end).contains(&valid_to(&torn, 1)), "a torn batch is none");
        }
        assert!(dir.path().join(LOCK).exists());
        assert_eq!(written.rewrite(), FilePosition::default());
    }
}
