//! Blocks that were deleted before this replica had them.
//!
//! A replica that lags comes to a PutBlock whose block is deleted already: by an order of SCM that
//! was here first, or everywhere else, so that none has the bytes any more. What it knows of that
//! is noted durably before the entry is confirmed, so that applying the log depends on nothing but
//! the log and this disk.

use types::LocalId;

use super::Container;

/// What of a block's entries leaves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Early {
    /// Everything: SCM had it deleted here.
    All,
    /// The entry with this index: the other replicas have applied it and have the block no more.
    /// Should the entry be replaced by another leader's, what comes later may be a block that is
    /// there.
    Entry(u64),
}

impl Early {
    /// Whether an entry leaves nothing.
    pub fn covers(self, index: u64) -> bool {
        match self {
            Self::All => true,
            Self::Entry(one) => one == index,
        }
    }

    /// As a row's value: nothing, or the index, eight bytes, big endian.
    pub fn encode(self) -> Vec<u8> {
        match self {
            Self::All => Vec::new(),
            Self::Entry(index) => index.to_be_bytes().to_vec(),
        }
    }

    /// Of a row's value; `None` when it is none.
    pub fn decode(value: &[u8]) -> Option<Self> {
        match value {
            [] => Some(Self::All),
            index => Some(Self::Entry(u64::from_be_bytes(index.try_into().ok()?))),
        }
    }
}

impl Container {
    /// What is known of a block that was deleted before it came.
    pub(crate) fn deleted_early(&self, local: LocalId) -> Option<Early> {
        self.meta.lock().deleted_early.get(&local).copied()
    }

    /// Notes it in memory; the row is the caller's.
    pub(crate) fn note_deleted_early(
        &self,
        locals: impl IntoIterator<Item = LocalId>,
        early: Early,
    ) {
        let noted = locals.into_iter().map(|local| (local, early));
        self.meta.lock().deleted_early.extend(noted);
    }

    /// Forgets it in memory; the rows are the caller's.
    pub(crate) fn forget_deleted_early(&self, locals: &[LocalId]) {
        let known = &mut self.meta.lock().deleted_early;
        locals.iter().for_each(|local| _ = known.remove(local));
    }
}
