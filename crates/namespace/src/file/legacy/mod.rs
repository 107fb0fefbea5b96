//! Directories of LEGACY buckets as the file system's commands show them: keys that end with a
//! slash. A path is a directory, too, when only keys below it are there.

mod list_status;
mod status;

pub(crate) use list_status::list_status;
pub(crate) use status::status;
