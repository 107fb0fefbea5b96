//! Positions of tombstones in a table file, as written by the collector of `cpp/deletions.cc`.

/// Cumulative counts of a file up to a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sample {
    /// The key.
    pub key: Vec<u8>,
    /// Entries up to and including the key, with tombstones.
    pub entries: u64,
    /// Tombstones among them.
    pub deletions: u64,
    /// Keys whose newest entry of the file is a tombstone.
    pub deleted_keys: u64,
}

/// Parses a property; `None` if it is malformed.
pub(crate) fn parse(mut bytes: &[u8]) -> Option<Vec<Sample>> {
    let mut samples: Vec<Sample> = Vec::new();
    while !bytes.is_empty() {
        let length = usize::try_from(number(&mut bytes)?).ok()?;
        let (key, rest) = bytes.split_at_checked(length)?;
        bytes = rest;
        let sample = Sample {
            key: key.to_vec(),
            entries: number(&mut bytes)?,
            deletions: number(&mut bytes)?,
            deleted_keys: number(&mut bytes)?,
        };
        let grows = samples.last().is_none_or(|last| {
            last.key < sample.key
                && last.entries < sample.entries
                && last.deletions <= sample.deletions
                && last.deleted_keys <= sample.deleted_keys
        });
        if !grows || sample.deleted_keys > sample.deletions || sample.deletions > sample.entries {
            return None;
        }
        samples.push(sample);
    }
    Some(samples)
}

/// Parses a varint.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Entries, tombstones and deleted keys of `start..end` according to the samples: never less than
/// the actual numbers, and at most one sample more at either end.
pub(crate) fn within(samples: &[Sample], start: &[u8], end: Option<&[u8]>) -> Sample {
    // The last sample that lies completely before the range.
    let before = samples.partition_point(|sample| sample.key.as_slice() < start);
    let through = match end {
        None => samples.len(),
        // Including the sample in which the range ends.
        Some(end) => samples
            .partition_point(|sample| sample.key.as_slice() < end)
            .saturating_add(1)
            .min(samples.len()),
    };
    let at = |count: usize| {
        count.checked_sub(1).and_then(|i| samples.get(i)).cloned().unwrap_or_default()
    };
    let (low, high) = (at(before), at(through.max(before)));
    Sample {
        entries: high.entries.saturating_sub(low.entries),
        deletions: high.deletions.saturating_sub(low.deletions),
        deleted_keys: high.deleted_keys.saturating_sub(low.deleted_keys),
        key: high.key,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(key: &str, entries: u64, deletions: u64) -> Sample {
        Sample { key: key.into(), entries, deletions, deleted_keys: deletions }
    }

    #[test]
    fn a_part_of_a_file_counts_as_far_as_its_samples_tell() {
        let samples = [sample("c", 10, 0), sample("f", 20, 8), sample("k", 30, 9)];
        let of = |start: &str, end: Option<&str>| {
            let part = within(&samples, start.as_bytes(), end.map(str::as_bytes));
            (part.entries, part.deletions)
        };
        assert_eq!(of("", None), (30, 9));
        assert_eq!(of("", Some("a")), (10, 0), "somewhere in the first sample");
        assert_eq!(of("d", Some("e")), (10, 8));
        assert_eq!(of("c", Some("e")), (20, 8), "the key of a sample is in it");
        assert_eq!(of("g", None), (10, 1));
        assert_eq!(of("x", None), (0, 0));
    }

    #[test]
    fn what_is_no_list_of_samples_is_refused() {
        assert_eq!(parse(&[]), Some(Vec::new()));
        let good = [1, b'a', 0x85, 1, 3, 2];
        let expected = Sample { key: b"a".to_vec(), entries: 133, deletions: 3, deleted_keys: 2 };
        assert_eq!(parse(&good), Some(vec![expected]));
        assert_eq!(parse(&good[..5]), None);
        assert_eq!(parse(&[0xff; 12]), None, "no number");
        assert_eq!(parse(&[9, b'a']), None, "a key that is not there");
        assert_eq!(parse(&[1, b'a', 1, 2, 0]), None, "more tombstones than entries");
        assert_eq!(parse(&[1, b'b', 5, 0, 0, 1, b'a', 6, 0, 0]), None, "not in order");
    }
}
