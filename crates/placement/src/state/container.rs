//! Containers: the records, and the indexes over them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proto::hdds::{self, LifeCycleState};
use rustc_hash::FxHashMap;
use types::{ContainerId, PipelineId, ReplicationConfig, StorageType, WireError};

use super::evidence::Evidence;
use crate::time::Millis;

/// Size and commit sequence of a container, as its replicas report them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Bytes.
    pub used_bytes: u64,
    /// Blocks.
    pub keys: u64,
    /// Highest block commit sequence id.
    pub sequence_id: u64,
}

/// A container as SCM records it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// Its id.
    pub id: ContainerId,
    /// Its life cycle state.
    pub state: LifeCycleState,
    /// The pipeline it is, or was, written through.
    pub pipeline: Option<PipelineId>,
    /// Replication of its blocks.
    pub config: ReplicationConfig,
    /// The storage type of the disks that its replicas belong on.
    pub storage_type: StorageType,
    /// Its owner: the OM service id.
    pub owner: Arc<str>,
    /// Bytes, as reported; in the store as of the last change of state.
    pub used_bytes: u64,
    /// Blocks, as reported; in the store as of the last change of state.
    pub keys: u64,
    /// Time at which it entered its state.
    pub state_enter_ms: Millis,
    /// Highest known block commit sequence id.
    pub sequence_id: u64,
    /// Last transaction of the deletion log for it that all replicas acknowledged.
    pub delete_transaction: u64,
    /// Left out of health reports by an operator.
    pub suppressed: bool,
    /// Evidence about replicas that were not reported; in SCM's table only.
    pub evidence: Evidence,
}

impl Container {
    /// The wire's message, which is also the row of the `containers` table but for the evidence.
    pub fn to_wire(&self) -> hdds::ContainerInfoProto {
        hdds::ContainerInfoProto {
            container_id: self.id.to_wire(),
            state: self.state as i32,
            pipeline_id: self.pipeline.map(PipelineId::to_wire),
            used_bytes: self.used_bytes,
            number_of_keys: self.keys,
            state_enter_time: Some(self.state_enter_ms.cast_signed()),
            owner: self.owner.to_string(),
            delete_transaction_id: Some(self.delete_transaction.cast_signed()),
            sequence_id: Some(self.sequence_id.cast_signed()),
            replication_factor: self.config.wire_factor().map(|f| f as i32),
            replication_type: self.config.wire_type() as i32,
            ec_replication_config: self.config.wire_ec(),
            suppressed: self.suppressed.then_some(true),
            storage_type: self.storage_type.to_optional_wire(),
        }
    }

    /// # Errors
    /// When the state, the pipeline or the replication is invalid.
    pub fn from_wire(wire: &hdds::ContainerInfoProto) -> Result<Self, WireError> {
        Ok(Self {
            id: ContainerId::from_wire(wire.container_id),
            state: LifeCycleState::try_from(wire.state)
                .map_err(|_| WireError::invalid("ContainerInfoProto", "state", wire.state))?,
            pipeline: wire.pipeline_id.as_ref().map(PipelineId::from_wire).transpose()?,
            config: ReplicationConfig::from_wire(
                wire.replication_type,
                wire.replication_factor,
                wire.ec_replication_config.as_ref(),
            )?,
            storage_type: StorageType::from_wire(wire.storage_type() as i32)?,
            owner: wire.owner.as_str().into(),
            used_bytes: wire.used_bytes,
            keys: wire.number_of_keys,
            state_enter_ms: wire.state_enter_time().cast_unsigned(),
            sequence_id: wire.sequence_id().cast_unsigned(),
            delete_transaction: wire.delete_transaction_id().cast_unsigned(),
            suppressed: wire.suppressed(),
            evidence: Evidence::default(),
        })
    }

    /// Maximum of leftover indexes that may be deleted after the deletion of the container, over
    /// all time: the number that the code can recover, and too few to read it. `None` when it is
    /// not erasure coded.
    pub(crate) fn most_cleared(&self) -> Option<usize> {
        let ReplicationConfig::Ec(ec) = self.config else { return None };
        Some(ec.parity.min(ec.data.saturating_sub(1)) as usize)
    }

