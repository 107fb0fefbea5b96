//! `o3 debug replicas verify`.

use std::time::Instant;

use clap::Args;
use client::{Client, KeyPath, ListKeys, VolumeScope};
use config::Configuration;
use futures::TryStreamExt;
use proto::ozone::{KeyInfo, Status};
use serde_json::{Value, json};
use types::ReplicationConfig;

use super::checks;
use super::container_state::ContainerStates;
use super::outcome::Check;
use super::summary::{Asked, Summary};
use crate::ShellError;
use crate::address::Address;
use crate::admin::scm_client::ScmServiceArgs;
use crate::output::FieldPrinter;
use crate::replication::ReplicationArgs;

/// Read all replicas of keys, each from its DataNode alone, and report defects of each; of an
/// erasure-coded key the replica of each index. Prints the keys that failed as JSON, and a summary
/// to standard error.
#[derive(Debug, Clone, Args)]
#[command(
    group = clap::ArgGroup::new("checks").required(true).multiple(true),
    after_help = "Examples:\n  o3 debug replicas verify --checksums /vol1/bucket1\n  \
    o3 debug replicas verify --checksums --block-existence --container-state --all-results /vol1\n  \
    o3 debug replicas verify --checksums -t EC -r rs-6-3-1024k /"
)]
pub struct Verify {
    /// Path to verify: / or /vol1, /vol1/bucket1, /vol1/bucket1/key1
    address: String,
    /// Read all bytes of all replicas and verify their checksums; of an erasure-coded key also the
    /// checksums of whole stripes that its writer stored with the other replicas.
    #[arg(long, group = "checks")]
    checksums: bool,
    /// Check that all replicas have the blocks.
    #[arg(long, group = "checks")]
    block_existence: bool,
    /// Check the states of containers and their replicas, which must be OPEN, CLOSING, QUASI_CLOSED
    /// or CLOSED, and the number of replicas.
    #[arg(long, group = "checks")]
    container_state: bool,
    /// Print the keys that passed, too.
    #[arg(long)]
    all_results: bool,
    /// With --container-state: maximum number of cached containers; 0 for the default.
    #[arg(long, default_value_t = CONTAINERS, value_name = "N")]
    container_cache_size: usize,
    #[command(flatten)]
    replication: ReplicationArgs,
    #[command(flatten)]
    scm: ScmServiceArgs,
}

/// Default number of cached containers.
const CONTAINERS: usize = 1_000_000;

/// Runs it. Replicas that fail are a result, no failure of the command.
pub(crate) async fn run(args: Verify, conf: &Configuration) -> Result<(), ShellError> {
    let begun = Instant::now();
    let address = Address::parse(&args.address)?;
    let scope = address.scope();
    let most = match args.container_cache_size {
        0 => CONTAINERS,
        size => size,
    };
    let checks: Vec<Check> = [
        (args.checksums, Check::Checksum),
        (args.block_existence, Check::BlockExistence),
        (args.container_state, Check::ContainerState),
    ]
    .into_iter()
    .filter_map(|(wanted, check)| wanted.then_some(check))
    .collect();
    let mut verification = Verification {
        client: address.client(conf)?,
        checks,
        states: ContainerStates::new(args.scm.client(conf)?, most),
        only: args.replication.config()?,
        all_results: args.all_results,
        summary: Summary::default(),
        printer: FieldPrinter::new("keys"),
    };
    let outcome = verification.walk(&address).await;
    let outcome = verification.end(outcome);
    let asked = Asked { scope, checks: &verification.checks, address: &args.address };
    let error = outcome.as_ref().err().map(ToString::to_string);
    eprintln!("{}", verification.summary.text(&asked, begun.elapsed(), error.as_deref()));
    outcome
}

/// A walk over keys.
struct Verification {
    client: Client,
    checks: Vec<Check>,
    states: ContainerStates,
    /// Only keys with this replication.
    only: Option<ReplicationConfig>,
    all_results: bool,
    summary: Summary,
    printer: FieldPrinter,
}

impl Verification {
    async fn walk(&mut self, address: &Address) -> Result<(), ShellError> {
        match address.parts() {
            (Some(volume), Some(bucket), Some(key)) => {
                self.key(KeyPath::new(volume, bucket, key)).await
            }
            (Some(volume), Some(bucket), None) => self.bucket(volume, bucket).await,
            (Some(volume), None, None) => self.volume(volume).await,
            _ => {
                let client = self.client.clone();
                let volumes = client.list_volumes(VolumeScope::Cluster, None, "", "");
                let mut volumes = std::pin::pin!(volumes);
                while let Some(volume) = volumes.try_next().await? {
                    self.volume(&volume.volume).await?;
                }
                Ok(())
            }
        }
    }

    async fn volume(&mut self, volume: &str) -> Result<(), ShellError> {
        self.client.volume_info(volume).await?;
        self.summary.volumes += 1;
        let client = self.client.clone();
        let mut buckets = std::pin::pin!(client.list_buckets(volume, "", ""));
        while let Some(bucket) = buckets.try_next().await? {
            // A link's source is verified at its own place.
            if bucket.source_bucket.is_none() {
                self.bucket(volume, &bucket.bucket_name).await?;
            }
        }
        Ok(())
    }

    async fn bucket(&mut self, volume: &str, bucket: &str) -> Result<(), ShellError> {
        self.client.bucket_info(volume, bucket).await?;
        self.summary.buckets += 1;
        let client = self.client.clone();
        let mut keys = std::pin::pin!(client.list_keys(ListKeys::new(volume, bucket)));
        while let Some(key) = keys.try_next().await? {
            // Directories have no blocks.
            if key.key_name().ends_with('/') {
                continue;
            }
            match self.key(KeyPath::new(volume, bucket, key.key_name())).await {
                // It was deleted or renamed after it was listed.
                Err(ShellError::Client(e)) if e.is_status(Status::KeyNotFound) => {}
                other => other?,
            }
        }
        Ok(())
    }

    async fn key(&mut self, path: KeyPath) -> Result<(), ShellError> {
        self.summary.keys += 1;
        let (info, blocks) = self.client.key_replicas(&path).await?;
        if self.only.is_some_and(|only| !is_of(&info, only)) {
            return Ok(());
        }
        let (mut shown, mut failed) = (Vec::with_capacity(blocks.len()), Vec::new());
        for block in &blocks {
            let of_block = checks::of_block(block, &self.checks, &mut self.states).await;
            shown.push(of_block.shown);
            failed.extend(of_block.failed);
        }
        failed.sort_unstable();
        failed.dedup();
        let passed = failed.is_empty();
        match passed {
            true => self.summary.passed += 1,
            false => self.summary.failed += 1,
        }
        for check in failed {
            *self.summary.failed_by_check.entry(check).or_default() += 1;
        }
        if passed && !self.all_results {
            return Ok(());
        }
        self.printer.push(&json!({
            "volumeName": path.volume,
            "bucketName": path.bucket,
            "name": path.key,
            "blocks": shown,
            "pass": passed,
        }))
    }

    /// Ends the output. A walk that failed before any result has none.
    fn end(&mut self, outcome: Result<(), ShellError>) -> Result<(), ShellError> {
        let passed = outcome.is_ok() && self.summary.failed == 0;
        if outcome.is_ok() || self.printer.has_begun() {
            self.printer.end("pass", &Value::from(passed))?;
        }
        outcome
    }
}

fn is_of(info: &KeyInfo, only: ReplicationConfig) -> bool {
    let ec = info.ec_replication_config.as_ref();
    ReplicationConfig::from_wire(info.r#type, info.factor, ec) == Ok(only)
}
