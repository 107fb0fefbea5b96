//! Calls to SCM over the framed protocol.
//!
//! The SCMs of a service change: by [`ScmClient::info`] one of them returns the addresses of all,
//! with the index of the change of members; a later change than the last one replaces it. It is not
//! stored: an OM starts with the addresses of its configuration.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use config::HostPort;
use framed::{CallError, Client, ClientOptions, Code};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use parking_lot::Mutex;
use prost::Message;
use proto::block_location::{
    self, AllocateBlockResponse, AllocateScmBlockRequestProto, DeleteKeyBlocksResultProto,
    DeleteScmKeyBlocksRequestProto, KeyBlocks, ScmBlockLocationRequest, ScmBlockLocationResponse,
};
use proto::container_location::{
    self, ForceExitSafeModeRequestProto, GetContainerWithPipelineBatchRequestProto,
    InSafeModeRequestProto, ScmContainerLocationRequest, ScmContainerLocationResponse,
};
use proto::{hdds, method};
use tokio::time::Instant;
use types::{ReplicationConfig, StorageType};

/// Failure of a request to SCM.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum ScmError {
    /// It cannot be reached, or did not answer in time.
    #[error("SCM at {address} is not reachable: {cause}")]
    Unreachable {
        /// Address of the SCM.
        address: String,
        /// Cause of the failure.
        cause: String,
    },
    /// It is in safe mode.
    #[error("{0}")]
    SafeMode(String),
    /// There are no disks, nodes or pipelines that have room for blocks.
    #[error("{0}")]
    NoRoom(String),
    /// SCM refused the request.
    #[error("{0}")]
    Refused(String),
}

/// Endpoints of an SCM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScmAddresses {
    /// `ozone.scm.block.client.address`
    pub(crate) block: String,
    /// `ozone.scm.client.address`
    pub(crate) client: String,
}

/// The identity of this cluster's SCM.
#[derive(Debug, Clone)]
pub(crate) struct ScmInfo {
    pub(crate) cluster_id: String,
    pub(crate) scm_id: String,
}

/// Pause after all SCMs of a service failed to answer: they may be about to elect a leader.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// Longest wait for one SCM of several: longer than SCM itself waits for a pipeline.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(6);

/// After this time without an answer the other SCMs are called, too, and again after the same time.
const HEDGE_DELAY: Duration = Duration::from_millis(500);

/// Connections to the SCMs.
#[derive(Clone)]
pub(crate) struct ScmClient {
    targets: Arc<ArcSwap<Vec<Arc<Target>>>>,
    /// Index of the latest received change of members.
    heard: Arc<Mutex<u64>>,
    /// The one that answered last.
    current: Arc<AtomicUsize>,
    timeout: Duration,
    /// The user that OM runs as.
    user: String,
}

/// One SCM.
struct Target {
    addresses: ScmAddresses,
    block: Client,
    container: Client,
}

/// Protocol of an SCM that a call belongs to.
#[derive(Clone, Copy)]
enum ScmProtocol {
    Block,
    Container,
}

impl ScmClient {
    /// A client of the SCMs of a service, or of the one there is, for the user that OM runs as.
    pub(crate) fn new(addresses: Vec<ScmAddresses>, timeout: Duration, user: String) -> Self {
        let targets: Vec<_> = addresses.into_iter().map(Target::new).map(Arc::new).collect();
        Self {
            targets: Arc::new(ArcSwap::from_pointee(targets)),
            heard: Arc::default(),
            current: Arc::default(),
            timeout,
            user,
        }
    }

