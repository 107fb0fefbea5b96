//! Directories of LEGACY buckets: keys that end with a slash. A path is a directory, too, when
//! only keys below it are there.

mod directory;
mod list_status;
mod status;

pub(crate) use directory::{Parents, create_directory};
pub(crate) use list_status::list_status;
pub(crate) use status::status;
