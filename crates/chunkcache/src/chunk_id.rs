//! Ids of chunks.

/// A block: its container and its number in the container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockKey {
    /// The container.
    pub container: u64,
    /// The block's local id.
    pub local: u64,
}

/// A block's first chunk, identified by its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChunkId {
    /// The block.
    pub block: BlockKey,
    /// Hash of the checksums in the block's row.
    pub content: u64,
    /// Bytes.
    pub len: u32,
}

impl ChunkId {
    /// The name of its file.
    pub(crate) fn file_name(&self) -> String {
        let Self { block: BlockKey { container, local }, content, len } = self;
        format!("{container:x}-{local:x}-{content:016x}-{len:x}")
    }

    /// Parses a file name; `None` if it is not that of a chunk.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let mut parts = name.split('-').map(|part| u64::from_str_radix(part, 16).ok());
        let mut next = || parts.next().flatten();
        let block = BlockKey { container: next()?, local: next()? };
        let (content, len) = (next()?, u32::try_from(next()?).ok()?);
        let id = Self { block, content, len };
        // Rejects other spellings of the same numbers.
        (id.file_name() == name).then_some(id)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_name_is_read_as_what_it_was_made_of(
            (container, local, content, len) in any::<(u64, u64, u64, u32)>(),
        ) {
            let id = ChunkId { block: BlockKey { container, local }, content, len };
            prop_assert_eq!(ChunkId::parse(&id.file_name()), Some(id));
        }

        #[test]
        fn other_names_are_refused(name in "[0-9a-f+-]{0,12}-[0-9a-f+-]{0,40}") {
            if let Some(id) = ChunkId::parse(&name) {
                prop_assert_eq!(id.file_name(), name);
            }
        }
    }
}
