//! Snapshots of buckets: the commands on them, reads of their contents, and the changes between
//! two. [`crate::state::layers`] describes their storage.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod diff;
pub(crate) mod find;
pub(crate) mod info;
pub(crate) mod list;
pub(crate) mod name;
pub(crate) mod path;
pub(crate) mod purge;
pub(crate) mod rename;

use crate::command::audit::AuditParams;

/// Audit entry of a request about a snapshot.
pub(crate) fn audit(
    volume: &Option<String>,
    bucket: &Option<String>,
    name: &Option<String>,
) -> AuditParams {
    let text = |name: &Option<String>| name.clone().unwrap_or_default();
    vec![("volume", text(volume)), ("bucket", text(bucket)), ("snapshotName", text(name))]
}
