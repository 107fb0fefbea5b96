//! Files next to a replica's `.container` file that determine which of two replicas is served.
//!
//! Each relocation has a number of its own. It is written next to the replica that is copied
//! ([`LEAVING`]) before the copy is published with the same number next to it ([`CAME`]). If a
//! start finds both, the first one has been replaced. A copy that could not be published for
//! certain is disowned by a third file ([`STAYED`]) next to the replica.

use std::fs::{self, File};
use std::io::{self, Write};

use crate::containers::Container;
use crate::error::{Result, StorageError};

/// Next to a replica that is copied to another disk.
pub(super) const LEAVING: &str = "leaving";
/// Next to a replica that is such a copy.
pub(super) const CAME: &str = "came";
/// Next to a replica that was not replaced after all.
pub(super) const STAYED: &str = "stayed";

/// Returns `true` if `copy` was published in place of `replica`.
pub(crate) fn has_left(replica: &Container, copy: &Container) -> bool {
    is_same(read(replica, LEAVING), read(copy, CAME)) && !stayed(replica, copy)
}

/// Returns `true` if `replica` was not replaced by `copy` after all.
pub(crate) fn stayed(replica: &Container, copy: &Container) -> bool {
    is_same(read(replica, STAYED), read(copy, CAME))
}

fn is_same(a: Option<String>, b: Option<String>) -> bool {
    a.is_some() && a == b
}

fn read(container: &Container, name: &str) -> Option<String> {
    let text = fs::read_to_string(container.path().join("metadata").join(name)).ok()?;
    (!text.is_empty()).then_some(text)
}

/// Writes a mark of a replica that is in its place, durably. Blocks.
pub(super) fn write(container: &Container, name: &str, text: &str) -> Result<()> {
    let metadata = container.path().join("metadata");
    let (path, new) = (metadata.join(name), metadata.join(format!("{name}.new")));
    let fail = |error: io::Error| StorageError::file(&path, error);
    let mut file = File::create(&new).map_err(fail)?;
    file.write_all(text.as_bytes()).map_err(fail)?;
    container.disk().sync_file(&file, &new)?;
    fs::rename(&new, &path).map_err(fail)?;
    container.disk().sync_names(&metadata)
}
