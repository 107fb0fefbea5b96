//! Check that the rows of containers point into their own files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use container::segment::{RECORD_HEADER_LEN, RecordHeader, SegmentInfo, record_len};
use metastore::IterRange;
use prost::Message;
use proto::datanode::DatanodeBlockId;
use types::{ContainerId, LocalId};

use super::disk::{Disk, Lies};
use super::finding::Finding;
use crate::ShellError;

/// Readahead of a scan, in bytes.
const READAHEAD: usize = 1 << 20;

/// Location of a packed block.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(super) struct Packed {
    #[prost(uint32, tag = "1")]
    pub segment: u32,
    #[prost(uint64, tag = "2")]
    pub offset: u64,
    #[prost(uint32, tag = "3")]
    pub len: u32,
}

/// The checked fields of a row of `block_data`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Row {
    #[prost(message, required, tag = "1")]
    pub block_id: DatanodeBlockId,
    #[prost(int64, optional, tag = "5")]
    pub size: Option<i64>,
    #[prost(message, optional, tag = "1000")]
    pub packed: Option<Packed>,
}

/// Statistics of the rows of a container.
#[derive(Default)]
struct Seen {
    rows: u64,
    outside: u64,
    /// Description of the first defect.
    first: Option<String>,
}

/// Checks all rows of a disk.
pub(super) fn check(disk: &Disk, found: &mut Vec<Finding>) -> Result<(), ShellError> {
    let here: BTreeSet<_> = disk.list(Lies::InPlace)?.into_iter().map(|(id, _)| id).collect();
    let mut segments: BTreeMap<(ContainerId, u32), SegmentInfo> = BTreeMap::new();
    each(disk, "segments", |id, rest, value| {
        if let (Ok(number), Ok(info)) = (rest.try_into(), SegmentInfo::decode(value)) {
            segments.insert((id, u32::from_be_bytes(number)), info);
        }
    })?;
    let mut counted = BTreeSet::new();
    each(disk, "metadata", |id, _, _| _ = counted.insert(id))?;
    let mut all: BTreeMap<ContainerId, Seen> = BTreeMap::new();
    let mut files = Files::default();
    each(disk, "block_data", |id, rest, value| {
        let seen = all.entry(id).or_default();
        seen.rows = seen.rows.saturating_add(1);
        if !here.contains(&id) {
            return;
        }
        let place = files.of(disk, id);
        if let Some(why) = outside(place, &segments, id, value) {
            seen.outside = seen.outside.saturating_add(1);
            let local = String::from_utf8_lossy(rest).into_owned();
            seen.first.get_or_insert_with(|| format!("block {local}: {why}"));
        }
    })?;
    let mut add = |container, kind, detail| {
        found.push(Finding { container, kind, dir: disk.name(), detail });
    };
    for (id, Seen { rows, outside, first }) in &all {
        if let Some(first) = first {
            add(*id, "outside", format!("{outside} of {rows} blocks, the first is {first}"));
        }
    }
    // A copy has rows before it is in its final location; a replica being deleted has some rows
    // after it.
    let mut moves = BTreeSet::new();
    for lies in [Lies::Arriving, Lies::SetAside] {
        moves.extend(disk.list(lies)?.into_iter().map(|(id, _)| id));
    }
    let gone = counted.iter().chain(all.keys());
    let gone = gone.filter(|id| !here.contains(id) && !moves.contains(id));
    for id in gone.collect::<BTreeSet<_>>() {
        let rows = all.get(id).map_or(0, |seen| seen.rows);
        add(*id, "without-files", format!("{rows} blocks have rows, but there is no directory"));
    }
    for id in here.iter().filter(|id| !counted.contains(id) && !all.contains_key(id)) {
        match bytes_in(&disk.place(*id).join("chunks")) {
            Ok(0) => {}
            Ok(bytes) => {
                let state = disk.field(*id, "state").ok().flatten().unwrap_or_default();
                add(*id, "without-rows", format!("it is {state}, its files have {bytes} bytes"));
            }
            Err(error) => add(*id, "unreadable", error.to_string()),
        }
    }
    Ok(())
}

