//! Iteration over the rows of a table.

use metastore::{IterRange, OfflineStore};
use namespace::Table;
use prost::Message;

use super::findings::Findings;
use crate::ShellError;

/// Readahead of a scan, in bytes.
const READAHEAD: usize = 1 << 20;

/// Visits the rows of a table; none if an earlier release did not have the table.
///
/// # Errors
/// If the database cannot be read.
pub(super) fn for_each(
    store: &OfflineStore,
    table: &str,
    range: IterRange,
    mut visit: impl FnMut(&[u8], &[u8]),
) -> Result<(), ShellError> {
    if !store.tables().iter().any(|name| name == table) {
        return Ok(());
    }
    let mut rows = store.iter(table, range.background(READAHEAD))?;
    rows.first();
    while let Some((key, value)) = rows.row()? {
        visit(key, value);
        rows.next();
    }
    Ok(())
}

/// Visits rows decoded as messages. A malformed one is a finding.
///
/// # Errors
/// As [`for_each`].
pub(super) fn for_each_message<M: Message + Default>(
    store: &OfflineStore,
    table: Table,
    range: IterRange,
    findings: &mut Findings,
    mut visit: impl FnMut(&[u8], M, &mut Findings),
) -> Result<(), ShellError> {
    for_each(store, table.name(), range, |key, value| match M::decode(value) {
        Ok(message) => visit(key, message, findings),
        Err(error) => findings.damaged(table.name(), key, error),
    })
}

/// A row's key as text.
pub(super) fn shown(key: &[u8]) -> String {
    String::from_utf8_lossy(key).into_owned()
}
