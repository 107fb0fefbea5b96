//! `s3kg`: creates keys over S3.

use std::time::Instant;

use bytes::Bytes;
use clap::Args;
use http::Method;

use crate::FreonError;
use crate::args::RunArgs;
use crate::content::Content;
use crate::report::Report;
use crate::runner::{Generator, Tally, prefix, run_generator};
use crate::s3::{S3Args, S3Client, S3Error, S3Request, sha256};

/// Minimum size of a part that is not the last one.
const MIN_PART: u64 = 5 << 20;

/// Maximum size of a key or part, which is held in memory.
const MAX_BYTES: u64 = 1 << 30;

/// Create keys over S3, as a whole or in parts. Keys are named `PREFIX/NUMBER`. AWS_ACCESS_KEY_ID
/// and AWS_SECRET_ACCESS_KEY must be set; the bucket must exist.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    o3 freon s3kg -n 1000 -t 8 -s 10240 -e http://localhost:9878 -b bucket1 -p run1\n  \
    o3 freon s3kg -n 4 -t 2 -s 5242880 --multi-part-upload --parts 3 -b bucket1")]
pub struct S3kg {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    s3: S3Args,
    /// Bucket, by its S3 name.
    #[arg(short = 'b', long, default_value = "bucket1", value_name = "NAME")]
    bucket: String,
    /// Size of a key, or of each part, in bytes.
    #[arg(short = 's', long, default_value_t = 10_240, value_parser = clap::value_parser!(u64).range(0..=MAX_BYTES), value_name = "BYTES")]
    size: u64,
    /// Write keys as multipart uploads with parts of --size.
    #[arg(long)]
    multi_part_upload: bool,
    /// Number of parts.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=10_000), value_name = "N")]
    parts: u16,
}

struct Keys {
    s3: S3Client,
    bucket: String,
    prefix: String,
    content: Bytes,
    sha256: String,
    /// Number of parts; `None` for keys that are written as a whole.
    parts: Option<u16>,
}

/// Runs the generator.
pub(crate) async fn run(args: S3kg) -> Result<Report, FreonError> {
    args.run.without_clients()?;
    if args.multi_part_upload && args.size < MIN_PART {
        return Err(FreonError::Usage(format!(
            "parts must have at least {MIN_PART} bytes: --size"
        )));
    }
    let prefix = prefix(&args.run.prefix);
    let content: Bytes = Content::new(args.size).pieces().collect::<Vec<_>>().concat().into();
    let keys = Keys {
        s3: S3Client::connect(&args.s3)?,
        bucket: args.bucket,
        prefix: prefix.clone(),
        sha256: sha256(&content),
        content,
        parts: args.multi_part_upload.then_some(args.parts),
    };
    run_generator(&args.run, &prefix, keys).await
}

impl Keys {
    async fn put(&self, path: &str) -> Result<(), S3Error> {
        let request = S3Request {
            method: Method::PUT,
            path,
            query: &[],
            body: self.content.clone(),
            sha256: &self.sha256,
        };
        self.s3.send(request).await.map(drop)
    }

    async fn put_in_parts(&self, path: &str, parts: u16) -> Result<(), S3Error> {
        let begin = S3Request {
            method: Method::POST,
            path,
            query: &[("uploads", "")],
            body: Bytes::new(),
            sha256: &sha256(b""),
        };
        let begun = self.s3.send(begin).await?;
        let missing = |what: &str| S3Error::Answer(format!("it has no {what}"));
        let upload = begun.element("UploadId").ok_or_else(|| missing("UploadId"))?;
        let mut listed = String::new();
        for part in 1..=parts {
            let number = part.to_string();
            let put = S3Request {
                method: Method::PUT,
                path,
                query: &[("partNumber", &number), ("uploadId", upload)],
                body: self.content.clone(),
                sha256: &self.sha256,
            };
            let etag = self.s3.send(put).await?.etag.ok_or_else(|| missing("ETag"))?;
            listed += &format!("<Part><PartNumber>{part}</PartNumber><ETag>{etag}</ETag></Part>");
        }
        let document =
            format!("<CompleteMultipartUpload>{listed}</CompleteMultipartUpload>").into_bytes();
        let complete = S3Request {
            method: Method::POST,
            path,
            query: &[("uploadId", upload)],
            sha256: &sha256(&document),
            body: document.into(),
        };
        self.s3.send(complete).await.map(drop)
    }
}

impl Generator for Keys {
    async fn test(&self, number: u64, _: usize, tally: &mut Tally) -> Result<(), FreonError> {
        let path = format!("{}/{}/{number}", self.bucket, self.prefix);
        let began = Instant::now();
        match self.parts {
            None => self.put(&path).await?,
            Some(parts) => self.put_in_parts(&path, parts).await?,
        }
        tally.timed("key-create", began);
        let written = self.parts.map_or(1, u64::from);
        tally.bytes += (self.content.len() as u64).saturating_mul(written);
        Ok(())
    }
}
