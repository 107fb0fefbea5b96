//! The commands of a file system: files and directories by path. In a FILE_SYSTEM_OPTIMIZED
//! bucket they work on its tree ([`crate::fso`]), in a LEGACY one on keys, where a directory is a
//! key that ends with a slash ([`crate::legacy`]); an OBJECT_STORE bucket has none.

pub(crate) mod create;
pub(crate) mod create_directory;
pub(crate) mod list_status;
pub(crate) mod list_status_light;
pub(crate) mod lookup;
pub(crate) mod new_key;
pub(crate) mod status;
