//! Extents of a replica's block in memory.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

/// Verified bytes of one replica, by their offsets in its block.
#[derive(Debug, Default)]
pub(super) struct Extents {
    /// In the order of their offsets; they may overlap.
    parts: Vec<(u64, Bytes)>,
}

impl Extents {
    pub(super) fn insert(&mut self, start: u64, bytes: Bytes) {
        if !bytes.is_empty() {
            let at = self.parts.partition_point(|(other, _)| *other <= start);
            self.parts.insert(at, (start, bytes));
        }
    }

    /// The parts of `range` that are missing.
    pub(super) fn missing(&self, range: Range<u64>) -> Vec<Range<u64>> {
        missing(range, self.parts.iter().map(|(start, bytes)| *start..end(*start, bytes)))
    }

    /// Returns `true` if all of `range` is present.
    pub(super) fn cover(&self, range: Range<u64>) -> bool {
        self.missing(range).is_empty()
    }

    /// The bytes of `range`, copied only if they are in several pieces; `None` if some are missing.
    pub(super) fn get(&self, range: Range<u64>) -> Option<Bytes> {
        if range.is_empty() {
            return Some(Bytes::new());
        }
        let mut at = range.start;
        let mut all = BytesMut::new();
        for (start, bytes) in &self.parts {
            if *start > at || end(*start, bytes) <= at {
                continue;
            }
            let part = bytes.slice((at - start) as usize..);
            let part = part.slice(..part.len().min((range.end - at) as usize));
            at += part.len() as u64;
            if part.len() as u64 == range.end - range.start {
                return Some(part);
            }
            all.extend_from_slice(&part);
            if at == range.end {
                return Some(all.freeze());
            }
        }
        None
    }
}

fn end(start: u64, bytes: &Bytes) -> u64 {
    start.saturating_add(bytes.len() as u64)
}

/// The parts of `range` that are in none of `there`, which is ordered by start.
pub(super) fn missing(
    range: Range<u64>,
    there: impl IntoIterator<Item = Range<u64>>,
) -> Vec<Range<u64>> {
    let mut missing = Vec::new();
    let mut at = range.start;
    for part in there {
        if at >= range.end {
            break;
        }
        if part.start > at {
            missing.push(at..part.start.min(range.end));
        }
        at = at.max(part.end);
    }
    if at < range.end {
        missing.push(at..range.end);
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_given_and_what_is_not_is_named() {
        let whole: Bytes = (0..100u8).collect::<Vec<_>>().into();
        let mut extents = Extents::default();
        for (from, to) in [(50, 60), (10, 30), (20, 40), (60, 61), (10, 12)] {
            extents.insert(from as u64, whole.slice(from..to));
        }
        let there = |at: usize| (10..40).contains(&at) || (50..61).contains(&at);
        for start in 0..100usize {
            for stop in start..100 {
                let range = start as u64..stop as u64;
                let missing = extents.missing(range.clone());
                let named: Vec<u64> = missing.iter().cloned().flatten().collect();
                let expected: Vec<u64> =
                    (start..stop).filter(|at| !there(*at)).map(|at| at as u64).collect();
                assert_eq!(named, expected, "{range:?}");
                let got = extents.get(range.clone());
                match expected.is_empty() {
                    true => assert_eq!(got.unwrap(), whole.slice(start..stop), "{range:?}"),
                    false => assert!(got.is_none(), "{range:?}"),
                }
            }
        }
    }
}
