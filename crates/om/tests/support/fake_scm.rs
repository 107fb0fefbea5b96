//! An SCM as OM sees it: gives blocks, returns locations, takes deletions, and records all of it.

#![allow(dead_code)]

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use framed::{Call, Handler, HandlerFuture, Reply, Server, ServerOptions, Status};
use proto::block_location::{
    self, AllocateBlockResponse, AllocateScmBlockResponseProto, DeleteKeyBlocksResultProto,
    DeleteScmBlockResult, DeleteScmKeyBlocksResponseProto, ScmBlockLocationRequest,
    ScmBlockLocationResponse, delete_scm_block_result,
};
use proto::container_location::{
    self, ForceExitSafeModeResponseProto, GetContainerWithPipelineBatchResponseProto,
    InSafeModeResponseProto, ScmContainerLocationRequest, ScmContainerLocationResponse,
};
use proto::{hdds, method};
use types::{DatanodeDetails, DatanodeId, Pipeline, PipelineId, PipelineState, PortName};
use types::{ReplicationConfig, ReplicationFactor};

/// Containers of each pipeline.
const CONTAINERS: i64 = 4;

pub struct FakeScm {
    pub cluster_id: Mutex<String>,
    pub safe_mode: AtomicBool,
    /// No node has room for blocks.
    pub is_full: AtomicBool,
    /// Answers nothing.
    pub hangs: AtomicBool,
    /// It was called while it hung.
    pub called_hanging: tokio::sync::Notify,
    /// Calls that were given up while it hung.
    pub left_hanging: Arc<AtomicU64>,
    /// Is not the one that leads.
    pub follows: AtomicBool,
    pub allocate_calls: AtomicU64,
    pub allocated: AtomicU64,
    pub locate_calls: AtomicU64,
    /// Keys whose blocks were handed over for deletion.
    pub deleted_keys: Mutex<Vec<String>>,
    /// (container, local) of those blocks.
    pub deleted_blocks: Mutex<HashSet<(i64, i64)>>,
    /// Keys containing this are refused for deletion.
    pub refuse_deleting: Mutex<Option<String>>,
    /// Delays the answers to deletions while it is locked for writing.
    pub deletions: tokio::sync::RwLock<()>,
    /// It was asked to delete blocks.
    pub called_deleting: tokio::sync::Notify,
    pub excludes: Mutex<Vec<hdds::ExcludeListProto>>,
    /// Its response about the SCMs of its service.
    pub places: Mutex<Option<hdds::ScmPlacesProto>>,
    next_local: AtomicI64,
    pipelines: Vec<Pipeline>,
}

impl FakeScm {
    pub fn new(cluster_id: &str) -> Arc<Self> {
        let pipelines = (0..3).map(|i| pipeline(i, ReplicationConfig::RATIS_THREE)).collect();
        Arc::new(Self {
            cluster_id: Mutex::new(cluster_id.to_owned()),
            safe_mode: AtomicBool::new(false),
            is_full: AtomicBool::new(false),
            hangs: AtomicBool::new(false),
            called_hanging: tokio::sync::Notify::new(),
            left_hanging: Arc::default(),
            follows: AtomicBool::new(false),
            allocate_calls: AtomicU64::new(0),
            allocated: AtomicU64::new(0),
            locate_calls: AtomicU64::new(0),
            deleted_keys: Mutex::default(),
            deleted_blocks: Mutex::default(),
            refuse_deleting: Mutex::default(),
            deletions: tokio::sync::RwLock::default(),
            called_deleting: tokio::sync::Notify::new(),
            excludes: Mutex::default(),
            places: Mutex::default(),
            next_local: AtomicI64::new(117_883_640_217_600_001),
            pipelines,
        })
    }

    /// Serves on any free port; both of OM's SCM addresses lead there.
    pub async fn serve(self: &Arc<Self>) -> Server {
        let handler = Arc::new(FakeScmHandler(Arc::clone(self)));
        Server::bind("127.0.0.1:0", handler, ServerOptions::default()).await.unwrap()
    }

    /// Ids of the pipelines, in the order in which blocks are spread over them.
    pub fn pipeline_ids(&self) -> Vec<PipelineId> {
        self.pipelines.iter().map(|p| p.id).collect()
    }

