//! Contents that include their key and version: no two are equal, and a part of one is not accepted
//! as a whole.

use bytes::{Bytes, BytesMut};

use crate::history::Seen;

/// Key, version and length, 8 bytes each.
const HEADER: usize = 24;

fn mix(mut z: u64) -> u64 {
    // splitmix64
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn seed(key: u64, version: u64) -> u64 {
    mix(mix(key) ^ version)
}

/// The content of a version of a key, with one of these sizes; deterministic.
pub(crate) fn write(key: u64, version: u64, sizes: &[u64]) -> Bytes {
    let seed = seed(key, version);
    let size = sizes.get((seed % sizes.len().max(1) as u64) as usize).copied().unwrap_or(0);
    let size = (size as usize).max(HEADER);
    let mut content = BytesMut::with_capacity(size + 8);
    for word in [key, version, size as u64] {
        content.extend_from_slice(&word.to_le_bytes());
    }
    let mut at = seed;
    while content.len() < size {
        at = at.wrapping_add(1);
        content.extend_from_slice(&mix(at).to_le_bytes());
    }
    content.truncate(size);
    content.freeze()
}

/// The version of a key with this content.
pub(crate) fn read(key: u64, content: &[u8], sizes: &[u64]) -> Seen {
    let word = |i: usize| {
        content.get(i * 8..i * 8 + 8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes)
    };
    match (word(0), word(1)) {
        (Some(of), Some(version)) if of == key && write(key, version, sizes) == content => {
            Seen::Version(version)
        }
        _ => Seen::Torn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [u64; 3] = [10, 4_000, 300_001];

    #[test]
    fn a_content_is_read_as_what_was_written_and_all_sizes_occur() {
        let mut sizes = std::collections::BTreeSet::new();
        for version in 1..50 {
            let content = write(7, version, &SIZES);
            assert_eq!(read(7, &content, &SIZES), Seen::Version(version));
            sizes.insert(content.len());
        }
        assert_eq!(sizes.into_iter().collect::<Vec<_>>(), [HEADER, 4_000, 300_001]);
    }

    #[test]
    fn parts_mixtures_and_other_keys_are_torn() {
        let long = |v: &u64| write(1, *v, &SIZES).len() == 300_001;
        let versions: Vec<u64> = (1..100).filter(long).take(2).collect();
        let (a, b) = (write(1, versions[0], &SIZES), write(1, versions[1], &SIZES));
        assert_eq!(read(1, &a[..200_000], &SIZES), Seen::Torn);
        let mixed = [&a[..200_000], &b[200_000..]].concat();
        assert_eq!(read(1, &mixed, &SIZES), Seen::Torn);
        assert_eq!(read(2, &a, &SIZES), Seen::Torn);
        assert_eq!(read(1, &[], &SIZES), Seen::Torn);
    }
}
