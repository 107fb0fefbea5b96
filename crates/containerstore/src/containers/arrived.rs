//! The mark of a container that came from another node.

use std::fs::File;

use super::Container;
use crate::error::{Result, StorageError};

/// Name of the file that marks a container from another node, next to the marker; it stays.
pub(crate) const ARRIVED: &str = "arrived";

impl Container {
    /// Returns `true` if it came from another node, or its origin is unknown: then its state proves
    /// nothing about its pipeline's log.
    pub fn has_arrived(&self) -> bool {
        self.path().join("metadata").join(ARRIVED).try_exists().unwrap_or(true)
    }

    /// Marks it as one from another node: its data does not come from its pipeline's log alone.
    /// Blocks.
    pub(crate) fn note_arrived(&self) -> Result<()> {
        let metadata = self.path().join("metadata");
        let path = metadata.join(ARRIVED);
        let file = File::create(&path).map_err(|e| StorageError::file(&path, e))?;
        self.disk().sync_file(&file, &path)?;
        self.disk().sync_names(&metadata)
    }
}
