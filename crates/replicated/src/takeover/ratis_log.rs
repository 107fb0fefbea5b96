//! Segments of a Ratis log, as far as needed to find its last command.
//!
//! A segment (`log_inprogress_N`, `log_A-B`) begins with `RaftLog1`. Each entry is a varint with
//! its length, a LogEntryProto, and a checksum of four bytes; an open segment ends in zeros. Of a
//! LogEntryProto, field 2 is the index, and field 3 is set for a command.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use prost::Message;

const HEADER: &[u8; 8] = b"RaftLog1";
/// Longer than any entry that Ratis accepts.
const MOST_ENTRY_BYTES: u64 = 256 << 20;

/// The relevant parts of an entry. The command is not kept.
#[derive(Clone, PartialEq, Message)]
struct LogEntry {
    #[prost(uint64, tag = "1")]
    term: u64,
    #[prost(uint64, tag = "2")]
    index: u64,
    #[prost(bytes = "bytes", optional, tag = "3")]
    command: Option<bytes::Bytes>,
}

/// The index of the last command of a log; `None` if it has none.
///
/// # Errors
/// If a segment is unreadable or malformed.
pub(super) fn last_command(dir: &Path) -> io::Result<Option<u64>> {
    let mut last = None;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with("log_") {
            continue;
        }
        let found = last_of(&mut BufReader::new(File::open(entry.path())?))?;
        last = last.max(found);
    }
    Ok(last)
}

fn last_of(segment: &mut impl Read) -> io::Result<Option<u64>> {
    let mut header = [0; 8];
    match segment.read_exact(&mut header) {
        // Created, but still empty.
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    if &header != HEADER {
        return Err(io::Error::other("not a segment of a Ratis log"));
    }
    let mut last = None;
    while let Some(length) = varint(segment)? {
        if length > MOST_ENTRY_BYTES {
            break;
        }
        // Memory for actual bytes, not for the declared length.
        let mut entry = Vec::new();
        if segment.by_ref().take(length).read_to_end(&mut entry)? as u64 != length {
            // Torn: Ratis truncates it, too.
            break;
        }
        let Ok(entry) = LogEntry::decode(entry.as_slice()) else { break };
        let mut checksum = [0; 4];
        if segment.read_exact(&mut checksum).is_err() {
            break;
        }
        if entry.command.is_some() {
            last = last.max(Some(entry.index));
        }
    }
    Ok(last)
}

/// Reads a length; `None` at the end, or where zeros begin.
fn varint(from: &mut impl Read) -> io::Result<Option<u64>> {
    let mut value = 0_u64;
    for shift in (0..63).step_by(7) {
        let mut byte = [0];
        if from.read(&mut byte)? == 0 {
            return Ok(None);
        }
        value |= u64::from(byte[0] & 0x7f) << shift;
        if byte[0] & 0x80 == 0 {
            return Ok(Some(value).filter(|value| *value > 0));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(entries: &[(u64, bool)]) -> Vec<u8> {
        let mut bytes = HEADER.to_vec();
        for (index, is_command) in entries {
            let command = is_command.then(|| bytes::Bytes::from_static(&[7; 200]));
            let entry = LogEntry { term: 1, index: *index, command };
            bytes.extend(entry.encode_length_delimited_to_vec());
            bytes.extend([1, 2, 3, 4]);
        }
        bytes
    }

    #[test]
    fn the_last_command_counts() {
        let read = |bytes: &[u8]| last_of(&mut &bytes[..]).ok().flatten();
        let whole = segment(&[(0, false), (1, true), (2, true), (3, false)]);
        assert_eq!(read(&whole), Some(2));
        assert_eq!(read(&[&whole[..], &[0; 100]].concat()), Some(2), "an open segment");
        assert_eq!(read(&segment(&[(0, false)])), None);
        assert_eq!(read(HEADER), None);
        assert_eq!(read(b""), None);
        let torn = segment(&[(1, true), (2, true)]);
        assert_eq!(read(&torn[..torn.len() - 5]), Some(1));
        assert!(last_of(&mut &b"something else"[..]).is_err());
        let absurd = [HEADER.as_slice(), &[0xff; 12]].concat();
        assert_eq!(read(&absurd), None);
    }
}
