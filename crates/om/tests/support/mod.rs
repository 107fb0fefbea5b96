//! An OM with a fake SCM, and clients for both endpoints.

#![allow(dead_code)]

pub mod fake_scm;
pub mod requests;
pub mod service;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use config::Configuration;
pub use fake_scm::FakeScm;
use framed::{CallError, Client, ClientOptions, Server};
use om::{Om, OmHandle, OmOptions};
use prost::Message;
use proto::method;
use proto::ozone::*;

pub const TIMEOUT: Duration = testkit::LIMIT;

pub struct World {
    pub scm: Arc<FakeScm>,
    pub scm_server: Server,
    pub dir: tempfile::TempDir,
    pub settings: Vec<(&'static str, String)>,
}

impl World {
    pub async fn new() -> Self {
        let scm = FakeScm::new("cluster-1");
        let scm_server = scm.serve().await;
        Self { scm, scm_server, dir: tempfile::tempdir().unwrap(), settings: Vec::new() }
    }

    pub fn with(mut self, key: &'static str, value: impl ToString) -> Self {
        self.settings.push((key, value.to_string()));
        self
    }

    pub fn conf(&self, dir: &Path) -> Configuration {
        let file = self.dir.path().join("ozone-site.xml");
        let builder = Configuration::builder();
        let builder = if file.exists() { builder.file(&file).unwrap() } else { builder };
        let conf = builder
            .build()
            .unwrap()
            .with("ozone.om.db.dirs", dir.display())
            .with("ozone.om.address", "127.0.0.1:0")
            .with("ozone.om.grpc.port", 0)
            .with("ozone.om.http-address", "127.0.0.1:0")
            .with("trioxide.om.cache.size", "32MB")
            .with("trioxide.audit.flush.interval", "10ms")
            .with("trioxide.om.deleted.blocks.kept", "0s")
            .with("ozone.scm.client.address", self.scm_server.local_addr())
            .with("ozone.scm.block.client.address", self.scm_server.local_addr());
        self.settings.iter().fold(conf, |conf, (key, value)| conf.with(key, value))
    }

    pub async fn start(&self) -> TestOm {
        self.start_in(self.dir.path()).await
    }

    pub async fn start_in(&self, dir: &Path) -> TestOm {
        let handle = Om::start(&self.conf(dir), OmOptions::default()).await.unwrap();
        TestOm::new(handle)
    }

    /// The directory as a crash would leave it now: its files, copied without any process finishing
    /// its work.
    pub fn crash_image(&self) -> tempfile::TempDir {
        let image = tempfile::tempdir().unwrap();
        copy(self.dir.path(), image.path());
        image
    }

    pub fn audit_file(&self) -> PathBuf {
        self.dir.path().join("om/audit/om-audit.log")
    }
}

/// Copies a directory of an OM that runs as its end by kill -9 would leave it: all files as of one
/// moment, with what the system has taken and not synced. It is copied again until nothing was
/// written meanwhile.
pub fn copy(from: &Path, to: &Path) {
    testkit::until_blocking(format!("nothing is written to {}", from.display()), || {
        let before = listing(from);
        assert!(!before.is_empty(), "nothing is in {}", from.display());
        let _ = std::fs::remove_dir_all(to);
        copy_files(from, to);
        before == listing(from)
    });
}

/// Files that go away meanwhile are left out.
fn copy_files(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).into_iter().flatten().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_files(&entry.path(), &target);
        } else {
            match std::fs::copy(entry.path(), target) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{error}"),
                _ => {}
            }
        }
    }
}

/// All files below a directory, with attributes that change at a write.
fn listing(dir: &Path) -> BTreeSet<(PathBuf, u64, Option<SystemTime>)> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let Ok(about) = entry.metadata() else { continue };
        found.insert((entry.path(), about.len(), about.modified().ok()));
        if about.is_dir() {
            found.append(&mut listing(&entry.path()));
        }
    }
    found
}

pub struct TestOm {
    pub handle: OmHandle,
    pub client: Client,
}

impl TestOm {
    pub fn new(handle: OmHandle) -> Self {
        let address = handle.addresses().framed.to_string();
        Self { client: Client::new(address, ClientOptions::default()), handle }
    }

    /// The answer, success or not.
    pub async fn ask(&self, request: OmRequest) -> OmResponse {
        self.try_ask(request, TIMEOUT).await.unwrap()
    }

