//! The commands of a file system: files and directories by path. In a FILE_SYSTEM_OPTIMIZED
//! bucket they work on its tree ([`crate::state::tree`]), in a LEGACY one on keys, where a
//! directory is a key that ends with a slash (`legacy`); an OBJECT_STORE bucket has none.

pub(crate) mod create;
pub(crate) mod create_directory;
mod legacy;
pub(crate) mod list_status;
pub(crate) mod list_status_light;
mod list_tree;
pub(crate) mod lookup;
pub(crate) mod status;
