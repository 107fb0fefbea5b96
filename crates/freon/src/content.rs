//! Content of generated keys: the same bytes in every key of a size, so that one digest verifies
//! all.

use bytes::Bytes;

/// Bytes kept in memory; longer keys repeat them.
const PATTERN: usize = 4 << 20;

/// The content of keys of one size.
#[derive(Clone)]
pub(crate) struct Content {
    pattern: Bytes,
    size: u64,
}

impl Content {
    /// The content of keys of `size` bytes. It does not compress.
    pub(crate) fn new(size: u64) -> Self {
        let len = PATTERN.min(size as usize);
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut pattern = Vec::with_capacity(len + 8);
        while pattern.len() < len {
            // splitmix64
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            pattern.extend_from_slice(&(z ^ (z >> 31)).to_le_bytes());
        }
        pattern.truncate(len);
        Self { pattern: pattern.into(), size }
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The content in pieces, without a copy.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = Bytes> + use<'_> {
        let mut left = self.size;
        std::iter::from_fn(move || {
            let piece = self.pattern.slice(..self.pattern.len().min(left as usize));
            left -= piece.len() as u64;
            (!piece.is_empty()).then_some(piece)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_add_up_to_the_size() {
        for size in [0, 1, 9, 10_240, PATTERN as u64, PATTERN as u64 * 2 + 5] {
            let content = Content::new(size);
            assert_eq!(content.pieces().map(|p| p.len() as u64).sum::<u64>(), size);
        }
    }

    #[test]
    fn the_same_size_has_the_same_content() {
        let (a, b) = (Content::new(5_000), Content::new(5_000));
        assert_eq!(a.pieces().next(), b.pieces().next());
    }
}
