//! Tombstones of table files, as the files state them in a property of their own.

mod collector;
mod samples;

use std::collections::HashMap;
use std::sync::Arc;

pub(crate) use collector::{FileProperties, collect_deletions, properties};
pub use samples::Sample;
pub(crate) use samples::within;

/// Properties of files, by table and name.
pub(crate) type PropertiesByTable = HashMap<&'static str, HashMap<String, Arc<FileProperties>>>;