    fn pipeline_of(&self, container: i64) -> &Pipeline {
        &self.pipelines[(container / CONTAINERS) as usize % self.pipelines.len()]
    }

    fn block(&self, request: ScmBlockLocationRequest) -> ScmBlockLocationResponse {
        let mut response = ScmBlockLocationResponse {
            cmd_type: request.cmd_type,
            success: Some(true),
            status: block_location::Status::Ok as i32,
            ..Default::default()
        };
        match block_location::Type::try_from(request.cmd_type).unwrap() {
            block_location::Type::GetScmInfo => {
                response.get_scm_info_response = Some(hdds::GetScmInfoResponseProto {
                    cluster_id: self.cluster_id.lock().unwrap().clone(),
                    scm_id: "scm".to_owned(),
                    peer_roles: Vec::new(),
                    membership: None,
                    places: self.places.lock().unwrap().clone(),
                });
            }
            block_location::Type::AllocateScmBlock => {
                self.allocate_calls.fetch_add(1, Ordering::Relaxed);
                if self.safe_mode.load(Ordering::Relaxed) {
                    response.success = Some(false);
                    response.status = block_location::Status::SafeModeException as i32;
                    response.message = Some("SafeModePrecheck failed for allocateBlock".to_owned());
                    return response;
                }
                if self.is_full.load(Ordering::Relaxed) {
                    response.success = Some(false);
                    response.status = block_location::Status::FailedToAllocateEnoughBlocks as i32;
                    response.message = Some("no pipeline has room".to_owned());
                    return response;
                }
                let request = request.allocate_scm_block_request.unwrap();
                self.allocated.fetch_add(u64::from(request.num_blocks), Ordering::Relaxed);
                let exclude = request.exclude_list.clone().unwrap_or_default();
                self.excludes.lock().unwrap().extend(request.exclude_list);
                let blocks = self.allocate(request.num_blocks, &exclude);
                response.allocate_scm_block_response =
                    Some(AllocateScmBlockResponseProto { blocks });
            }
            block_location::Type::DeleteScmKeyBlocks => {
                let request = request.delete_scm_key_blocks_request.unwrap();
                let refuse = self.refuse_deleting.lock().unwrap().clone();
                let results = request.key_blocks.into_iter().map(|key| {
                    let refused = refuse.as_ref().is_some_and(|r| key.key.contains(r.as_str()));
                    let result = if refused {
                        delete_scm_block_result::Result::UnknownFailure
                    } else {
                        let ids = key.blocks.iter().map(|b| &b.container_block_id);
                        let ids = ids.map(|id| (id.container_id, id.local_id));
                        self.deleted_blocks.lock().unwrap().extend(ids);
                        self.deleted_keys.lock().unwrap().push(key.key.clone());
                        delete_scm_block_result::Result::Success
                    };
                    let block_results = key
                        .blocks
                        .into_iter()
                        .map(|block_id| DeleteScmBlockResult { result: result as i32, block_id });
                    DeleteKeyBlocksResultProto {
                        object_key: key.key,
                        block_results: block_results.collect(),
                    }
                });
                let results = results.collect();
                response.delete_scm_key_blocks_response =
                    Some(DeleteScmKeyBlocksResponseProto { results });
            }
            other => panic!("OM does not ask {other:?}"),
        }
        response
    }

    fn allocate(&self, count: u32, exclude: &hdds::ExcludeListProto) -> Vec<AllocateBlockResponse> {
        let excluded: Vec<PipelineId> =
            exclude.pipeline_ids.iter().map(|p| PipelineId::from_wire(p).unwrap()).collect();
        let containers: Vec<i64> = (0..CONTAINERS * self.pipelines.len() as i64)
            .filter(|c| !excluded.contains(&self.pipeline_of(*c).id))
            .filter(|c| !exclude.container_ids.contains(c))
            .collect();
        (0..count)
            .map(|_| {
                let local_id = self.next_local.fetch_add(1, Ordering::Relaxed);
                let container_id = containers[local_id as usize % containers.len()];
                AllocateBlockResponse {
                    container_block_id: Some(hdds::ContainerBlockId { container_id, local_id }),
                    pipeline: Some(self.pipeline_of(container_id).to_wire()),
                }
            })
            .collect()
    }

