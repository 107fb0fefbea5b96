//! Starting a pipeline's group, and its supervisor.

use std::sync::Arc;

use multiraft::{GroupConfig, GroupHealth, Peer, RestartPolicy, StateMachine, TrimOptions};
use tokio::sync::watch;
use types::PipelineId;

use super::{KEEP, PipelineError, Pipelines, TRIM_BYTES};
use crate::pending_reports::PendingReports;
use crate::pipeline::Pipeline;
use crate::pipeline::machine::Machine;
use crate::pipeline::payload::Payloads;
use containerstore::Disk;

impl Pipelines {
    pub(super) fn start(
        &self,
        id: PipelineId,
        peers: Vec<Peer>,
        disk: Arc<Disk>,
    ) -> Result<Pipeline, PipelineError> {
        let parts = &self.inner.parts;
        let log =
            parts.logs.get(disk.id()).ok_or_else(|| PipelineError::NoLog(disk.id().to_owned()))?;
        let store = parts.store.open_pipeline(id, &disk)?;
        let payloads = Payloads::new(
            parts.store.clone(),
            store.clone(),
            disk.clone(),
            parts.small,
            parts.sync_chunks,
            parts.pending_reports.clone(),
            parts.host.clone(),
        );
        let mut config = GroupConfig::new(id.0, parts.me, peers.clone(), log.clone())
            .with_payloads(Arc::new(payloads.clone()))
            // Pipelines read no index, so nothing is lost, and a restarted one elects at once.
            .without_leases()
            // Waiting for all would keep a pipeline from its first leader for as long as one link
            // is cut. SCM does not order a member that lost the pipeline to create it again, once
            // clients use it.
            .begun_by_majority();
        let (entries, keep) = (parts.trim_entries, parts.trim_entries.min(KEEP));
        config.trim = TrimOptions { entries, keep, bytes: TRIM_BYTES };
        let machine = Machine {
            store: store.clone(),
            containers: parts.store.clone(),
            disk: disk.clone(),
            payloads: payloads.clone(),
            runtime: tokio::runtime::Handle::current(),
            pending_reports: parts.pending_reports.clone(),
            pace: parts.pace.clone(),
            from: store.resume()?,
        };
        let group = parts.host.start_group(config, Box::new(machine.clone()))?;
        // Applied entries are in memory, too: a group that is started again continues after them.
        let again = move || {
            let from = machine.store.resume()?;
            Ok(Box::new(Machine { from, ..machine.clone() }) as Box<dyn StateMachine>)
        };
        let supervisor = parts.host.supervise(&group, RestartPolicy::default(), again);
        report_failures(id, supervisor.changes(), parts.pending_reports.clone());
        let buffered = Default::default();
        Ok(Pipeline { id, group, supervisor, store, disk, peers, buffered, payloads })
    }
}

/// Reports a pipeline whose group has failed permanently to SCM, so that SCM replaces it. One that
/// is started again only appears in its next report.
fn report_failures(
    id: PipelineId,
    mut changes: watch::Receiver<GroupHealth>,
    pending_reports: Arc<PendingReports>,
) {
    tokio::spawn(async move {
        while changes.changed().await.is_ok() {
            let health = changes.borrow_and_update().clone();
            match health {
                GroupHealth::Failed(failure) => {
                    pending_reports.pipeline_failed(id, failure.to_string())
                }
                GroupHealth::Works | GroupHealth::Restarting { .. } => {
                    pending_reports.pipeline_changed(id)
                }
            }
        }
    });
}
