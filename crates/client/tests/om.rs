//! An OM in memory: keys, blocks of its given pipelines, injected failures.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use framed::{Call, Handler, HandlerFuture, Server, ServerOptions, Status as Refusal, message};
use parking_lot::Mutex;
use prost::Message;
use proto::ozone as om;
use proto::ozone::{OmRequest, OmResponse, Status, Type};
use types::{BlockId, ContainerId, LocalId, Pipeline};

/// A change of an OM's state.
pub type Happening = Box<dyn FnOnce(&State) + Send>;

/// A multipart upload.
#[derive(Default)]
pub struct Upload {
    pub metadata: Vec<proto::hdds::KeyValue>,
    pub parts: BTreeMap<u32, om::KeyArgs>,
}

/// Metadata of an upload, and of its open parts.
const UPLOAD_CHECKSUM: &str = "s3:upload-checksum";

fn value_of(metadata: &[proto::hdds::KeyValue], name: &str) -> Option<String> {
    metadata.iter().find(|entry| entry.key == name)?.value.clone()
}

#[derive(Default)]
pub struct State {
    pub pipelines: Mutex<Vec<Pipeline>>,
    pub keys: Mutex<HashMap<String, om::KeyInfo>>,
    pub uploads: Mutex<HashMap<String, Upload>>,
    /// Computes the ETag of the parts of an upload.
    pub etag_of_parts: Mutex<Option<fn(&[om::Part]) -> String>>,
    /// Buckets in responses, with their owners.
    pub owners: Mutex<HashMap<String, String>>,
    pub requests: Mutex<Vec<OmRequest>>,
    pub block_size: AtomicU64,
    /// Erasure coding of keys.
    pub erasure_coding: Mutex<Option<types::replication::EcConfig>>,
    /// Number of blocks returned when a key is created.
    pub preallocate: AtomicUsize,
    /// The address that is named as the leader.
    pub leader: Mutex<Option<String>>,
    /// Executes the next request of this type and drops the connection instead of responding.
    pub lose_answer_of: Mutex<Option<Type>>,
    /// Number of requests in safe mode.
    pub safe_mode: AtomicUsize,
    /// Fails lookups of keys: their row is malformed.
    pub look_up_fails: Mutex<bool>,
    /// Commits no part: its session does not exist.
    pub parts_refused: AtomicBool,
    /// The pipelines that a fresh lookup returns instead.
    pub moved: Mutex<Option<Pipeline>>,
    next: AtomicU64,
    pub lost: AtomicBool,
    /// Runs once, after the next response to GetKeyInfo.
    pub after_look_up: Mutex<Option<Happening>>,
    /// The OM of this address answers no requests.
    pub hangs: Mutex<Option<String>>,
    /// Notified when the hung OM receives a request.
    pub asked_hanging: tokio::sync::Notify,
    /// Number of requests to it that ended without a response because of their timeout.
    pub left_hanging: Arc<AtomicUsize>,
}

impl State {
    pub fn asked(&self, kind: Type) -> Vec<OmRequest> {
        self.requests.lock().iter().filter(|r| r.cmd_type() == kind).cloned().collect()
    }

    fn location(&self, exclude: Option<&proto::hdds::ExcludeListProto>) -> Option<om::KeyLocation> {
        let excluded = |pipeline: &Pipeline| {
            exclude.is_some_and(|e| {
                e.pipeline_ids.contains(&pipeline.id.to_wire())
                    || pipeline.members.iter().any(|m| e.datanodes.contains(&m.id.to_string()))
            })
        };
        let pipelines = self.pipelines.lock();
        let (index, pipeline) = pipelines.iter().enumerate().find(|(_, p)| !excluded(p))?;
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        // A container of its own for each block, numbered by pipeline.
        let container = ContainerId(1000 * (index as u64 + 1) + next);
        Some(om::KeyLocation {
            block_id: BlockId::new(container, LocalId(next + 1)).to_wire(),
            offset: 0,
            length: self.block_size.load(Ordering::Relaxed),
            pipeline: Some(Box::new(pipeline.to_wire())),
            ..Default::default()
        })
    }

