//! An OM of one thread over tables in memory.

use std::cell::Cell;

use namespace::{
    Effect, Fresh, MemoryTables, OmError, Overlay, PrepareContext, ReadContext, Route, RowChange,
    Settings, Table, TransactionPosition, View, apply, assign_blocks, prepare, read, read_encoded,
    route,
};
use prost::Message;
use proto::hdds::{BlockId, ContainerBlockId, KeyValue, Pipeline, PipelineId};
use proto::ozone::*;

/// The one user.
pub const USER: &str = "ann";
pub const VOL: &str = "vol1";
pub const BUCKET: &str = "bucket1";
/// A bucket of layout FILE_SYSTEM_OPTIMIZED.
pub const TREE: &str = "tree1";
/// A LEGACY bucket.
pub const LEGACY: &str = "legacy1";

#[derive(Default)]
pub struct Counter(Cell<u64>);

impl Fresh for Counter {
    fn id(&self) -> u64 {
        self.0.set(self.0.get() + 1);
        100_000 + self.0.get()
    }
    fn uuid(&self) -> [u8; 16] {
        u128::from(self.id()).to_be_bytes()
    }
    fn secret(&self) -> [u8; 32] {
        [self.id() as u8; 32]
    }
}

#[derive(Default)]
pub struct Om {
    pub tables: MemoryTables,
    pub settings: Settings,
    pub log: Vec<(TransactionPosition, OmRequest)>,
    pub effects: Vec<Effect>,
    pub now: u64,
    /// The user that asks; [`USER`] when empty.
    pub user: String,
    /// Their groups; `staff` when empty.
    pub groups: Vec<String>,
    fresh: Counter,
    blocks: i64,
}

impl Om {
    /// With a volume and an OBS bucket.
    pub fn new() -> Self {
        let mut om = Self::bare();
        om.ok(create_volume(VOL));
        om.ok(create_bucket(VOL, BUCKET));
        om
    }

    /// With a tree and a LEGACY bucket as well.
    pub fn with_paths() -> Self {
        let mut om = Self::new();
        for (name, layout) in
            [(TREE, BucketLayoutProto::FileSystemOptimized), (LEGACY, BucketLayoutProto::Legacy)]
        {
            let layout = Some(layout as i32);
            om.ok(make_bucket(BucketInfo { bucket_layout: layout, ..bucket_info(VOL, name) }));
        }
        om
    }

    pub fn bare() -> Self {
        let settings = Settings { hsync: true, ..Settings::default() };
        Self { now: 1_000, settings, ..Self::default() }
    }

    /// Answers as the server does: reads from the tables, writes through the log.
    pub fn submit(&mut self, request: OmRequest) -> OmResponse {
        self.now += 1;
        match route(&request) {
            Route::Write => {}
            _ => return self.read(&request),
        }
        match self.prepared(request.clone()) {
            Ok(entry) => self.log_and_apply(entry),
            Err(e) => e.into_response(request.cmd_type, request.trace_id),
        }
    }

    pub fn prepared(&mut self, request: OmRequest) -> Result<OmRequest, OmError> {
        let (user, groups) = self.asker();
        let prepared = prepare(
            request,
            &PrepareContext {
                now_ms: self.now,
                view: &self.tables,
                user: &user,
                groups: &groups,
                settings: &self.settings,
                fresh: &self.fresh,
            },
        )?;
        let mut entry = prepared.request;
        if let Some(demand) = prepared.blocks {
            let blocks = (0..demand.count).map(|_| self.block(demand.size)).collect();
            assign_blocks(&mut entry, blocks);
        }
        Ok(entry)
    }

    fn asker(&self) -> (String, Vec<String>) {
        let user = if self.user.is_empty() { USER } else { &self.user };
        let groups = match self.groups.is_empty() {
            true => vec!["staff".to_owned()],
            false => self.groups.clone(),
        };
        (user.to_owned(), groups)
    }

    /// From now on `user` of `group` asks.
    pub fn be(&mut self, user: &str, group: &str) {
        self.user = user.to_owned();
        self.groups = vec![group.to_owned()];
    }

