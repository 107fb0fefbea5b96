//! `o3 debug ldb list_column_families`.

use metastore::OfflineStore;

use crate::{ShellError, output};

/// Runs the command.
pub(super) fn run(store: &OfflineStore) -> Result<(), ShellError> {
    store.tables().iter().try_for_each(output::line)
}