    /// Handles a response with the addresses of all SCMs.
    fn update_addresses(&self, places: &hdds::ScmPlacesProto) {
        let parse = |address: &String| {
            HostPort::parse_with(address, None).map(|address| address.connect().to_string())
        };
        let addresses = places.scms.iter().map(|scm| {
            let (block, client) = (parse(&scm.block_address)?, parse(&scm.client_address)?);
            Some(ScmAddresses { block, client })
        });
        let Some(scms) = addresses.collect::<Option<Vec<_>>>().filter(|scms| !scms.is_empty())
        else {
            tracing::warn!(?places, "ignoring malformed SCM addresses");
            return;
        };
        let mut heard = self.heard.lock();
        if places.index <= *heard {
            return;
        }
        *heard = places.index;
        let known = self.targets.load_full();
        if known.iter().map(|target| &target.addresses).eq(&scms) {
            return;
        }
        let names: Vec<_> = scms.iter().map(|scm| scm.client.as_str()).collect();
        tracing::info!(scms = ?names, "SCM addresses changed");
        let target = |addresses: ScmAddresses| {
            let same = known.iter().find(|target| target.addresses == addresses);
            same.cloned().unwrap_or_else(|| Arc::new(Target::new(addresses)))
        };
        self.targets.store(Arc::new(scms.into_iter().map(target).collect()));
    }

    /// Asks SCM for its identity; `timeout` instead of the usual one, because a starting OM does
    /// not wait long.
    pub(crate) async fn info(&self, timeout: Duration) -> Result<ScmInfo, ScmError> {
        let request = ScmBlockLocationRequest {
            cmd_type: block_location::Type::GetScmInfo as i32,
            get_scm_info_request: Some(hdds::GetScmInfoRequestProto::default()),
            ..Default::default()
        };
        let response = self.call_block(request, timeout).await?;
        let info = response.get_scm_info_response.ok_or_else(|| no_answer("GetScmInfo"))?;
        if let Some(places) = &info.places {
            self.update_addresses(places);
        }
        Ok(ScmInfo { cluster_id: info.cluster_id, scm_id: info.scm_id })
    }

    /// Asks for `count` blocks of `size` bytes, on disks of the first of these storage types that
    /// can take them.
    pub(crate) async fn allocate(
        &self,
        (replication, storage_types): (ReplicationConfig, &[StorageType]),
        count: u32,
        size: u64,
        owner: &str,
        exclude: Option<hdds::ExcludeListProto>,
    ) -> Result<Vec<AllocateBlockResponse>, ScmError> {
        let request = ScmBlockLocationRequest {
            cmd_type: block_location::Type::AllocateScmBlock as i32,
            allocate_scm_block_request: Some(AllocateScmBlockRequestProto {
                size,
                num_blocks: count,
                r#type: replication.wire_type() as i32,
                factor: replication.wire_factor().map(|f| f as i32),
                owner: owner.to_owned(),
                exclude_list: exclude,
                ec_replication_config: replication.wire_ec(),
                client: None,
                storage_type: storage_types.iter().map(|of| of.to_wire() as i32).collect(),
            }),
            ..Default::default()
        };
        let response = self.call_block(request, self.timeout).await?;
        let answer =
            response.allocate_scm_block_response.ok_or_else(|| no_answer("AllocateScmBlock"))?;
        Ok(answer.blocks)
    }

    /// Hands blocks over for deletion; returns the keys for which that succeeded.
    pub(crate) async fn delete_blocks(
        &self,
        key_blocks: Vec<KeyBlocks>,
    ) -> Result<Vec<DeleteKeyBlocksResultProto>, ScmError> {
        let request = ScmBlockLocationRequest {
            cmd_type: block_location::Type::DeleteScmKeyBlocks as i32,
            delete_scm_key_blocks_request: Some(DeleteScmKeyBlocksRequestProto { key_blocks }),
            ..Default::default()
        };
        let response = self.call_block(request, self.timeout).await?;
        let answer = response
            .delete_scm_key_blocks_response
            .ok_or_else(|| no_answer("DeleteScmKeyBlocks"))?;
        Ok(answer.results)
    }