    pub fn log_and_apply(&mut self, entry: OmRequest) -> OmResponse {
        let tx = TransactionPosition { term: 1, index: self.log.len() as u64 + 1 };
        // The applied entry is the decoded one from the log.
        let decoded = OmRequest::decode(entry.encode_to_vec().as_slice()).unwrap();
        self.log.push((tx, entry));
        let applied = apply(decoded, tx, &self.tables).unwrap();
        self.effects = applied.effects.clone();
        applied.effects.into_iter().for_each(|e| self.tables.apply(e));
        applied.response
    }

    pub fn read(&self, request: &OmRequest) -> OmResponse {
        let (user, groups) = self.asker();
        let cx = ReadContext {
            view: &self.tables,
            user: &user,
            groups: &groups,
            settings: &self.settings,
        };
        let response = read(request, &cx);
        let encoded = read_encoded(request, &cx);
        assert_eq!(encoded, response.encode_to_vec(), "the fast form is equal");
        response
    }

    pub fn ok(&mut self, request: OmRequest) -> OmResponse {
        let response = self.submit(request);
        assert_eq!(status(&response), Status::Ok, "{:?}", response.message);
        assert_eq!(response.success, Some(true));
        response
    }

    pub fn refused(&mut self, request: OmRequest) -> Status {
        let response = self.submit(request);
        assert_eq!(response.success, Some(false));
        assert!(!response.message.clone().unwrap_or_default().is_empty());
        status(&response)
    }

    /// A block as SCM gives it, pipeline and all.
    pub fn block(&mut self, length: u64) -> KeyLocation {
        self.blocks += 1;
        let pipeline = Pipeline {
            id: PipelineId { id: Some("p".to_owned()), uuid128: None },
            ..Pipeline::default()
        };
        KeyLocation { pipeline: Some(Box::new(pipeline)), ..location(self.blocks, length) }
    }

    /// The whole life of a key of `size` bytes; its blocks are as long as they must be.
    pub fn put(&mut self, key: &str, size: u64) -> OmResponse {
        self.put_in(BUCKET, key, size)
    }

    pub fn put_in(&mut self, bucket: &str, key: &str, size: u64) -> OmResponse {
        let (id, blocks) = self.open(bucket, key, size);
        self.submit(commit(bucket, key, id, size, used(blocks, size)))
    }

    /// Session id and blocks of a key being written.
    pub fn open(&mut self, bucket: &str, key: &str, size: u64) -> (u64, Vec<KeyLocation>) {
        let args = KeyArgs { data_size: Some(size), ..args(bucket, key) };
        let created = self.ok(create_key(args)).create_key_response.unwrap();
        let info = created.key_info.unwrap();
        (created.id.unwrap(), info.key_location_list[0].key_locations.clone())
    }

    pub fn key(&self, key: &str) -> Option<KeyInfo> {
        self.row(Table::KeyTable, &format!("/{VOL}/{BUCKET}/{key}"))
    }

    pub fn row<M: Message + Default>(&self, table: Table, key: &str) -> Option<M> {
        let value = self.tables.get(table, key.as_bytes()).unwrap()?;
        Some(M::decode(value).unwrap())
    }

    /// The tables after the log, applied in rounds of `round` entries.
    pub fn replay(&self, round: usize) -> MemoryTables {
        let mut tables = MemoryTables::default();
        for entries in self.log.chunks(round) {
            let mut overlay = Overlay::new(&tables);
            for (tx, entry) in entries {
                let applied = apply(entry.clone(), *tx, &overlay).unwrap();
                overlay.absorb(applied.effects);
            }
            let changes: Vec<_> = overlay.drain_changes().collect();
            for (table, key, change) in changes {
                tables.apply(match change {
                    RowChange::Deleted => Effect::Delete { table, key },
                    change => {
                        let value = change.value().unwrap();
                        Effect::Put { table, key, value }
                    }
                });
            }
        }
        tables
    }

    pub fn rows(&self, table: Table) -> Vec<String> {
        let mut keys = Vec::new();
        self.tables
            .scan(table, b"", None, &mut |key, _| {
                keys.push(String::from_utf8_lossy(key).into_owned());
                std::ops::ControlFlow::Continue(())
            })
            .unwrap();
        keys
    }

    pub fn bucket(&self, name: &str) -> BucketInfo {
        self.row(Table::BucketTable, &format!("/{VOL}/{name}")).unwrap()
    }

    /// Used bytes and names, and those of deleted keys.
    pub fn used(&self) -> (u64, u64, u64, u64) {
        self.used_in(BUCKET)
    }