    pub async fn try_ask(&self, request: OmRequest, t: Duration) -> Result<OmResponse, CallError> {
        let header = Bytes::from(request.encode_to_vec());
        let reply = self.client.call(method::OM, header, Bytes::new(), t).await?;
        Ok(OmResponse::decode(reply.header).unwrap())
    }

    /// The answer, which must be a success.
    pub async fn ok(&self, request: OmRequest) -> OmResponse {
        let answer = self.ask(request.clone()).await;
        assert_eq!(answer.status(), Status::Ok, "{request:?}: {:?}", answer.message);
        assert_eq!(answer.success, Some(true));
        answer
    }

    /// The status of a refusal.
    pub async fn refused(&self, request: OmRequest) -> Status {
        let answer = self.ask(request).await;
        assert_eq!(answer.success, Some(false), "{answer:?}");
        answer.status()
    }

    pub async fn bucket(&self, volume: &str, bucket: &str) {
        let existing = self.ask(requests::create_volume(volume)).await.status();
        assert!(matches!(existing, Status::Ok | Status::VolumeAlreadyExists));
        self.ok(requests::create_bucket(volume, bucket)).await;
    }

    /// A bucket of layout FILE_SYSTEM_OPTIMIZED.
    pub async fn tree(&self, volume: &str, bucket: &str) {
        let mut create = requests::create_bucket(volume, bucket);
        let layout = BucketLayoutProto::FileSystemOptimized as i32;
        create.create_bucket_request.as_mut().unwrap().bucket_info.bucket_layout = Some(layout);
        self.ok(create).await;
    }

    /// Creates and commits a key of `size` bytes in one block per 256 MiB; its final info.
    pub async fn put(&self, volume: &str, bucket: &str, key: &str, size: u64) -> KeyInfo {
        let args = requests::key_args(volume, bucket, key, size);
        let (session, args) = self.open(args).await;
        self.ok(requests::commit_key(args, session)).await;
        self.info(volume, bucket, key).await
    }

    /// Like [`Self::put`], if another client may be faster.
    pub async fn put_any(&self, volume: &str, bucket: &str, key: &str, size: u64) {
        let (session, args) = self.open(requests::key_args(volume, bucket, key, size)).await;
        self.ask(requests::commit_key(args, session)).await;
    }

    /// Opens a key; its session and the arguments to commit it with.
    pub async fn open(&self, mut args: KeyArgs) -> (u64, KeyArgs) {
        let created = self.ok(requests::create_key(args.clone())).await;
        let created = created.create_key_response.unwrap();
        let info = created.key_info.unwrap();
        args.key_locations =
            info.key_location_list.into_iter().flat_map(|v| v.key_locations).collect();
        let mut rest = args.data_size.unwrap();
        for location in &mut args.key_locations {
            location.length = location.length.min(rest);
            rest -= location.length;
        }
        (created.id.unwrap(), args)
    }

    pub async fn info(&self, volume: &str, bucket: &str, key: &str) -> KeyInfo {
        let answer =
            self.ok(requests::get_key_info(requests::key_args(volume, bucket, key, 0))).await;
        answer.get_key_info_response.unwrap().key_info.unwrap()
    }

    pub async fn bucket_info(&self, volume: &str, bucket: &str) -> BucketInfo {
        let answer = self.ok(requests::info_bucket(volume, bucket)).await;
        answer.info_bucket_response.unwrap().bucket_info.unwrap()
    }

    pub async fn names(&self, volume: &str, bucket: &str, prefix: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        loop {
            let start = names.last().cloned().unwrap_or_default();
            let page = self.ok(requests::list_keys(volume, bucket, &start, prefix, 7)).await;
            let page = page.list_keys_light_response.unwrap().basic_key_info;
            if page.is_empty() {
                return names;
            }
            names.extend(page.into_iter().map(|k| k.key_name.unwrap()));
        }
    }
}

/// Blocks of a key, as (container, local) pairs.
pub fn blocks(key: &KeyInfo) -> Vec<(i64, i64)> {
    let locations = key.key_location_list.iter().flat_map(|v| &v.key_locations);
    let ids = locations.map(|l| &l.block_id.container_block_id);
    ids.map(|id| (id.container_id, id.local_id)).collect()
}
