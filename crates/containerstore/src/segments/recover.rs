//! Recovering segments after a restart: bytes without a row are cut, missing bytes are found.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use container::segment::{SEGMENT_HEADER_LEN, SegmentError, SegmentHeader, SegmentInfo};
use types::ContainerId;

use crate::containers::{Segments, segment_file_name};
use crate::disk::Disk;

/// The recovered segments.
pub(crate) struct Recovered {
    pub(crate) segments: Segments,
    /// The reason why the container is damaged, if so.
    pub(crate) damage: Option<String>,
}

/// Opens the segments of a container, whose rows are `infos`.
///
/// # Errors
/// Errors of the system; damage is not one.
pub(crate) fn recover(
    disk: &Disk,
    chunks: &Path,
    container: ContainerId,
    mut infos: BTreeMap<u32, SegmentInfo>,
) -> io::Result<Recovered> {
    remove_unknown(chunks, &infos)?;
    let mut segments = Segments::default();
    let mut damage = None;
    for (number, info) in &mut infos {
        let path = chunks.join(segment_file_name(*number));
        if info.durable > 0 && info.live_records == 0 && !path.try_exists()? {
            // Its file was dropped, and the crash brought the row back. Nothing may be added to a
            // file without its beginning; the next tidying drops the row again.
            info.sealed = true;
            continue;
        }
        if info.durable < SEGMENT_HEADER_LEN {
            // Begun after the last flush: replay writes the contents of the file again.
            segments.queue_header(container, *number);
        }
        if let Err(why) = check(disk, &path, container, *number, info)? {
            damage.get_or_insert(format!("{}: {why}", path.display()));
        }
    }
    segments.highest = infos.last_key_value().map_or(0, |(number, _)| *number);
    segments.infos = infos;
    Ok(Recovered { segments, damage })
}

/// Removes segments without a row: begun after the last flush, or compacted away.
fn remove_unknown(chunks: &Path, infos: &BTreeMap<u32, SegmentInfo>) -> io::Result<()> {
    let mut unknown = files(chunks)?.into_iter().filter(|(number, _)| !infos.contains_key(number));
    unknown.try_for_each(|(_, path)| fs::remove_file(path))
}

/// The segments that have files.
pub(super) fn files(chunks: &Path) -> io::Result<Vec<(u32, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(chunks)? {
        let entry = entry?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".segment")?.parse().ok());
        found.extend(number.map(|number| (number, entry.path())));
    }
    Ok(found)
}

/// Faults of a segment file.
#[derive(Debug, thiserror::Error)]
enum Damage {
    #[error("segment file is missing")]
    Missing,
    #[error("segment has {len} bytes, {durable} were durable")]
    Short { len: u64, durable: u64 },
    #[error(transparent)]
    Header(#[from] SegmentError),
}

/// Compares a file with its row, and cuts the bytes after the row's last record.
fn check(
    disk: &Disk,
    path: &Path,
    container: ContainerId,
    number: u32,
    info: &SegmentInfo,
) -> io::Result<Result<(), Damage>> {
    let file = match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let lost = info.durable > 0;
            return Ok(if lost { Err(Damage::Missing) } else { Ok(()) });
        }
        Err(e) => return Err(e),
    };
    let len = file.metadata()?.len();
    if len < info.durable {
        return Ok(Err(Damage::Short { len, durable: info.durable }));
    }
    if info.durable >= SEGMENT_HEADER_LEN
        && let Err(error) = expect_header(&file, container, number)?
    {
        return Ok(Err(error.into()));
    }
    cut_tail(disk, (&file, path), info, len)?;
    Ok(Ok(()))
}

/// Checks that a segment's file begins with its header.
pub(super) fn expect_header(
    file: &File,
    container: ContainerId,
    number: u32,
) -> io::Result<Result<(), SegmentError>> {
    let mut header = [0; SEGMENT_HEADER_LEN as usize];
    file.read_exact_at(&mut header, 0)?;
    Ok((SegmentHeader { container, number }).expect(&header))
}

/// Cuts bytes without a row. Bytes with rows stay, also after missing bytes: a record there may be
/// one that an earlier replay restored, and whose entry the log does not have any more.
pub(super) fn cut_tail(
    disk: &Disk,
    (file, path): (&File, &Path),
    info: &SegmentInfo,
    len: u64,
) -> io::Result<()> {
    let end = info.end.max(SEGMENT_HEADER_LEN);
    if len > end {
        file.set_len(end)?;
        disk.sync_file(file, path).map_err(io::Error::other)?;
    }
    Ok(())
}
