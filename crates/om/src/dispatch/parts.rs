//! Parts that the dispatcher is made of.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use namespace::Settings;
use replicated::{Group, Handle};
use service::{Ages, AuditLog, Groups, RpcMetrics, StageMetrics};
use tokio::sync::watch;

use super::admission::Admission;
use crate::members::Members;
use crate::scm::{BlockPool, Locations, ScmClient};
use crate::state::compaction::OmCompactor;
use crate::state::{CurrentTables, OmStateMachine};

/// What the dispatcher is made of.
pub(crate) struct DispatcherParts {
    pub(crate) current: Arc<CurrentTables>,
    pub(crate) group: Group<OmStateMachine>,
    pub(crate) raft: Handle<OmStateMachine>,
    /// The entry behind which writes are refused, while OM is prepared for another version.
    pub(crate) prepared: watch::Receiver<Option<u64>>,
    pub(crate) scm: ScmClient,
    pub(crate) pool: Arc<BlockPool>,
    pub(crate) locations: Arc<Locations>,
    pub(crate) settings: Settings,
    pub(crate) local_reads: LocalReads,
    /// Bytes of updates in one answer.
    pub(crate) updates_bytes: usize,
    pub(crate) audit: AuditLog,
    pub(crate) audit_reads: bool,
    pub(crate) rpc: RpcMetrics,
    pub(crate) stages: StageMetrics,
    pub(crate) edge: telemetry::Edge,
    pub(crate) admission: Admission,
    pub(crate) facts: ServerFacts,
    pub(crate) compactor: Arc<OmCompactor>,
    /// How old entries of the log are.
    pub(crate) deletion_ages: Ages,
    /// How long blocks of deleted keys, and deleted snapshots, are kept for readers.
    pub(crate) keep_deleted: Duration,
    pub(crate) groups: Groups,
    /// The user that requests without one are taken to be from.
    pub(crate) default_user: String,
    /// The S3 key that stands for the user that OM runs as, where requests are judged by user.
    pub(crate) root_access_key: OnceLock<String>,
}

/// When an OM that does not lead may answer from what it has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LocalReads {
    /// At all.
    pub(crate) enabled: bool,
    /// Entries that it may lack.
    pub(crate) entries: u64,
    /// Milliseconds that it may be behind.
    pub(crate) millis: u64,
}

/// What this server tells of itself.
#[derive(Debug, Clone)]
pub(crate) struct ServerFacts {
    /// The OMs of the service.
    pub(crate) members: Members,
    /// Where this one is bound, which its configured address need not say.
    pub(crate) rpc_port: u16,
    /// Known once the status page is served.
    pub(crate) http_port: OnceLock<u16>,
    pub(crate) scm_host: String,
    pub(crate) scm_port: u16,
}
