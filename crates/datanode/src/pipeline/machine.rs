//! State machine of a pipeline's Raft group: one round of entries becomes one batch of the disk's
//! store, applied position included.

use std::sync::Arc;

use bytes::Bytes;
use multiraft::{Committed, LogPosition, MachineError, SnapshotSource, StateMachine};
use prost::Message;
use proto::datanode::{ContainerCommandRequestProto, Type};
use tokio::runtime::Handle;
use types::PipelineId;
use uuid::Uuid;

use crate::command::{Failure, registry};
use crate::pending_reports::PendingReports;
use crate::repair::pace::RepairPace;
use containerstore::{ApplyBatch, ContainerStore, Disk, PipelineStore, Position};

use super::catch_up::CatchUp;
use super::payload::Payloads;
use super::snapshot::{self, SNAPSHOTS, SnapshotError};

/// The state machine of one pipeline.
#[derive(Clone)]
pub(crate) struct Machine {
    /// Its part of the disk.
    pub store: PipelineStore,
    /// All containers.
    pub containers: ContainerStore,
    /// Its disk.
    pub disk: Arc<Disk>,
    /// Gets chunks from other members.
    pub payloads: Payloads,
    /// Carries the fetches.
    pub runtime: Handle,
    /// Receives events for SCM.
    pub pending_reports: Arc<PendingReports>,
    /// Receives the load of clients' changes.
    pub pace: Arc<RepairPace>,
    /// Replay begins after this position.
    pub from: Position,
}

impl Machine {
    fn id(&self) -> PipelineId {
        self.store.id()
    }

    /// Reports to SCM that this replica of the pipeline failed permanently, and stops it.
    fn fail(
        &self,
        what: &str,
        error: impl std::error::Error + Send + Sync + 'static,
    ) -> MachineError {
        tracing::error!(pipeline = %self.id(), %error, "{what} failed; the pipeline stops here");
        self.pending_reports.pipeline_failed(self.id(), format!("{what}: {error}"));
        Box::new(error)
    }
}

impl StateMachine for Machine {
    fn applied(&self) -> LogPosition {
        to_log(self.from)
    }

    fn known_committed(&self) -> LogPosition {
        to_log(self.store.seen())
    }

    fn apply(&mut self, entries: &mut [Committed]) -> Result<Vec<Bytes>, MachineError> {
        self.pace.clients.note(entries.len());
        let mut batch = self.store.begin();
        let responses =
            entries.iter().map(|entry| apply_one(&mut batch, entry)).collect::<Result<_, _>>();
        let responses = responses.map_err(|failure| self.fail("applying an entry", failure))?;
        batch.commit().map_err(|error| self.fail("applying a round", error))?;
        self.pending_reports.detect_changes();
        Ok(responses)
    }

    fn flush(&mut self) -> Result<LogPosition, MachineError> {
        let flushed = self.store.flush().map_err(|error| self.fail("flushing", error))?;
        Ok(to_log(flushed))
    }

    fn snapshot(&mut self) -> Result<SnapshotSource, MachineError> {
        let parent = self.disk.path().join(SNAPSHOTS);
        snapshot::create(&self.containers, &self.store, &parent)
            .map(SnapshotSource::Dir)
            .map_err(|error| self.fail("listing the blocks for a snapshot", error))
    }

    /// A replica that cannot complete its containers gives them up, and SCM replaces the pipeline.
    fn restore(&mut self, source: SnapshotSource, at: LogPosition) -> Result<(), MachineError> {
        let at = Position { term: at.term, index: at.index };
        let catch_up = CatchUp {
            store: &self.containers,
            pipeline: &self.store,
            payloads: &self.payloads,
            runtime: &self.runtime,
            at,
        };
        tracing::info!(pipeline = %self.id(), index = at.index, "catching up with a snapshot");
        let done = match &source {
            SnapshotSource::Dir(dir) => catch_up.run(dir),
            SnapshotSource::Bytes(_) => Err(SnapshotError::Malformed("it has no file".to_owned())),
        };
        match done {
            Ok(blocks) => {
                tracing::info!(pipeline = %self.id(), blocks, "caught up with a snapshot");
            }
            Err(error) => {
                tracing::error!(pipeline = %self.id(), %error, "cannot catch up; giving its open containers up");
                self.store.restore(at).map_err(|error| self.fail("restoring", error))?;
                self.pending_reports
                    .pipeline_failed(self.id(), format!("replica cannot catch up: {error}"));
            }
        }
        self.pending_reports.detect_changes();
        Ok(())
    }

    fn leader_changed(&mut self, leader: Option<Uuid>, term: u64, is_me: bool) {
        tracing::debug!(pipeline = %self.id(), ?leader, term, is_me, "leader changed");
        self.pending_reports.pipeline_changed(self.id());
    }
}

fn to_log(position: Position) -> LogPosition {
    LogPosition { term: position.term, index: position.index }
}

/// Puts one entry into the batch; its response is encoded. A failed command is a response too.
///
/// # Errors
/// If it failed because of this disk: the others apply it, and a replica that continued without it
/// would count as equal to theirs.
fn apply_one(batch: &mut ApplyBatch<'_>, entry: &Committed) -> Result<Bytes, Failure> {
    let at = Position { term: entry.term, index: entry.index };
    let response = match ContainerCommandRequestProto::decode(entry.header.clone()) {
        Ok(request) => match registry::apply(kind(&request), batch, at, &request, &entry.payload) {
            Ok(response) => response,
            Err(failure) if failure.is_of_the_disk() => return Err(failure),
            Err(failure) => failure.response(&request),
        },
        Err(error) => Failure::malformed(error.to_string()).response(&Default::default()),
    };
    batch.advance(at);
    Ok(response.encode_to_vec().into())
}

fn kind(request: &ContainerCommandRequestProto) -> Option<Type> {
    Type::try_from(request.cmd_type).ok()
}
