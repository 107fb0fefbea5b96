//! Tells a torn tail from corruption, before the log engine opens a directory.
//!
//! The engine cuts the newest file at its first broken batch. That is right for a torn tail:
//! every write is synced before the next one begins, so a crash can only damage the last
//! batch, which nobody has been told about. It is wrong for a flipped bit further up, where
//! cutting would silently drop acknowledged entries. The difference: behind a torn batch
//! nothing valid follows. So we walk the newest file, and when a batch is broken look for any
//! valid batch behind it; one is enough to refuse.
//!
//! Format of a file (raft-engine, version 2): magic (53 bytes), version, alignment (u64 each),
//! then batches: `len << 8 | compression` and footer offset (u64 big endian), entries and
//! their crc32, footer and its crc32 xor the file's number. A recycled file holds batches of
//! its former life behind the valid ones; the number in the crc makes those invalid.

use std::path::{Path, PathBuf};

use crc_fast::{CrcAlgorithm, checksum};

const MAGIC: &[u8] = b"RAFT-LOG-FILE-HEADER-9986AB3E47F320B394C8E84916EB0ED5";
const FILE_HEADER: usize = MAGIC.len() + 16;
const BATCH_HEADER: usize = 16;

/// The newest file of the append queue in `dir`, with its number.
fn newest(dir: &Path) -> std::io::Result<Option<(u64, PathBuf)>> {
    newest_before(dir, u64::MAX)
}

fn newest_before(dir: &Path, limit: u64) -> std::io::Result<Option<(u64, PathBuf)>> {
    let mut newest = None;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(stem) = name.to_str().and_then(|n| n.strip_suffix(".raftlog")) else { continue };
        let Ok(seq) = stem.parse::<u64>() else { continue };
        if seq < limit && newest.as_ref().is_none_or(|(other, _)| seq > *other) {
            newest = Some((seq, entry.path()));
        }
    }
    Ok(newest)
}

/// What is wrong with the newest file in `dir`, if its damage is not a torn tail.
///
/// A newest file that was never begun goes first: on a full disk the engine makes the next file, cannot write its
/// header, and goes on with the one before once there is room. That one is the newest in truth, and may have a tail.
pub(super) fn corruption(dir: &Path) -> std::io::Result<Option<(PathBuf, String)>> {
    while let Some((seq, path)) = newest(dir)? {
        let data = std::fs::read(&path)?;
        let first = newest_before(dir, seq)?.is_none();
        if first || begun(&data) || any_batch(&data, 0, seq as u32).is_some() {
            return Ok(broken_in_the_middle(&data, seq as u32).map(|detail| (path, detail)));
        }
        tracing::warn!(file = %path.display(), "a raft log file that was never begun is removed");
        std::fs::remove_file(&path)?;
    }
    Ok(None)
}

/// Whether a file has its header: version 2, no alignment, the only one that we write.
fn begun(data: &[u8]) -> bool {
    let rest = data.strip_prefix(MAGIC).and_then(|d| d.first_chunk::<16>());
    rest.is_some_and(|rest| u128::from_be_bytes(*rest) == 2 << 64)
}

fn any_batch(data: &[u8], from: usize, signature: u32) -> Option<usize> {
    (from..data.len()).find(|at| valid_batch(data, *at, signature).is_some())
}

fn broken_in_the_middle(data: &[u8], signature: u32) -> Option<String> {
    let header_ok = begun(data);
    let mut at = if header_ok { FILE_HEADER } else { 0 };
    if header_ok {
        while let Some(len) = valid_batch(data, at, signature) {
            at += len;
        }
    }
    if at >= data.len() {
        return None;
    }
    let next = any_batch(data, at + 1, signature)?;
    Some(format!("damaged bytes at offset {at}, with valid data behind them at offset {next}"))
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

/// Whether `block` ends with the crc of the rest, xor `signature`.
fn sealed(block: &[u8], signature: u32) -> Option<()> {
    let (content, crc) = block.split_last_chunk::<4>()?;
    let expected = u32::from_le_bytes(*crc) ^ signature;
    (checksum(CrcAlgorithm::Crc32IsoHdlc, content) as u32 == expected).then_some(())
}
