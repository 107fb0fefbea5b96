//! SCM's containers.
//!
//! Earlier releases deleted an erasure-coded container as never written if all of its nodes were
//! down while SCM started. Its record then has no size, so that only keys show the loss. Since then
//! a record states whether all replicas were seen to be empty.

use std::collections::HashMap;

use metastore::{IterRange, OfflineStore};
use prost::Message;
use proto::hdds::{ContainerInfoProto, LifeCycleState, ReplicationType};
use serde_json::json;

use super::findings::{Findings, Kind};
use super::rows::for_each;
use crate::ShellError;

const TABLE: &str = "containers";

/// The fields after Ozone's in a container's row (`scm::tables`).
#[derive(Clone, PartialEq, Message)]
struct EvidenceProto {
    /// All replicas were closed and empty before it was deleted.
    #[prost(bool, tag = "1002")]
    emptied: bool,
    /// Replica indexes whose replicas with blocks were ordered to be deleted since.
    #[prost(uint32, repeated, tag = "1003")]
    cleared: Vec<u32>,
}

/// State of each container that is DELETED or DELETING; `None` for others.
pub(super) struct Containers(HashMap<i64, Option<LifeCycleState>>);

/// State of a container in SCM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It exists.
    Kept,
    /// It is DELETED or DELETING.
    Deleted(LifeCycleState),
    /// SCM has no such container.
    Unknown,
}

impl Containers {
    /// Reads all containers, and reports those that were deleted although they were written.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub(super) fn read(store: &OfflineStore, findings: &mut Findings) -> Result<Self, ShellError> {
        let mut all = HashMap::new();
        let mut unproven = 0_u64;
        for_each(store, TABLE, IterRange::all(), |row, value| {
            let decoded = (ContainerInfoProto::decode(value), EvidenceProto::decode(value));
            let (info, evidence) = match decoded {
                (Ok(info), Ok(evidence)) => (info, evidence),
                (Err(error), _) | (_, Err(error)) => {
                    findings.damaged(TABLE, &hex(row), error);
                    return;
                }
            };
            let state = info.state();
            let gone = matches!(state, LifeCycleState::Deleting | LifeCycleState::Deleted);
            all.insert(info.container_id, gone.then_some(state));
            if !gone || info.replication_type() != ReplicationType::Ec || evidence.emptied {
                return;
            }
            if info.number_of_keys > 0 || info.used_bytes > 0 || !evidence.cleared.is_empty() {
                findings.add(
                    Kind::DeletedContainer,
                    json!({
                        "container": info.container_id,
                        "state": state.as_str_name(),
                        "keys": info.number_of_keys,
                        "bytes": info.used_bytes,
                        "cleared": evidence.cleared,
                    }),
                );
            } else {
                unproven = unproven.saturating_add(1);
            }
        })?;
        if unproven > 0 {
            findings.note(
                "unproven",
                format!(
                    "{unproven} erasure-coded containers were deleted by a release that did not record whether they \
                     were empty; keys in them are found with --om-db"
                ),
            );
        }
        Ok(Self(all))
    }

    /// Returns the state of a container in SCM.
    pub(super) fn standing(&self, id: i64) -> Standing {
        match self.0.get(&id) {
            None => Standing::Unknown,
            Some(None) => Standing::Kept,
            Some(Some(state)) => Standing::Deleted(*state),
        }
    }
}

/// A binary key as text.
fn hex(key: &[u8]) -> Vec<u8> {
    key.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect()
}