    /// Current locations of containers.
    pub(crate) async fn containers(
        &self,
        ids: Vec<i64>,
    ) -> Result<Vec<hdds::ContainerWithPipeline>, ScmError> {
        let request = ScmContainerLocationRequest {
            cmd_type: container_location::Type::GetContainerWithPipelineBatch as i32,
            get_container_with_pipeline_batch_request: Some(
                GetContainerWithPipelineBatchRequestProto { container_i_ds: ids, trace_id: None },
            ),
            ..Default::default()
        };
        let response = self.call_container(request).await?;
        let answer = response
            .get_container_with_pipeline_batch_response
            .ok_or_else(|| no_answer("GetContainerWithPipelineBatch"))?;
        Ok(answer.container_with_pipelines)
    }

    /// Returns `true` if SCM is in safe mode.
    pub(crate) async fn in_safe_mode(&self) -> Result<bool, ScmError> {
        let request = ScmContainerLocationRequest {
            cmd_type: container_location::Type::InSafeMode as i32,
            in_safe_mode_request: Some(InSafeModeRequestProto::default()),
            ..Default::default()
        };
        let response = self.call_container(request).await?;
        let answer = response.in_safe_mode_response.ok_or_else(|| no_answer("InSafeMode"))?;
        Ok(answer.in_safe_mode)
    }

    /// Makes SCM leave safe mode; returns `true` if it did.
    pub(crate) async fn leave_safe_mode(&self) -> Result<bool, ScmError> {
        let request = ScmContainerLocationRequest {
            cmd_type: container_location::Type::ForceExitSafeMode as i32,
            force_exit_safe_mode_request: Some(ForceExitSafeModeRequestProto::default()),
            ..Default::default()
        };
        let response = self.call_container(request).await?;
        let answer =
            response.force_exit_safe_mode_response.ok_or_else(|| no_answer("ForceExitSafeMode"))?;
        Ok(answer.exited_safe_mode)
    }

    async fn call_container(
        &self,
        mut request: ScmContainerLocationRequest,
    ) -> Result<ScmContainerLocationResponse, ScmError> {
        request.trace_id = telemetry::current_trace_id();
        request.user = Some(self.user.clone());
        let response: ScmContainerLocationResponse =
            self.call(ScmProtocol::Container, &request, self.timeout).await?;
        if response.success == Some(false) {
            return Err(ScmError::Refused(response.message.unwrap_or_default()));
        }
        Ok(response)
    }

    async fn call_block(
        &self,
        mut request: ScmBlockLocationRequest,
        timeout: Duration,
    ) -> Result<ScmBlockLocationResponse, ScmError> {
        request.trace_id = telemetry::current_trace_id();
        let response: ScmBlockLocationResponse =
            self.call(ScmProtocol::Block, &request, timeout).await?;
        if response.success != Some(false) && response.status == block_location::Status::Ok as i32 {
            return Ok(response);
        }
        let status = response.status().as_str_name();
        let message = match response.message {
            Some(message) if !message.is_empty() => message,
            _ => status.to_owned(),
        };
        if response.status == block_location::Status::SafeModeException as i32 {
            return Err(ScmError::SafeMode(message));
        }
        match is_no_room(response.status) {
            true => Err(ScmError::NoRoom(message)),
            false => Err(ScmError::Refused(message)),
        }
    }

