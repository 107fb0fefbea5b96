//! Closing a pipeline so that better ones can be made.
//!
//! Nodes register one after the other, so the first pipelines consist of the first nodes. When all
//! are created and still a node takes part in none, two pipelines have the same members, or all
//! members of one are in one rack, a pipeline is closed if that allows better ones. One at a time,
//! so that writers always find others; only when no single one helps, two at once, which exchange
//! members. (One after the other they would not: the first one would be recreated unchanged, for
//! ever.)

use std::cmp::Reverse;

use types::{PipelineId, PipelineState, ReplicationConfig, StorageType};

use super::Planning;
use super::board::Board;
use super::create::fill;
use crate::state::pipeline::PipelineEntry;

/// Maximum of pipelines tried for closing in one check.
const TRIED: usize = 32;

/// Of two pipelines closed one after the other, those tried as the first, at most.
const TRIED_FIRST: usize = 4;

/// Nodes up to which several pipelines are tried: each costs a copy of the board.
const FEW_NODES: usize = 100;

/// Quality of a set of pipelines; more is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Worth {
    pipelines: usize,
    faults: Reverse<usize>,
}

impl Planning<'_> {
    /// The pipelines to close together so that better ones can be created: none, one or two. For
    /// calls while nothing is planned, no pipeline is in transition and safe mode is off.
    pub fn plan_rebalance(&self) -> Vec<PipelineId> {
        let allocated = |e: &PipelineEntry| e.record.state == PipelineState::Allocated;
        if self.pipelines.iter().any(allocated) {
            return Vec::new();
        }
        let plans = StorageType::ALL.into_iter().map(|of| self.plan_rebalance_of(of));
        plans.into_iter().find(|plan| !plan.is_empty()).unwrap_or_default()
    }

    /// Of those on disks of one type.
    fn plan_rebalance_of(&self, storage_type: StorageType) -> Vec<PipelineId> {
        let kind = (ReplicationConfig::RATIS_THREE, storage_type);
        let board = self.board(kind);
        let made = self.count_pipelines(kind);
        let most = board.most(3).min(self.cluster_limit());
        let now = worth(&board, made);
        if now.faults.0 == 0 && made >= most {
            return Vec::new();
        }
        let mut candidates: Vec<_> = self
            .pipelines
            .iter()
            .filter(|e| (e.record.config, e.record.storage_type) == kind)
            .filter(|e| e.record.state == PipelineState::Open)
            .map(|e| {
                let members = e.member_ids();
                let bad = board.is_misplaced(&members) || board.is_duplicate(&members);
                let load = members.iter().map(|m| board.load(*m)).fold(0, usize::saturating_add);
                // Bad ones first; then those of the busiest nodes; of several such the youngest:
                // least is in it.
                let key = (!bad, Reverse(load), Reverse(e.record.created_ms), e.record.id);
                (key, e)
            })
            .collect();
        candidates.sort_by_key(|(key, _)| *key);
        let better = |closed: &[&PipelineEntry]| {
            let mut board = board.clone();
            for e in closed {
                board.remove_pipeline(&e.member_ids(), e.record.suggested_leader);
            }
            let left = made.saturating_sub(closed.len());
            let mut plans = Vec::new();
            fill(&mut board, kind, self.cluster_limit().saturating_sub(left), &mut plans);
            worth(&board, left.saturating_add(plans.len()))
        };
        let few = self.nodes.len() <= FEW_NODES;
        let candidates: Vec<_> = candidates.into_iter().map(|(_, e)| e).collect();
        let tried = candidates.iter().take(if few { TRIED } else { 1 });
        let best = first_best(tried.map(|e| (better(&[e]), vec![e.record.id])));
        if let Some((worth, ids)) = best
            && worth > now
        {
            return ids;
        }
        // Members of a bad one may have to change places with those of another. Writers need a
        // third one meanwhile.
        let tried_first = if few && candidates.len() > 2 { TRIED_FIRST } else { 0 };
        let pairs = candidates.iter().take(tried_first).enumerate().flat_map(|(i, a)| {
            let others = candidates.iter().take(TRIED).skip(i.saturating_add(1));
            others.map(move |b| [*a, *b])
        });
        let best =
            first_best(pairs.map(|pair| (better(&pair), pair.map(|e| e.record.id).to_vec())));
        best.filter(|(worth, _)| *worth > now).map(|(_, ids)| ids).unwrap_or_default()
    }
}

/// The first of the best.
fn first_best(
    tried: impl Iterator<Item = (Worth, Vec<PipelineId>)>,
) -> Option<(Worth, Vec<PipelineId>)> {
    tried.reduce(|best, other| if other.0 > best.0 { other } else { best })
}

fn worth(board: &Board, pipelines: usize) -> Worth {
    let faults = [board.duplicates(), board.misplaced()];
    let faults = faults.into_iter().fold(board.idle(), usize::saturating_add);
    Worth { pipelines, faults: Reverse(faults) }
}
