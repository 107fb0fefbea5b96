//! Recent failures to avoid: DataNodes, pipelines, containers. Shared by all writers of a client,
//! so that only one of them runs into a failure.

use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use proto::hdds::ExcludeListProto;
use rustc_hash::FxHashMap;
use types::{BlockId, ContainerId, DatanodeId, Pipeline, PipelineId};

/// Maximum time of an exclusion: SCM detects a lost DataNode or pipeline well before, and a
/// recovered one should be used again soon.
const MAX_EXCLUSION: Duration = Duration::from_secs(30);

/// The excluded DataNodes, pipelines and containers.
#[derive(Clone)]
pub(crate) struct ExcludeList {
    expiry: Duration,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    datanodes: FxHashMap<DatanodeId, Instant>,
    pipelines: FxHashMap<PipelineId, Instant>,
    containers: FxHashMap<ContainerId, Instant>,
}

impl ExcludeList {
    pub(crate) fn new(expiry: Duration) -> Self {
        Self { expiry: expiry.min(MAX_EXCLUSION), inner: Arc::default() }
    }

    pub(crate) fn datanode(&self, id: DatanodeId) {
        self.inner.lock().datanodes.insert(id, Instant::now());
    }

    /// Removes a DataNode that is reported to have recovered.
    pub(crate) fn remove(&self, id: DatanodeId) {
        self.inner.lock().datanodes.remove(&id);
    }

    /// Removes failures before a moment; returns `true` if there were any.
    pub(crate) fn remove_failed_before(&self, moment: Instant) -> bool {
        fn sweep<K: Eq + Hash>(map: &mut FxHashMap<K, Instant>, moment: Instant) -> bool {
            let before = map.len();
            map.retain(|_, since| *since >= moment);
            map.len() < before
        }
        let mut inner = self.inner.lock();
        let datanodes = sweep(&mut inner.datanodes, moment);
        let pipelines = sweep(&mut inner.pipelines, moment);
        sweep(&mut inner.containers, moment) || pipelines || datanodes
    }

    pub(crate) fn pipeline(&self, id: PipelineId) {
        self.inner.lock().pipelines.insert(id, Instant::now());
    }

    pub(crate) fn container(&self, id: ContainerId) {
        self.inner.lock().containers.insert(id, Instant::now());
    }

    /// Returns `true` if a block of that pipeline should not be written to.
    pub(crate) fn avoids(&self, block: &BlockId, pipeline: &Pipeline) -> bool {
        let mut inner = self.inner.lock();
        inner.expire(self.expiry);
        inner.containers.contains_key(&block.container)
            || inner.pipelines.contains_key(&pipeline.id)
            || pipeline.members.iter().any(|m| inner.datanodes.contains_key(&m.id))
    }

    /// Returns `true` if that DataNode was unreachable recently.
    pub(crate) fn avoids_datanode(&self, id: DatanodeId) -> bool {
        let mut inner = self.inner.lock();
        inner.expire(self.expiry);
        inner.datanodes.contains_key(&id)
    }

    /// The member at `from` or the next one that is not excluded; `from` if all are.
    pub(crate) fn first_usable(&self, pipeline: &Pipeline, from: usize) -> usize {
        let count = pipeline.members.len();
        if self.is_empty() {
            return from;
        }
        (0..count)
            .map(|step| (from + step) % count)
            .find(|index| pipeline.members.get(*index).is_some_and(|m| !self.avoids_datanode(m.id)))
            .unwrap_or(from)
    }

    pub(crate) fn to_wire(&self) -> ExcludeListProto {
        let mut inner = self.inner.lock();
        inner.expire(self.expiry);
        ExcludeListProto {
            datanodes: inner.datanodes.keys().map(ToString::to_string).collect(),
            container_ids: inner.containers.keys().map(|id| id.to_wire()).collect(),
            pipeline_ids: inner.pipelines.keys().map(|id| id.to_wire()).collect(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        let inner = self.inner.lock();
        inner.datanodes.is_empty() && inner.pipelines.is_empty() && inner.containers.is_empty()
    }
}

impl Inner {
    fn expire(&mut self, age: Duration) {
        fn sweep<K: Eq + Hash>(map: &mut FxHashMap<K, Instant>, age: Duration) {
            if !map.is_empty() {
                map.retain(|_, since| since.elapsed() < age);
            }
        }
        sweep(&mut self.datanodes, age);
        sweep(&mut self.pipelines, age);
        sweep(&mut self.containers, age);
    }
}

#[cfg(test)]
mod tests {
    use types::{DatanodeDetails, LocalId, PipelineState, ReplicationConfig};

    use super::*;

    fn pipeline() -> Pipeline {
        Pipeline {
            id: PipelineId::random(),
            config: ReplicationConfig::RATIS_ONE,
            storage_type: types::StorageType::default(),
            state: PipelineState::Open,
            members: vec![DatanodeDetails::new(DatanodeId::random(), "127.0.0.1", "h")],
            replica_indexes: vec![0],
            leader: None,
            suggested_leader: None,
            created_ms: 0,
            order: Vec::new(),
        }
    }

    #[test]
    fn a_block_is_avoided_for_its_container_pipeline_or_member() {
        let block = BlockId::new(ContainerId(1), LocalId(2));
        let pipeline = pipeline();
        type Exclude = fn(&ExcludeList, &BlockId, &Pipeline);
        let cases: [Exclude; 3] = [
            |list, block, _| list.container(block.container),
            |list, _, pipeline| list.pipeline(pipeline.id),
            |list, _, pipeline| list.datanode(pipeline.members[0].id),
        ];
        for exclude in cases {
            let list = ExcludeList::new(Duration::from_secs(60));
            assert!(list.is_empty() && !list.avoids(&block, &pipeline));
            exclude(&list, &block, &pipeline);
            assert!(list.avoids(&block, &pipeline));
            assert!(!list.is_empty());
        }
    }

    #[test]
    fn what_failed_before_a_moment_can_be_removed() {
        let list = ExcludeList::new(Duration::from_secs(60));
        let (before, after) = (DatanodeId::random(), DatanodeId::random());
        list.datanode(before);
        let moment = Instant::now();
        list.datanode(after);
        assert!(list.remove_failed_before(moment) && !list.remove_failed_before(moment));
        assert!(!list.avoids_datanode(before) && list.avoids_datanode(after));
        list.container(ContainerId(1));
        assert!(list.remove_failed_before(Instant::now()) && list.is_empty());
    }

    #[test]
    fn what_expired_is_used_again() {
        let list = ExcludeList::new(Duration::ZERO);
        let pipeline = pipeline();
        list.pipeline(pipeline.id);
        assert!(!list.avoids(&BlockId::default(), &pipeline));
        assert!(list.to_wire().pipeline_ids.is_empty());
    }
}