    /// Size and commit sequence as the record has them.
    pub fn usage(&self) -> Usage {
        Usage { used_bytes: self.used_bytes, keys: self.keys, sequence_id: self.sequence_id }
    }
}

/// All containers.
#[derive(Debug, Default)]
pub struct Containers {
    records: BTreeMap<ContainerId, Container>,
    by_pipeline: FxHashMap<PipelineId, BTreeSet<ContainerId>>,
    /// OPEN containers by pipeline, for the allocation of blocks.
    open: FxHashMap<PipelineId, Vec<ContainerId>>,
    by_state: BTreeMap<i32, BTreeSet<ContainerId>>,
    /// Blocks handed out so far: the next batch begins its round there.
    next_round: usize,
}

impl Containers {
    /// The container of that id.
    pub fn get(&self, id: ContainerId) -> Option<&Container> {
        self.records.get(&id)
    }

    /// Containers from `start` on, by id.
    pub fn from(&self, start: ContainerId) -> impl Iterator<Item = &Container> {
        self.records.range(start..).map(|(_, c)| c)
    }

    /// Number of containers, deleted ones included.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns `true` if there is none.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Number of containers in that state.
    pub fn count(&self, state: LifeCycleState) -> usize {
        self.by_state.get(&(state as i32)).map_or(0, BTreeSet::len)
    }

    /// The containers in that state, by id.
    pub fn in_state(&self, state: LifeCycleState) -> impl Iterator<Item = ContainerId> + '_ {
        self.by_state.get(&(state as i32)).into_iter().flatten().copied()
    }

    /// The OPEN containers of a pipeline.
    pub fn open(&self, pipeline: PipelineId) -> &[ContainerId] {
        self.open.get(&pipeline).map(Vec::as_slice).unwrap_or_default()
    }

    /// The containers that are, or were, written through a pipeline; deleted ones are not among
    /// them.
    pub fn of_pipeline(&self, pipeline: PipelineId) -> Vec<ContainerId> {
        self.by_pipeline.get(&pipeline).into_iter().flatten().copied().collect()
    }

    /// Start of the round over the open containers for a batch of `count` blocks.
    pub(crate) fn next_round_start(&mut self, count: usize) -> usize {
        let start = self.next_round;
        // Far from the end of the range, so that a batch can count on from it.
        self.next_round = start.wrapping_add(count) & (usize::MAX >> 8);
        start
    }

    /// Adds a container, new or loaded.
    pub fn insert(&mut self, container: Container) {
        self.list(&container);
        self.records.insert(container.id, container);
    }

    /// Changes a record, keeping the indexes.
    pub(crate) fn update(&mut self, id: ContainerId, change: impl FnOnce(&mut Container)) {
        let Some(mut container) = self.records.remove(&id) else { return };
        self.unlist(&container);
        change(&mut container);
        self.list(&container);
        self.records.insert(id, container);
    }

    /// Takes over what replicas report; the state is untouched.
    pub(crate) fn set_usage(&mut self, id: ContainerId, usage: Usage) {
        if let Some(container) = self.records.get_mut(&id) {
            container.used_bytes = usage.used_bytes;
            container.keys = usage.keys;
            container.sequence_id = container.sequence_id.max(usage.sequence_id);
        }
    }

    fn list(&mut self, c: &Container) {
        self.by_state.entry(c.state as i32).or_default().insert(c.id);
        let Some(pipeline) = c.pipeline else { return };
        if c.state != LifeCycleState::Deleted {
            self.by_pipeline.entry(pipeline).or_default().insert(c.id);
        }
        if c.state == LifeCycleState::Open {
            self.open.entry(pipeline).or_default().push(c.id);
        }
    }

    fn unlist(&mut self, c: &Container) {
        if let Some(set) = self.by_state.get_mut(&(c.state as i32)) {
            set.remove(&c.id);
        }
        let Some(pipeline) = c.pipeline else { return };
        if let Some(set) = self.by_pipeline.get_mut(&pipeline) {
            set.remove(&c.id);
            if set.is_empty() {
                self.by_pipeline.remove(&pipeline);
            }
        }
        if let Some(open) = self.open.get_mut(&pipeline) {
            open.retain(|id| *id != c.id);
            if open.is_empty() {
                self.open.remove(&pipeline);
            }
        }
    }
}
