//! Closing pipelines permanently, and stopping those of a disk that has failed.

use std::sync::Arc;

use container::ContainerState;
use types::PipelineId;

use super::{PipelineError, Pipelines};
use crate::pipeline::Pipeline;
use crate::pipeline::before_close::{
    Current, Decision, is_decided, wait_for_decision, wait_for_members, wait_for_replay,
};
use containerstore::Disk;

impl Pipelines {
    /// Closes a pipeline permanently: its containers take no more writes, its log is erased. A
    /// pipeline that is not here is closed. Waits until the members have decided the entries of
    /// their logs, or have been away for the decision timeout and count as lost: entries that only
    /// they have are lost with them.
    ///
    /// # Errors
    /// When its disk or its group fails, replay does not end, or entries of its log are undecided:
    /// the pipeline stays, and SCM repeats the order.
    pub async fn close(&self, id: PipelineId) -> Result<(), PipelineError> {
        let parts = &self.inner.parts;
        let current = || match self.get(id) {
            None if self.is_moving(id) => Current::Moves,
            // It may have moved between these two looks.
            found => match found.or_else(|| self.get(id)) {
                Some(pipeline) if self.failure(&pipeline.disk).is_none() => Current::Runs(pipeline),
                _ => Current::Gone,
            },
        };
        let (timeout, censuses) = (parts.decision_timeout, &self.inner.censuses);
        let decision = wait_for_decision(parts.me, current, timeout, censuses).await;
        let _lock = self.inner.locks.lock(id).await;
        let Some(pipeline) = self.get(id) else { return Ok(()) };
        if !wait_for_replay(&pipeline).await {
            return Err(PipelineError::Replaying(id));
        }
        let Some((_, pipeline)) = self.inner.running.remove(&id) else { return Ok(()) };
        tracing::info!(pipeline = %id, "closing a pipeline");
        wait_for_members(&pipeline).await;
        if decision == Decision::Made && !is_decided(&pipeline).await {
            // Clients found another way to write.
            self.run(pipeline);
            return Err(PipelineError::Undecided(id));
        }
        pipeline.supervisor.end().await;
        // Without the group nothing more can be agreed on, so what is still open ends as it is.
        parts.host.stop_group(id.0).await?;
        let (this, ended) = (self.clone(), pipeline.clone());
        tokio::task::spawn_blocking(move || this.end_containers(&ended)).await??;
        if decision == Decision::Made {
            self.inner.closed.insert(id);
        }
        if let Some(log) = parts.logs.get(pipeline.disk.id()) {
            parts.host.erase(log, id.0).await?;
        }
        tokio::task::spawn_blocking(move || pipeline.store.remove()).await??;
        Ok(())
    }

    /// Stops the pipelines of a disk that has failed, or whose log has, and reports them: SCM
    /// closes them on the other members. Their logs stay as they are. Does not wait for the disk,
    /// which may hang.
    pub fn abandon(&self, disk: &Disk, reason: &str) {
        let here = self.all().into_iter().filter(|pipeline| pipeline.disk.id() == disk.id());
        for pipeline in here {
            let id = pipeline.id;
            if self.inner.running.remove(&id).is_none() {
                continue;
            }
            tracing::error!(pipeline = %id, disk = disk.id(), reason, "stopping a pipeline of a failed disk");
            self.inner.parts.pending_reports.pipeline_failed(id, reason.to_owned());
            tokio::spawn(self.clone().end_abandoned(pipeline));
        }
    }

    /// Stops an abandoned pipeline's group. Its containers, when they are on a disk that works, are
    /// complete as far as they are and take no more writes.
    async fn end_abandoned(self, pipeline: Arc<Pipeline>) {
        let id = pipeline.id;
        pipeline.supervisor.end().await;
        if let Err(error) = self.inner.parts.host.stop_group(id.0).await {
            tracing::warn!(pipeline = %id, %error, "cannot stop a pipeline's group");
        }
        if pipeline.disk.failure().is_some() {
            return;
        }
        let ended = tokio::task::spawn_blocking(move || self.end_containers(&pipeline)).await;
        match ended {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(pipeline = %id, %error, "cannot close its containers"),
            Err(error) => tracing::warn!(pipeline = %id, %error, "cannot close its containers"),
        }
    }

    fn end_containers(&self, pipeline: &Pipeline) -> Result<(), PipelineError> {
        let parts = &self.inner.parts;
        let replaying = pipeline.store.is_replaying();
        for id in pipeline.store.containers() {
            use ContainerState::{Closing, Open, QuasiClosed};
            let Ok(container) = parts.store.container(id) else { continue };
            match container.info().state {
                Open | Closing | QuasiClosed if replaying => {
                    let reason = "its pipeline ended before replay had put all bytes back";
                    parts.store.mark_unhealthy(id, reason)?;
                }
                Open | Closing => parts.store.quasi_close(id)?,
                _ => continue,
            }
            parts.pending_reports.container_changed(id);
        }
        pipeline.store.flush()?;
        Ok(())
    }
}