/// Calls `visit` with all rows of a table whose keys start with a container.
fn each(
    disk: &Disk,
    table: &str,
    mut visit: impl FnMut(ContainerId, &[u8], &[u8]),
) -> Result<(), ShellError> {
    let mut cursor = disk.store.iter(table, IterRange::all().background(READAHEAD))?;
    cursor.first();
    cursor.for_each(|key, value| {
        if let Some((id, [b'|', rest @ ..])) = key.split_first_chunk::<8>() {
            visit(ContainerId(u64::from_be_bytes(*id)), rest, value);
        }
        true
    })?;
    Ok(())
}

/// The files of the current container.
#[derive(Default)]
struct Files(Option<Place>);

struct Place {
    id: ContainerId,
    chunks: std::path::PathBuf,
    is_live: bool,
    segments: BTreeMap<u32, io::Result<(File, u64)>>,
}

impl Files {
    fn of(&mut self, disk: &Disk, id: ContainerId) -> &mut Place {
        let same = self.0.take().filter(|place| place.id == id);
        self.0.insert(same.unwrap_or_else(|| {
            let state = disk.field(id, "state").ok().flatten();
            let is_live = matches!(state.as_deref(), Some("OPEN" | "CLOSING"));
            let chunks = disk.place(id).join("chunks");
            Place { id, chunks, is_live, segments: BTreeMap::new() }
        }))
    }
}

/// Returns the defect of a row that points outside its container's files; `None` if there is none.
fn outside(
    place: &mut Place,
    segments: &BTreeMap<(ContainerId, u32), SegmentInfo>,
    id: ContainerId,
    value: &[u8],
) -> Option<String> {
    let row = match Row::decode(value) {
        Ok(row) => row,
        Err(error) => return Some(format!("its row cannot be read: {error}")),
    };
    let local = LocalId(row.block_id.local_id.cast_unsigned());
    let Some(Packed { segment, offset, len }) = row.packed else {
        let wanted = u64::try_from(row.size.unwrap_or(0)).unwrap_or(0);
        let path = place.chunks.join(format!("{local}.block"));
        return match length(&path) {
            Ok(found) if found >= wanted => None,
            Ok(found) => Some(format!("{} has {found} bytes, not {wanted}", path.display())),
            Err(error) => Some(format!("{}: {error}", path.display())),
        };
    };
    let Some(info) = segments.get(&(id, segment)) else {
        return Some(format!("segment {segment} belongs to another container"));
    };
    let end = offset.saturating_add(record_len(len));
    if end > info.end {
        return Some(format!("segment {segment} ends at {}, before {end}", info.end));
    }
    if end > info.durable && place.is_live {
        // The log restores it.
        return None;
    }
    let chunks = place.chunks.clone();
    let open = || {
        let file = File::open(chunks.join(format!("{segment:08}.segment")))?;
        let length = file.metadata()?.len();
        Ok((file, length))
    };
    let (file, length) = match place.segments.entry(segment).or_insert_with(open) {
        Ok((file, length)) => (file, *length),
        Err(error) => return Some(format!("segment {segment}: {error}")),
    };
    if end > length {
        return Some(format!("the file of segment {segment} has {length} bytes, not {end}"));
    }
    let mut header = [0; RECORD_HEADER_LEN as usize];
    if let Err(error) = file.read_exact_at(&mut header, offset) {
        return Some(format!("segment {segment} at {offset}: {error}"));
    }
    match RecordHeader::decode(&header, id, offset) {
        Ok(record) if record.local == local && record.len == len => None,
        Ok(record) => Some(format!("block {} is in segment {segment} at {offset}", record.local)),
        Err(error) => Some(format!("segment {segment} at {offset}: {error}")),
    }
}

/// Length of a file; 0 if it does not exist.
fn length(path: &Path) -> io::Result<u64> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        file => Ok(file?.len()),
    }
}

/// Total size of the files of a directory.
fn bytes_in(dir: &Path) -> io::Result<u64> {
    let mut bytes = 0_u64;
    for entry in fs::read_dir(dir)? {
        bytes = bytes.saturating_add(entry?.metadata()?.len());
    }
    Ok(bytes)
}
