//! What commands do in the tree of a FILE_SYSTEM_OPTIMIZED bucket ([`crate::state::tree`]), and how
//! its keys are listed.

pub(crate) mod delete;
pub(crate) mod list_keys;
pub(crate) mod orphan;
pub(crate) mod purge;
pub(crate) mod rename;
