//! Pipelines: the Raft groups of DataNodes that blocks are written through.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use types::{
    DatanodeDetails, DatanodeId, Pipeline, PipelineId, PipelineState, ReplicationConfig,
    StorageType,
};

use crate::time::Millis;

/// A pipeline and its soft state.
#[derive(Debug, Clone)]
pub struct PipelineEntry {
    /// The record. Shared, so that reads are cheap; replaced when it changes.
    pub record: Arc<Pipeline>,
    /// Members that have reported the group since the start.
    pub reported: SmallVec<[DatanodeId; 3]>,
    /// Time at which it was closed, if that was since the start.
    pub closed: Option<Millis>,
    /// Time at which orders for it were last sent.
    pub last_order: Millis,
}

impl PipelineEntry {
    /// The members.
    pub fn member_ids(&self) -> Vec<DatanodeId> {
        self.record.members.iter().map(|m| m.id).collect()
    }

    /// Returns `true` if every member has reported it and one of them leads.
    pub fn is_reported_by_all(&self) -> bool {
        self.record.leader.is_some()
            && self.record.members.iter().all(|m| self.reported.contains(&m.id))
    }
}

/// All pipelines.
#[derive(Debug, Default)]
pub struct Pipelines {
    entries: BTreeMap<PipelineId, PipelineEntry>,
    by_node: FxHashMap<DatanodeId, BTreeSet<PipelineId>>,
    open: FxHashMap<(ReplicationConfig, StorageType), Vec<PipelineId>>,
}

impl Pipelines {
    /// The pipeline of that id.
    pub fn get(&self, id: PipelineId) -> Option<&PipelineEntry> {
        self.entries.get(&id)
    }

    /// Every pipeline, by id.
    pub fn iter(&self) -> impl Iterator<Item = &PipelineEntry> {
        self.entries.values()
    }

    /// Number of pipelines.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns `true` if there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The pipelines that a node is a member of.
    pub fn of_node(&self, node: DatanodeId) -> Vec<PipelineId> {
        self.by_node.get(&node).into_iter().flatten().copied().collect()
    }

    /// The OPEN pipelines of that replication on disks of that type.
    pub fn open_of(&self, config: ReplicationConfig, storage_type: StorageType) -> &[PipelineId] {
        self.open.get(&(config, storage_type)).map(Vec::as_slice).unwrap_or_default()
    }

    /// The OPEN pipelines of that replication, whatever disks they are on.
    pub fn open(&self, config: ReplicationConfig) -> impl Iterator<Item = PipelineId> + '_ {
        StorageType::ALL.into_iter().flat_map(move |of| self.open_of(config, of)).copied()
    }

    /// Returns `true` if the pipeline exists and is OPEN.
    pub fn is_open(&self, id: PipelineId) -> bool {
        self.get(id).is_some_and(|e| e.record.state == PipelineState::Open)
    }

    /// Returns `true` if the pipeline exists and is not CLOSED.
    pub fn accepts_or_will_accept_writes(&self, id: PipelineId) -> bool {
        self.get(id).is_some_and(|e| e.record.state != PipelineState::Closed)
    }

    /// Returns `true` if a pipeline is not open yet, or closed and not removed yet.
    pub fn any_on_its_way(&self) -> bool {
        let stable = [PipelineState::Open, PipelineState::Dormant];
        self.entries.values().any(|e| !stable.contains(&e.record.state))
    }

    /// The ids of all of them.
    pub(crate) fn ids(&self) -> Vec<PipelineId> {
        self.entries.keys().copied().collect()
    }

    /// A node runs the group, and leads it if the flag is set. `None` if it is no member, or the
    /// pipeline does not exist.
    pub(crate) fn note_report(
        &mut self,
        id: PipelineId,
        node: DatanodeId,
        leads: bool,
    ) -> Option<&PipelineEntry> {
        let entry = self.entries.get_mut(&id).filter(|e| e.record.member(node).is_some())?;
        if !entry.reported.contains(&node) {
            entry.reported.push(node);
        }
        if leads && entry.record.leader != Some(node) {
            Arc::make_mut(&mut entry.record).leader = Some(node);
        }
        Some(entry)
    }

    /// Adds a pipeline, new or loaded; false when the id is taken.
    pub fn insert(&mut self, record: Pipeline) -> bool {
        let id = record.id;
        if self.entries.contains_key(&id) {
            return false;
        }
        for member in &record.members {
            self.by_node.entry(member.id).or_default().insert(id);
        }
        if record.state == PipelineState::Open {
            self.open.entry((record.config, record.storage_type)).or_default().push(id);
        }
        let entry = PipelineEntry {
            record: Arc::new(record),
            reported: SmallVec::new(),
            closed: None,
            last_order: 0,
        };
        self.entries.insert(id, entry);
        true
    }

    pub(crate) fn remove(&mut self, id: PipelineId) -> bool {
        let Some(entry) = self.entries.remove(&id) else { return false };
        for member in &entry.record.members {
            if let Some(set) = self.by_node.get_mut(&member.id) {
                set.remove(&id);
            }
        }
        self.unlist((entry.record.config, entry.record.storage_type), id);
        true
    }

    pub(crate) fn set_state(&mut self, id: PipelineId, state: PipelineState) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        Arc::make_mut(&mut entry.record).state = state;
        let kind = (entry.record.config, entry.record.storage_type);
        self.unlist(kind, id);
        if state == PipelineState::Open {
            self.open.entry(kind).or_default().push(id);
        }
    }

    pub(crate) fn note_closed(&mut self, id: PipelineId, now: Millis) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.closed = Some(now);
            entry.last_order = 0;
        }
    }

    /// A member has not, or no longer, the group.
    pub(crate) fn forget_report(&mut self, id: PipelineId, node: DatanodeId) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.reported.retain(|n| *n != node);
        }
    }

    /// Orders for the pipeline were sent at `now`.
    pub fn note_order(&mut self, id: PipelineId, now: Millis) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.last_order = now;
        }
    }

    /// Writes a node's current details into its pipelines; true when its addresses differ from the
    /// stored ones.
    pub(crate) fn refresh_member(&mut self, details: &DatanodeDetails) -> bool {
        let mut moved = false;
        for id in self.of_node(details.id) {
            let Some(entry) = self.entries.get_mut(&id) else { continue };
            let stale = entry.record.members.iter().any(|m| m.id == details.id && m != details);
            if !stale {
                continue;
            }
            let record = Arc::make_mut(&mut entry.record);
            for member in record.members.iter_mut().filter(|m| m.id == details.id) {
                moved |= member.ip != details.ip || member.ports != details.ports;
                *member = details.clone();
            }
        }
        moved
    }

    fn unlist(&mut self, kind: (ReplicationConfig, StorageType), id: PipelineId) {
        if let Some(open) = self.open.get_mut(&kind) {
            open.retain(|p| *p != id);
        }
    }
}