    fn container(&self, request: ScmContainerLocationRequest) -> ScmContainerLocationResponse {
        let mut response = ScmContainerLocationResponse {
            cmd_type: request.cmd_type,
            success: Some(true),
            status: container_location::scm_container_location_response::Status::Ok as i32,
            ..Default::default()
        };
        match container_location::Type::try_from(request.cmd_type).unwrap() {
            container_location::Type::GetContainerWithPipelineBatch => {
                self.locate_calls.fetch_add(1, Ordering::Relaxed);
                let ids = request.get_container_with_pipeline_batch_request.unwrap().container_i_ds;
                let found = ids.into_iter().map(|id| hdds::ContainerWithPipeline {
                    container_info: hdds::ContainerInfoProto {
                        container_id: id,
                        ..Default::default()
                    },
                    pipeline: self.pipeline_of(id).to_wire(),
                });
                response.get_container_with_pipeline_batch_response =
                    Some(GetContainerWithPipelineBatchResponseProto {
                        container_with_pipelines: found.collect(),
                    });
            }
            container_location::Type::InSafeMode => {
                response.in_safe_mode_response = Some(InSafeModeResponseProto {
                    in_safe_mode: self.safe_mode.load(Ordering::Relaxed),
                });
            }
            container_location::Type::ForceExitSafeMode => {
                self.safe_mode.store(false, Ordering::Relaxed);
                response.force_exit_safe_mode_response =
                    Some(ForceExitSafeModeResponseProto { exited_safe_mode: true });
            }
            other => panic!("OM does not ask {other:?}"),
        }
        response
    }
}

fn pipeline(number: u128, config: ReplicationConfig) -> Pipeline {
    let members: Vec<DatanodeDetails> = (0..3)
        .map(|i| {
            let id = DatanodeId(uuid::Uuid::from_u128(1000 + i));
            let mut node = DatanodeDetails::new(id, format!("10.0.0.{}", i + 1), format!("dn{i}"));
            node.set_port(PortName::Standalone, 9859);
            node.set_port(PortName::Ratis, 9858);
            node.set_port(PortName::Http, 9882);
            node.set_port(PortName::Native, 9855);
            node
        })
        .collect();
    Pipeline {
        id: PipelineId(uuid::Uuid::from_u128(1 + number)),
        config,
        storage_type: types::StorageType::default(),
        state: PipelineState::Open,
        leader: Some(members[0].id),
        members,
        ..Pipeline::from_wire(&hdds::Pipeline {
            id: PipelineId(uuid::Uuid::from_u128(1)).to_wire(),
            r#type: Some(config.wire_type() as i32),
            factor: Some(ReplicationFactor::Three.to_wire() as i32),
            ..Default::default()
        })
        .unwrap()
    }
}

struct FakeScmHandler(Arc<FakeScm>);

impl Handler for FakeScmHandler {
    fn call(&self, call: Call) -> HandlerFuture {
        let scm = Arc::clone(&self.0);
        Box::pin(async move {
            if scm.hangs.load(Ordering::Relaxed) {
                let _left = Left(scm.left_hanging.clone());
                scm.called_hanging.notify_one();
                std::future::pending::<()>().await;
            }
            if scm.follows.load(Ordering::Relaxed) {
                return Err(Status::not_leader("another one leads", String::new()));
            }
            match call.method {
                method::SCM_BLOCK => {
                    let request: ScmBlockLocationRequest = framed::message::decode(call.header)?;
                    if request.delete_scm_key_blocks_request.is_some() {
                        scm.called_deleting.notify_one();
                        drop(scm.deletions.read().await);
                    }
                    Ok(framed::message::reply(&scm.block(request)))
                }
                method::SCM_CONTAINER_LOCATION => {
                    let request = framed::message::decode(call.header)?;
                    Ok(framed::message::reply(&scm.container(request)))
                }
                other => Err::<Reply, _>(Status::invalid(format!("method {other}"))),
            }
        })
    }
}

/// Counts a call that ends without an answer: its time is over, or its connection is.
struct Left(Arc<AtomicU64>);

impl Drop for Left {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
