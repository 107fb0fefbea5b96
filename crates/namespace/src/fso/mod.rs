//! Commands in the tree of a FILE_SYSTEM_OPTIMIZED bucket ([`crate::state::tree`]), and the listing
//! of its keys.

pub(crate) mod delete;
pub(crate) mod list_keys;
pub(crate) mod orphan;
pub(crate) mod purge;
pub(crate) mod rename;