    fn answer(&self, request: &OmRequest) -> OmResponse {
        let mut response = OmResponse {
            cmd_type: request.cmd_type,
            status: Status::Ok as i32,
            ..Default::default()
        };
        let fail = |response: &mut OmResponse, status: Status| {
            response.status = status as i32;
            response.success = Some(false);
            response.message = Some("told to".to_owned());
        };
        match request.cmd_type() {
            Type::CreateKey => {
                let waits = self.safe_mode.load(Ordering::Relaxed);
                if waits > 0 {
                    self.safe_mode.store(waits - 1, Ordering::Relaxed);
                    fail(&mut response, Status::ScmInSafeMode);
                    return response;
                }
                let args = &request.create_key_request.as_ref().unwrap().key_args;
                let count = self.preallocate.load(Ordering::Relaxed);
                let key_locations = (0..count).filter_map(|_| self.location(None)).collect();
                let upload = self.uploads.lock();
                let upload = args.multipart_upload_id.as_ref().and_then(|id| upload.get(id));
                let agreed = upload.map(|upload| upload.metadata.iter());
                let agreed = agreed.into_iter().flatten().filter(|e| e.key == UPLOAD_CHECKSUM);
                let replication = match *self.erasure_coding.lock() {
                    Some(config) => types::ReplicationConfig::Ec(config),
                    None => types::ReplicationConfig::RATIS_THREE,
                };
                let info = om::KeyInfo {
                    volume_name: args.volume_name.clone(),
                    bucket_name: args.bucket_name.clone(),
                    key_name: args.key_name.clone(),
                    metadata: agreed.cloned().collect(),
                    r#type: replication.wire_type() as i32,
                    factor: replication.wire_factor().map(|factor| factor as i32),
                    ec_replication_config: replication.wire_ec(),
                    key_location_list: vec![om::KeyLocationList {
                        key_locations,
                        ..Default::default()
                    }],
                    ..Default::default()
                };
                response.create_key_response = Some(Box::new(om::CreateKeyResponse {
                    key_info: Some(info),
                    id: Some(self.next.fetch_add(1, Ordering::Relaxed)),
                    open_version: Some(0),
                }));
            }
            Type::AllocateBlock => {
                let exclude =
                    request.allocate_block_request.as_ref().unwrap().exclude_list.as_ref();
                match self.location(exclude) {
                    Some(location) => {
                        response.allocate_block_response =
                            Some(Box::new(om::AllocateBlockResponse {
                                key_location: Some(location),
                            }));
                    }
                    None => fail(&mut response, Status::InternalError),
                }
            }
            Type::CommitKey => {
                let args = request.commit_key_request.as_ref().unwrap().key_args.clone();
                let committed = om::KeyInfo {
                    volume_name: args.volume_name.clone(),
                    bucket_name: args.bucket_name.clone(),
                    key_name: args.key_name.clone(),
                    data_size: args.data_size(),
                    r#type: args.r#type() as i32,
                    factor: args.factor,
                    ec_replication_config: args.ec_replication_config,
                    metadata: args.metadata,
                    key_location_list: vec![om::KeyLocationList {
                        key_locations: args.key_locations,
                        ..Default::default()
                    }],
                    ..Default::default()
                };
                let mut keys = self.keys.lock();
                match keys.contains_key(&args.key_name) && self.lost.load(Ordering::Relaxed) {
                    // The open key was committed before: it does not exist any more.
                    true => fail(&mut response, Status::KeyNotFound),
                    false => drop(keys.insert(args.key_name, committed)),
                }
            }
            Type::GetKeyInfo => {
                let args = &request.get_key_info_request.as_ref().unwrap().key_args;
                let fresh = args.force_update_container_cache_from_scm();
                match self.keys.lock().get(&args.key_name).cloned() {
                    _ if *self.look_up_fails.lock() => fail(&mut response, Status::InternalError),
                    None => fail(&mut response, Status::KeyNotFound),
                    Some(mut info) => {
                        for location in &mut info.key_location_list[0].key_locations {
                            let pipeline = self.pipeline_of(location, fresh);
                            location.pipeline = Some(Box::new(pipeline.to_wire()));
                        }
                        response.get_key_info_response = Some(Box::new(om::GetKeyInfoResponse {
                            key_info: Some(info),
                            ..Default::default()
                        }));
                    }
                }
            }
            Type::DeleteKey => {
                let args = &request.delete_key_request.as_ref().unwrap().key_args;
                if self.keys.lock().remove(&args.key_name).is_none() {
                    fail(&mut response, Status::KeyNotFound);
                }
            }
            Type::ListKeysLight => {
                let list = request.list_keys_request.as_ref().unwrap();
                let mut names: Vec<_> = self.keys.lock().keys().cloned().collect();
                names.sort();
                let mut left = names
                    .into_iter()
                    .filter(|n| n.starts_with(list.prefix()) && n.as_str() > list.start_key());
                let page: Vec<_> = left.by_ref().take(list.count() as usize).collect();
                let basic = |name| om::BasicKeyInfo { key_name: Some(name), ..Default::default() };
                response.list_keys_light_response = Some(Box::new(om::ListKeysLightResponse {
                    basic_key_info: page.into_iter().map(basic).collect(),
                    is_truncated: Some(left.next().is_some()),
                }));
            }
            Type::InitiateMultiPartUpload => {
                let args = &request.initiate_multi_part_upload_request.as_ref().unwrap().key_args;
                let id = format!("upload-{}", self.next.fetch_add(1, Ordering::Relaxed));
                let upload = Upload { metadata: args.metadata.clone(), ..Default::default() };
                self.uploads.lock().insert(id.clone(), upload);
                response.initiate_multi_part_upload_response =
                    Some(Box::new(om::MultipartInfoInitiateResponse {
                        volume_name: args.volume_name.clone(),
                        bucket_name: args.bucket_name.clone(),
                        key_name: args.key_name.clone(),
                        multipart_upload_id: id,
                    }));
            }
            Type::CommitMultiPartUpload => {
                let args = &request.commit_multi_part_upload_request.as_ref().unwrap().key_args;
                match self.uploads.lock().get_mut(args.multipart_upload_id()) {
                    None => fail(&mut response, Status::NoSuchMultipartUploadError),
                    Some(_) if self.parts_refused.load(Ordering::Relaxed) => {
                        fail(&mut response, Status::KeyNotFound);
                    }
                    Some(upload) => {
                        upload.parts.insert(args.multipart_number(), args.clone());
                        response.commit_multi_part_upload_response =
                            Some(Box::new(om::MultipartCommitUploadPartResponse {
                                part_name: None,
                                e_tag: value_of(&args.metadata, "ETag"),
                            }));
                    }
                }
            }
            Type::ListMultiPartUploadParts => {
                let asked = request.list_multipart_upload_parts_request.as_ref().unwrap();
                match self.uploads.lock().get(&asked.upload_id) {
                    None => fail(&mut response, Status::NoSuchMultipartUploadError),
                    Some(upload) => {
                        let listed = |(number, args): (&u32, &om::KeyArgs)| om::PartInfo {
                            part_number: *number,
                            size: args.data_size(),
                            e_tag: value_of(&args.metadata, "ETag"),
                            checksum: Some(
                                value_of(&args.metadata, "s3:checksum").unwrap_or_default(),
                            ),
                            ..Default::default()
                        };
                        response.list_multipart_upload_parts_response =
                            Some(Box::new(om::MultipartUploadListPartsResponse {
                                parts_list: upload.parts.iter().map(listed).collect(),
                                checksum: value_of(&upload.metadata, UPLOAD_CHECKSUM),
                                is_truncated: Some(false),
                                ..Default::default()
                            }));
                    }
                }
            }
            Type::AbortMultiPartUpload => {
                let args = &request.abort_multi_part_upload_request.as_ref().unwrap().key_args;
                if self.uploads.lock().remove(args.multipart_upload_id()).is_none() {
                    fail(&mut response, Status::NoSuchMultipartUploadError);
                }
            }
            Type::CompleteMultiPartUpload => {
                let asked = request.complete_multi_part_upload_request.as_ref().unwrap();
                let args = &asked.key_args;
                match self.uploads.lock().remove(args.multipart_upload_id()) {
                    None => fail(&mut response, Status::NoSuchMultipartUploadError),
                    Some(upload) => {
                        let of_parts = *self.etag_of_parts.lock();
                        let hash = of_parts.map_or_else(String::new, |of| of(&asked.parts_list));
                        let entry = proto::hdds::KeyValue {
                            key: "ETag".to_owned(),
                            value: Some(hash.clone()),
                        };
                        let chosen =
                            asked.parts_list.iter().map(|part| &upload.parts[&part.part_number]);
                        let key = om::KeyInfo {
                            key_name: args.key_name.clone(),
                            data_size: chosen.clone().map(om::KeyArgs::data_size).sum(),
                            metadata: upload
                                .metadata
                                .iter()
                                .chain(&args.metadata)
                                .cloned()
                                .chain([entry])
                                .collect(),
                            key_location_list: vec![om::KeyLocationList {
                                key_locations: chosen
                                    .flat_map(|part| part.key_locations.clone())
                                    .collect(),
                                ..Default::default()
                            }],
                            ..Default::default()
                        };
                        self.keys.lock().insert(args.key_name.clone(), key);
                        response.complete_multi_part_upload_response =
                            Some(Box::new(om::MultipartUploadCompleteResponse {
                                hash: Some(hash),
                                ..Default::default()
                            }));
                    }
                }
            }
            Type::InfoBucket => {
                let asked = request.info_bucket_request.as_ref().unwrap();
                match self.owners.lock().get(&asked.bucket_name) {
                    None => fail(&mut response, Status::BucketNotFound),
                    Some(owner) => {
                        let info = om::BucketInfo {
                            volume_name: asked.volume_name.clone(),
                            bucket_name: asked.bucket_name.clone(),
                            owner: Some(owner.clone()),
                            ..Default::default()
                        };
                        response.info_bucket_response =
                            Some(Box::new(om::InfoBucketResponse { bucket_info: Some(info) }));
                    }
                }
            }
            _ => fail(&mut response, Status::NotSupportedOperation),
        }
        response
    }

