//! `rk`: volumes, buckets and keys with content, optionally read back and compared.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use clap::Args;
use client::{BucketSpec, Client, CreateKey, FinishOptions, KeyPath};
use config::Configuration;
use futures::TryStreamExt;
use futures::stream::{self, StreamExt};
use proto::ozone::BucketLayoutProto;
use types::ReplicationConfig;

use crate::FreonError;
use crate::args::{ReplicationArgs, RunArgs, size};
use crate::content::Content;
use crate::report::Report;
use crate::runner::{Tally, prefix, run_tests};

/// Create volumes, buckets and keys, and compare the keys with the written content. Volumes are
/// named `vol-NUMBER-PREFIX`, buckets `bucket-NUMBER-PREFIX`, keys `key-NUMBER-PREFIX`; each key
/// has its own content.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Example:\n  o3 freon rk --num-of-volumes 1 --num-of-buckets 2 --num-of-keys 100 \
    --key-size 5MB --type EC -r rs-3-2-1024k --validate-writes"
)]
pub struct Rk {
    /// Number of volumes.
    #[arg(
        long = "num-of-volumes",
        visible_alias = "numOfVolumes",
        default_value_t = 10,
        value_name = "N"
    )]
    volumes: u64,
    /// Number of buckets in each volume.
    #[arg(
        long = "num-of-buckets",
        visible_alias = "numOfBuckets",
        default_value_t = 1000,
        value_name = "N"
    )]
    buckets: u64,
    /// Number of keys in each bucket.
    #[arg(
        long = "num-of-keys",
        visible_alias = "numOfKeys",
        default_value_t = 500_000,
        value_name = "N"
    )]
    keys: u64,
    /// Number of concurrent keys.
    #[arg(
        long = "num-of-threads",
        visible_alias = "numOfThreads",
        default_value_t = 10,
        value_name = "N"
    )]
    threads: usize,
    /// Size of a key: 10240, 10KB, 4MB.
    #[arg(long = "key-size", visible_alias = "keySize", default_value = "10KB", value_parser = size, value_name = "SIZE")]
    size: u64,
    /// Layout of the buckets: OBJECT_STORE, FILE_SYSTEM_OPTIMIZED or LEGACY; by default the
    /// cluster's default.
    #[arg(long = "bucket-layout", value_parser = layout, value_name = "LAYOUT")]
    layout: Option<BucketLayoutProto>,
    #[command(flatten)]
    replication: ReplicationArgs,
    /// Read each key after it is written, and compare it.
    #[arg(long = "validate-writes", visible_alias = "validateWrites")]
    validate: bool,
    /// Delete keys, buckets and volumes at the end.
    #[arg(long = "clean-objects")]
    clean: bool,
    /// Continue after a failed key, and fail at the end.
    #[arg(short = 'f', long)]
    fail_at_end: bool,
    /// Process id of a server whose CPU time is measured; may be repeated or comma-separated.
    #[arg(long = "server-pid", value_delimiter = ',', value_name = "PID")]
    server_pids: Vec<u32>,
    /// Print one JSON object instead of tables.
    #[arg(long)]
    json: bool,
}

/// An unknown bucket layout.
#[derive(Debug, thiserror::Error)]
#[error("layouts are OBJECT_STORE, FILE_SYSTEM_OPTIMIZED and LEGACY")]
struct UnknownLayout;

fn layout(text: &str) -> Result<BucketLayoutProto, UnknownLayout> {
    BucketLayoutProto::from_str_name(&text.to_ascii_uppercase()).ok_or(UnknownLayout)
}

/// The volumes and buckets of a run.
struct Tree {
    client: Client,
    prefix: String,
    volumes: u64,
    buckets: u64,
    keys: u64,
    layout: Option<BucketLayoutProto>,
    replication: Option<ReplicationConfig>,
}

/// Runs the generator.
pub(crate) async fn run(args: Rk, conf: &Configuration) -> Result<Report, FreonError> {
    // Check it before thousands of buckets are created.
    if args.threads == 0 {
        return Err(FreonError::Usage("--num-of-threads must be at least 1".into()));
    }
    let prefix = prefix("");
    let tree = Arc::new(Tree {
        client: Client::connect(conf)?,
        prefix: prefix.clone(),
        volumes: args.volumes,
        buckets: args.buckets,
        keys: args.keys,
        layout: args.layout,
        replication: args.replication.config()?,
    });
    let run = RunArgs {
        number_of_tests: tree.total(),
        threads: args.threads,
        duration: None,
        prefix: prefix.clone(),
        fail_at_end: args.fail_at_end,
        clients: 1,
        server_pids: args.server_pids,
        json: args.json,
    };
    tree.make(args.threads).await?;
    let content = Content::new(args.size);
    let (of_tests, validate) = (tree.clone(), args.validate);
    let report = run_tests(&run, &prefix, move |test, _, mut tally| {
        let (tree, content) = (of_tests.clone(), content.clone());
        async move {
            let result = tree.test(test, &content, validate, &mut tally).await;
            (tally, result)
        }
    })
    .await?;
    if args.clean {
        tree.clean(args.threads).await?;
    }
    Ok(report)
}

impl Tree {
    fn total(&self) -> u64 {
        self.volumes.saturating_mul(self.buckets).saturating_mul(self.keys)
    }

