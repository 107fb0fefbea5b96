//! Application of changes to the replicated state: the state machine.

use proto::hdds::LifeCycleEvent;
use types::PipelineState;

use super::Cluster;
use crate::apply::{Records, remove_deletions};
use crate::state::change::{Applied, Change, Refused, Touched};

impl Cluster {
    fn records(&mut self) -> Records<'_> {
        let Self { pipelines, containers, histories, .. } = self;
        Records { pipelines, containers, histories }
    }

    /// Applies a committed change.
    ///
    /// # Errors
    /// When the change does not fit the state; it changes nothing then.
    pub fn apply(&mut self, change: &Change) -> Applied {
        match change {
            Change::AddPipeline(pipeline) => self.records().add_pipeline(pipeline),
            Change::OpenPipeline(id) => {
                self.records().pipeline_state(*id, PipelineState::Open, &[PipelineState::Allocated])
            }
            Change::SetPipelineDormant(id, true) => {
                self.records().pipeline_state(*id, PipelineState::Dormant, &[PipelineState::Open])
            }
            Change::SetPipelineDormant(id, false) => {
                self.records().pipeline_state(*id, PipelineState::Open, &[PipelineState::Dormant])
            }
            Change::ClosePipeline { id, now } => self.records().close_pipeline(*id, *now),
            Change::RemovePipeline(id) => self.records().remove_pipeline(*id),
            Change::AddContainer(container) => self.records().add_container(container),
            Change::MoveContainer { id, event, now, usage } => {
                self.records().move_container(*id, *event, *now, *usage)
            }
            Change::DeleteEmptied { id, now, usage } => {
                let touched =
                    self.records().move_container(*id, LifeCycleEvent::Delete, *now, *usage)?;
                self.records().note_emptied(*id);
                Ok(touched)
            }
            Change::ClearLeftOvers { id, indexes } => self.records().clear(*id, indexes),
            Change::ReviveContainer { id, quasi, now } => self.records().revive(*id, *quasi, *now),
            Change::ReserveIds { sequence, expected, last } => {
                if self.sequences.reserve(*sequence, *expected, *last) {
                    return Ok(vec![Touched::Sequence(*sequence)]);
                }
                let at = self.sequences.last(*sequence);
                Err(Refused::SequenceMoved { sequence: *sequence, last: at, expected: *expected })
            }
            Change::AddDeletions(transactions) => {
                let touched = transactions.iter().map(|t| Touched::Deletion(t.id)).collect();
                transactions.iter().for_each(|t| self.deletions.insert(t.clone()));
                Ok(touched)
            }
            Change::RemoveDeletions(ids) => {
                Ok(remove_deletions(&mut self.deletions, &mut self.containers, ids))
            }
            Change::SetBalancer(balancer) => {
                self.balancer = Some(balancer.clone());
                Ok(vec![Touched::Balancer])
            }
            Change::SetDestination { node, destination } => {
                match destination {
                    Some(destination) => self.destinations.insert(*node, *destination),
                    None => self.destinations.remove(node),
                };
                Ok(vec![Touched::Destinations])
            }
        }
    }
}