    pub fn used_in(&self, bucket: &str) -> (u64, u64, u64, u64) {
        let b = self.bucket(bucket);
        let or_0 = Option::unwrap_or_default;
        (
            or_0(b.used_bytes),
            or_0(b.used_namespace),
            or_0(b.snapshot_used_bytes),
            or_0(b.snapshot_used_namespace),
        )
    }

    /// Keys in the deletedTable with the local ids of their blocks.
    pub fn deleted(&self) -> Vec<(String, Vec<i64>)> {
        self.rows(Table::DeletedTable)
            .into_iter()
            .map(|key| {
                let row: RepeatedKeyInfo = self.row(Table::DeletedTable, &key).unwrap();
                let blocks = row.key_info.iter().flat_map(local_ids).collect();
                (key, blocks)
            })
            .collect()
    }
}

pub fn local_ids(key: &KeyInfo) -> Vec<i64> {
    let blocks = key.key_location_list.iter().flat_map(|v| &v.key_locations);
    blocks.map(|l| l.block_id.container_block_id.local_id).collect()
}

pub fn status(response: &OmResponse) -> Status {
    Status::try_from(response.status).unwrap()
}

pub fn location(local_id: i64, length: u64) -> KeyLocation {
    KeyLocation {
        block_id: BlockId {
            container_block_id: ContainerBlockId { container_id: 1, local_id },
            block_commit_sequence_id: Some(7),
        },
        length,
        ..KeyLocation::default()
    }
}

/// The blocks that `size` bytes need, with their real lengths.
pub fn used(blocks: Vec<KeyLocation>, mut size: u64) -> Vec<KeyLocation> {
    let mut used = Vec::new();
    for mut block in blocks {
        if size == 0 {
            break;
        }
        block.length = block.length.min(size);
        size -= block.length;
        used.push(block);
    }
    used
}

pub fn entry(key: &str, value: &str) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(value.to_owned()) }
}

pub fn args(bucket: &str, key: &str) -> KeyArgs {
    KeyArgs {
        volume_name: VOL.to_owned(),
        bucket_name: bucket.to_owned(),
        key_name: key.to_owned(),
        ..KeyArgs::default()
    }
}

pub fn request(command: Type) -> OmRequest {
    OmRequest {
        cmd_type: command as i32,
        client_id: "test".to_owned(),
        trace_id: Some("trace".to_owned()),
        ..OmRequest::default()
    }
}

macro_rules! requests {
    ($($function:ident($($arg:ident: $type:ty),*) = $command:ident, $field:ident, $message:expr;)*) => {
        $(pub fn $function($($arg: $type),*) -> OmRequest {
            OmRequest { $field: Some(Box::new($message)), ..request(Type::$command) }
        })*
    };
}

