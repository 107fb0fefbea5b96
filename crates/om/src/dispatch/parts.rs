//! Components of the dispatcher.

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

/// Components of the dispatcher.
pub(crate) struct DispatcherParts {
    pub(crate) current: Arc<CurrentTables>,
    pub(crate) group: Group<OmStateMachine>,
    pub(crate) raft: Handle<OmStateMachine>,
    /// Log index after which writes are refused, while OM is prepared for another version.
    pub(crate) prepared: watch::Receiver<Option<u64>>,
    pub(crate) scm: ScmClient,
    pub(crate) pool: Arc<BlockPool>,
    pub(crate) locations: Arc<Locations>,
    pub(crate) settings: Settings,
    pub(crate) local_reads: LocalReads,
    /// Maximum size of the updates in one response, in bytes.
    pub(crate) updates_bytes: usize,
    pub(crate) audit: AuditLog,
    pub(crate) audit_reads: bool,
    pub(crate) rpc: RpcMetrics,
    pub(crate) stages: StageMetrics,
    pub(crate) edge: telemetry::Edge,
    pub(crate) admission: Admission,
    pub(crate) facts: ServerFacts,
    pub(crate) compactor: Arc<OmCompactor>,
    /// Ages of entries of the deletion log.
    pub(crate) deletion_ages: Ages,
    /// Time for which blocks of deleted keys, and deleted snapshots, are kept for readers.
    pub(crate) keep_deleted: Duration,
    pub(crate) groups: Groups,
    /// User of requests that contain none.
    pub(crate) default_user: String,
    /// S3 access key of the user that OM runs as, if requests are authorized by user.
    pub(crate) root_access_key: OnceLock<String>,
}

/// Bounds within which a follower answers reads from its own tables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LocalReads {
    /// True if followers answer such reads.
    pub(crate) enabled: bool,
    /// Maximum lag in log entries.
    pub(crate) entries: u64,
    /// Maximum lag in milliseconds.
    pub(crate) millis: u64,
}

/// Facts about this server for responses and status pages.
#[derive(Debug, Clone)]
pub(crate) struct ServerFacts {
    /// The OMs of the service.
    pub(crate) members: Members,
    /// Bound port, which the configured address may lack.
    pub(crate) rpc_port: u16,
    /// Port of the status page; set once that is served.
    pub(crate) http_port: OnceLock<u16>,
    pub(crate) scm_host: String,
    pub(crate) scm_port: u16,
}