    /// Calls the SCM that answered last, then the others, as long as there is time: all requests
    /// may be repeated. The others are called, too, after a delay: the first may hang, or be
    /// partitioned from the rest. A single SCM is called once.
    async fn call<Q: Message, A: Message + Default>(
        &self,
        protocol: ScmProtocol,
        request: &Q,
        timeout: Duration,
    ) -> Result<A, ScmError> {
        let deadline = Instant::now() + timeout;
        for attempt in 1usize.. {
            let current = self.current.load(Ordering::Relaxed);
            let targets = self.targets.load_full();
            let count = targets.len();
            let Some(target) = targets.get(current % count.max(1)) else { break };
            let mut left = deadline.saturating_duration_since(Instant::now());
            if count > 1 {
                left = left.min(ATTEMPT_TIMEOUT);
            }
            let answer = tokio::select! {
                answer = target.call(protocol, request, left) => answer,
                (n, answer) = others(&targets, current % count, protocol, request, deadline), if count > 1 => {
                    self.current.store(n, Ordering::Relaxed);
                    return answer;
                }
            };
            match answer {
                Err(ScmError::Unreachable { .. }) if count > 1 && Instant::now() < deadline => {
                    // The call that sees it first moves all others on.
                    let next = current.wrapping_add(1);
                    let order = Ordering::Relaxed;
                    let _ = self.current.compare_exchange(current, next, order, order);
                    if attempt % count == 0 {
                        tokio::time::sleep(RETRY_DELAY).await;
                    }
                }
                answer => return answer,
            }
        }
        Err(ScmError::Refused(String::from("no SCM is configured")))
    }
}

/// Calls all SCMs but one, a little later, until one of them answers; only the leader does.
async fn others<Q: Message, A: Message + Default>(
    targets: &[Arc<Target>],
    but: usize,
    protocol: ScmProtocol,
    request: &Q,
    deadline: Instant,
) -> (usize, Result<A, ScmError>) {
    tokio::time::sleep(HEDGE_DELAY).await;
    let others = targets.iter().enumerate().filter(|(n, _)| *n != but);
    let mut asked: FuturesUnordered<_> = others
        .map(|(n, target)| async move {
            loop {
                let left = deadline.saturating_duration_since(Instant::now());
                match target.call(protocol, request, left).await {
                    Err(ScmError::Unreachable { .. }) => tokio::time::sleep(HEDGE_DELAY).await,
                    answer => return (n, answer),
                }
            }
        })
        .collect();
    match asked.next().await {
        Some(answered) => answered,
        None => std::future::pending().await,
    }
}

impl Target {
    fn new(addresses: ScmAddresses) -> Self {
        let options = ClientOptions { connections: 1, ..ClientOptions::default() };
        Self {
            block: Client::new(addresses.block.clone(), options.clone()),
            container: Client::new(addresses.client.clone(), options),
            addresses,
        }
    }

    async fn call<Q: Message, A: Message + Default>(
        &self,
        protocol: ScmProtocol,
        request: &Q,
        timeout: Duration,
    ) -> Result<A, ScmError> {
        let (client, address, method) = match protocol {
            ScmProtocol::Block => (&self.block, &self.addresses.block, method::SCM_BLOCK),
            ScmProtocol::Container => {
                (&self.container, &self.addresses.client, method::SCM_CONTAINER_LOCATION)
            }
        };
        framed::message::call::<Q, A>(client, method, request, timeout).await.map_err(
            |e| match &e {
                CallError::Status { status, .. } if !is_passing(status.code) => {
                    ScmError::Refused(status.message.clone())
                }
                _ => ScmError::Unreachable { address: address.clone(), cause: e.to_string() },
            },
        )
    }
}

/// Returns `true` if a refusal is due to the server's present state rather than to the request.
fn is_passing(code: Code) -> bool {
    matches!(code, Code::Unavailable | Code::Busy | Code::NotLeader | Code::DeadlineExceeded)
}

/// Returns `true` if a status of SCM reports no room for blocks, or no nodes that have it.
fn is_no_room(status: i32) -> bool {
    use block_location::Status as S;
    matches!(
        S::try_from(status),
        Ok(S::FailedToAllocateEnoughBlocks
            | S::FailedToFindNodesWithSpace
            | S::FailedToFindContainerWithSpace
            | S::FailedToFindHealthyNodes
            | S::FailedToFindSuitableNode
            | S::FailedToFindActivePipeline
            | S::FailedToAllocateContainer)
    )
}

fn no_answer(call: &str) -> ScmError {
    ScmError::Refused(format!("SCM answered {call} without a result"))
}
