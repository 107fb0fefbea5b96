//! The tree of a FILE_SYSTEM_OPTIMIZED bucket: directories are rows of the directoryTable, files
//! of the fileTable, each under its parent's object id and its own name. So a directory is renamed
//! or deleted with all that is in it by changing one row, and a path is resolved name by name.
//!
//! [`Tree`] knows the rows, [`lookup`](lookup::lookup) goes down a path, [`find`](find::find) tells
//! what is at its end. Invariant: a name within a directory is a file or a directory, never both.

pub(crate) mod child;
pub(crate) mod delete;
pub(crate) mod directory;
pub(crate) mod find;
pub(crate) mod list_keys;
pub(crate) mod list_status;
pub(crate) mod lookup;
pub(crate) mod parents;
pub(crate) mod path;
pub(crate) mod purge;
pub(crate) mod rename;
mod tree;

pub(crate) use tree::Tree;