    fn volume(&self, number: u64) -> String {
        format!("vol-{number}-{}", self.prefix)
    }

    fn bucket(&self, number: u64) -> String {
        format!("bucket-{number}-{}", self.prefix)
    }

    /// The key of a test: buckets are filled in order.
    fn key(&self, test: u64) -> KeyPath {
        let (bucket, key) = (test / self.keys.max(1), test % self.keys.max(1));
        let (volume, bucket) = (bucket / self.buckets.max(1), bucket % self.buckets.max(1));
        let key = format!("key-{key}-{}", self.prefix);
        KeyPath::new(self.volume(volume), self.bucket(bucket), key)
    }

    /// Volume and bucket of each bucket.
    fn all_buckets(&self) -> impl Iterator<Item = (String, String)> {
        let of_volume = move |v| (0..self.buckets).map(move |b| (self.volume(v), self.bucket(b)));
        (0..self.volumes).flat_map(of_volume)
    }

    async fn make(&self, at_once: usize) -> Result<(), FreonError> {
        for volume in 0..self.volumes {
            self.client.create_volume(&self.volume(volume), None, -1, -1).await?;
        }
        let at_once = Some(at_once.max(1));
        let buckets = stream::iter(self.all_buckets()).map(Ok::<_, FreonError>);
        let make = |(volume, bucket): (String, String)| async move {
            let spec = BucketSpec { layout: self.layout, ..BucketSpec::default() };
            Ok(self.client.create_bucket(&volume, &bucket, spec).await?)
        };
        buckets.try_for_each_concurrent(at_once, make).await
    }

    /// Deletes everything created; a missing key is no failure.
    async fn clean(&self, at_once: usize) -> Result<(), FreonError> {
        let at_once = Some(at_once.max(1));
        let keys = stream::iter(0..self.total()).map(Ok::<_, FreonError>);
        let delete = |test| async move {
            match self.client.delete_key(&self.key(test)).await {
                Err(e) if e.kind() != client::ErrorKind::NotFound => Err(e.into()),
                _ => Ok(()),
            }
        };
        keys.try_for_each_concurrent(at_once, delete).await?;
        let buckets = stream::iter(self.all_buckets()).map(Ok::<_, FreonError>);
        let delete = |(volume, bucket): (String, String)| async move {
            Ok(self.client.delete_bucket(&volume, &bucket).await?)
        };
        buckets.try_for_each_concurrent(at_once, delete).await?;
        for volume in 0..self.volumes {
            self.client.delete_volume(&self.volume(volume)).await?;
        }
        Ok(())
    }

    async fn test(
        &self,
        test: u64,
        content: &Content,
        validate: bool,
        tally: &mut Tally,
    ) -> Result<(), FreonError> {
        let path = self.key(test);
        let began = Instant::now();
        let mut key = CreateKey::new(path.clone()).size_hint(content.size());
        key.replication = self.replication;
        let mut writer = self.client.create_key(key).await?;
        for piece in own(content, test) {
            writer.write(piece).await?;
        }
        writer.finish(FinishOptions::default()).await?;
        tally.timed("key-create", began);
        tally.bytes += content.size();
        if validate {
            let began = Instant::now();
            self.compare(&path, content, test).await?;
            tally.timed("key-validate", began);
        }
        Ok(())
    }

    /// Reads a key and compares it byte by byte.
    async fn compare(
        &self,
        path: &KeyPath,
        content: &Content,
        test: u64,
    ) -> Result<(), FreonError> {
        let differs = |at| FreonError::Differs { key: path.to_string(), at };
        let (reader, mut pieces) = self.client.begin_key(path).await?;
        let mut at = 0;
        let mut expected = own(content, test);
        let mut rest = Bytes::new();
        while let Some(piece) = pieces.try_next().await? {
            let mut piece = piece;
            while !piece.is_empty() {
                if rest.is_empty() {
                    rest = expected.next().ok_or_else(|| differs(at))?;
                }
                let length = piece.len().min(rest.len());
                let (read, written) = (piece.split_to(length), rest.split_to(length));
                if read != written {
                    let same = read.iter().zip(&written).take_while(|(a, b)| a == b).count();
                    return Err(differs(at + same as u64));
                }
                at += length as u64;
            }
        }
        match at == content.size() && reader.len() == at {
            true => Ok(()),
            false => Err(differs(at)),
        }
    }
}

/// The content of a key: its number, as far as it fits, followed by the common content of the run.
fn own(content: &Content, test: u64) -> impl Iterator<Item = Bytes> + use<'_> {
    let number = test.to_be_bytes();
    let mut skip = number.len().min(content.size() as usize);
    let first = Bytes::copy_from_slice(&number[number.len() - skip..]);
    let rest = content.pieces().map(move |mut piece| {
        let skipped = piece.split_to(skip.min(piece.len()));
        skip -= skipped.len();
        piece
    });
    std::iter::once(first).chain(rest).filter(|piece| !piece.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_one_size_differ_and_have_that_size() {
        for size in [0, 1, 7, 8, 9, 10_240, (4 << 20) + 3] {
            let content = Content::new(size);
            let of_key = |test| own(&content, test).collect::<Vec<_>>().concat();
            assert_eq!(of_key(5).len() as u64, size);
            assert_eq!(of_key(5) == of_key(6), size == 0, "{size}");
        }
    }
}