requests! {
    create_volume(volume: &str) = CreateVolume, create_volume_request, CreateVolumeRequest {
        volume_info: VolumeInfo {
            admin_name: USER.to_owned(),
            owner_name: USER.to_owned(),
            volume: volume.to_owned(),
            ..VolumeInfo::default()
        },
    };
    delete_volume(volume: &str) = DeleteVolume, delete_volume_request,
        DeleteVolumeRequest { volume_name: volume.to_owned() };
    info_volume(volume: &str) = InfoVolume, info_volume_request,
        InfoVolumeRequest { volume_name: volume.to_owned() };
    list_volume(r: ListVolumeRequest) = ListVolume, list_volume_request, r;
    set_volume(r: SetVolumePropertyRequest) = SetVolumeProperty, set_volume_property_request, r;
    make_bucket(info: BucketInfo) = CreateBucket, create_bucket_request,
        CreateBucketRequest { bucket_info: info };
    info_bucket(bucket: &str) = InfoBucket, info_bucket_request, InfoBucketRequest {
        volume_name: VOL.to_owned(),
        bucket_name: bucket.to_owned(),
    };
    set_bucket(args: BucketArgs) = SetBucketProperty, set_bucket_property_request,
        SetBucketPropertyRequest { bucket_args: Some(args), modification_time: None };
    delete_bucket(bucket: &str) = DeleteBucket, delete_bucket_request, DeleteBucketRequest {
        volume_name: VOL.to_owned(),
        bucket_name: bucket.to_owned(),
    };
    list_buckets(r: ListBucketsRequest) = ListBuckets, list_buckets_request, r;
    create_key(args: KeyArgs) = CreateKey, create_key_request,
        CreateKeyRequest { key_args: args, client_id: None };
    allocate_block(args: KeyArgs, id: u64) = AllocateBlock, allocate_block_request,
        AllocateBlockRequest { key_args: args, client_id: id, ..Default::default() };
    commit_key(args: KeyArgs, id: u64, sync: bool) = CommitKey, commit_key_request,
        CommitKeyRequest { key_args: args, client_id: id, hsync: Some(sync), recovery: Some(false) };
    lookup_key(args: KeyArgs) = LookupKey, lookup_key_request, LookupKeyRequest { key_args: args };
    get_key_info(args: KeyArgs, s3: bool) = GetKeyInfo, get_key_info_request,
        GetKeyInfoRequest { key_args: args, assume_s3_context: Some(s3) };
    delete_key(args: KeyArgs) = DeleteKey, delete_key_request, DeleteKeyRequest { key_args: args };
    rename_key(args: KeyArgs, to: &str) = RenameKey, rename_key_request,
        RenameKeyRequest { key_args: args, to_key_name: to.to_owned() };
    delete_keys(keys: &[&str]) = DeleteKeys, delete_keys_request, DeleteKeysRequest {
        delete_keys: Some(DeleteKeyArgs {
            volume_name: VOL.to_owned(),
            bucket_name: BUCKET.to_owned(),
            keys: keys.iter().map(|k| (*k).to_owned()).collect(),
            ..DeleteKeyArgs::default()
        }),
    };
    purge(keys: Vec<String>) = PurgeKeys, purge_keys_request, PurgeKeysRequest {
        deleted_keys: vec![DeletedKeys {
            volume_name: String::new(),
            bucket_name: String::new(),
            keys,
        }],
        ..PurgeKeysRequest::default()
    };
    list_keys(r: ListKeysRequest) = ListKeys, list_keys_request, r;
    list_keys_light(r: ListKeysRequest) = ListKeysLight, list_keys_request, r;
    initiate(args: KeyArgs) = InitiateMultiPartUpload, initiate_multi_part_upload_request,
        MultipartInfoInitiateRequest { key_args: args };
    commit_part(args: KeyArgs, id: u64) = CommitMultiPartUpload, commit_multi_part_upload_request,
        MultipartCommitUploadPartRequest { key_args: args, client_id: id };
    complete(args: KeyArgs, parts: Vec<Part>) = CompleteMultiPartUpload,
        complete_multi_part_upload_request,
        MultipartUploadCompleteRequest {
            key_args: args, parts_list: parts, ..Default::default()
        };
    abort(args: KeyArgs) = AbortMultiPartUpload, abort_multi_part_upload_request,
        MultipartUploadAbortRequest { key_args: args };
}

requests! {
    create_file(args: KeyArgs, recursive: bool, overwrite: bool) = CreateFile,
        create_file_request, CreateFileRequest {
            key_args: args,
            is_recursive: recursive,
            is_overwrite: overwrite,
            client_id: None,
        };
    mkdir(args: KeyArgs) = CreateDirectory, create_directory_request,
        CreateDirectoryRequest { key_args: args };
    file_status(args: KeyArgs) = GetFileStatus, get_file_status_request,
        GetFileStatusRequest { key_args: args };
    lookup_file(args: KeyArgs) = LookupFile, lookup_file_request,
        LookupFileRequest { key_args: args };
    list_status(r: ListStatusRequest) = ListStatus, list_status_request, r;
    list_status_light(r: ListStatusRequest) = ListStatusLight, list_status_request, r;
    purge_directories(r: PurgeDirectoriesRequest) = PurgeDirectories, purge_directories_request, r;
}

pub fn create_bucket(volume: &str, bucket: &str) -> OmRequest {
    make_bucket(bucket_info(volume, bucket))
}

pub fn bucket_info(volume: &str, bucket: &str) -> BucketInfo {
    BucketInfo {
        volume_name: volume.to_owned(),
        bucket_name: bucket.to_owned(),
        bucket_layout: Some(BucketLayoutProto::ObjectStore as i32),
        ..BucketInfo::default()
    }
}

pub fn commit(
    bucket: &str,
    key: &str,
    id: u64,
    size: u64,
    key_locations: Vec<KeyLocation>,
) -> OmRequest {
    let args = KeyArgs { data_size: Some(size), key_locations, ..args(bucket, key) };
    commit_key(args, id, false)
}
