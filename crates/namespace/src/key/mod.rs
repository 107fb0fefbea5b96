//! Keys of OBS and LEGACY buckets: rows of the keyTable, and of the openKeyTable while they are
//! being written. `create.rs` and `commit.rs` are the life of a key; overwritten, deleted and
//! uncommitted data moves through `key_row/garbage.rs` into the deletedTable.

pub(crate) mod allocate_block;
pub(crate) mod basic;
pub(crate) mod commit;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod delete_keys;
pub(crate) mod delete_open;
pub(crate) mod get_info;
pub(crate) mod lease;
pub(crate) mod list;
pub(crate) mod list_light;
pub(crate) mod list_open;
pub(crate) mod lookup;
mod page_bytes;
pub(crate) mod purge;
pub(crate) mod rename;
pub(crate) mod rename_keys;
pub(crate) mod row_bytes;
pub(crate) mod set_times;