    fn pipeline_of(&self, location: &om::KeyLocation, fresh: bool) -> Pipeline {
        if fresh && let Some(moved) = &*self.moved.lock() {
            return moved.clone();
        }
        let container = location.block_id.container_block_id.container_id;
        self.pipelines.lock()[container as usize / 1000 - 1].clone()
    }
}

pub struct Om {
    pub state: Arc<State>,
    pub address: String,
    _server: Server,
}

struct Service(Arc<State>, Arc<Mutex<String>>);

/// Counts a request that ends without a response.
struct Left(Arc<AtomicUsize>);

impl Drop for Left {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Handler for Service {
    fn call(&self, call: Call) -> HandlerFuture {
        if self.0.hangs.lock().as_ref() == Some(&*self.1.lock()) {
            self.0.asked_hanging.notify_one();
            let is_request = call.method == proto::method::OM;
            let left = is_request.then(|| Left(self.0.left_hanging.clone()));
            return Box::pin(async move {
                let _left = left;
                std::future::pending().await
            });
        }
        if call.method == proto::method::OM_STATE {
            let leads = self.0.leader.lock().as_ref().is_none_or(|l| *l == *self.1.lock());
            let role = if leads { "LEADER" } else { "FOLLOWER" }.to_owned();
            let state =
                proto::om_admin::OmStateResponse { role, ready: true, ..Default::default() };
            return Box::pin(async move { Ok(message::reply(&state)) });
        }
        let request = OmRequest::decode(call.header).unwrap();
        self.0.requests.lock().push(request.clone());
        if let Some(leader) = &*self.0.leader.lock()
            && *leader != *self.1.lock()
        {
            let refusal = Refusal::not_leader("not me", leader.clone());
            return Box::pin(async { Err(refusal) });
        }
        let response = self.0.answer(&request);
        if request.cmd_type() == Type::GetKeyInfo
            && let Some(happens) = self.0.after_look_up.lock().take()
        {
            happens(&self.0);
        }
        let mut lose = self.0.lose_answer_of.lock();
        if *lose == Some(request.cmd_type()) {
            *lose = None;
            self.0.lost.store(true, Ordering::Relaxed);
            let refusal = Refusal::unavailable("the outcome is unknown");
            return Box::pin(async { Err(refusal) });
        }
        Box::pin(async move { Ok(message::reply(&response)) })
    }
}

impl Om {
    pub async fn start(state: Arc<State>) -> Self {
        let own = Arc::new(Mutex::new(String::new()));
        let service = Arc::new(Service(state.clone(), own.clone()));
        let server = Server::bind("127.0.0.1:0", service, ServerOptions::default()).await.unwrap();
        let address = server.local_addr().to_string();
        *own.lock() = address.clone();
        Self { state, address, _server: server }
    }
}
