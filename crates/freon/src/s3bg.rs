//! `s3bg`: creates buckets over S3.

use std::time::Instant;

use bytes::Bytes;
use clap::Args;
use http::Method;

use crate::FreonError;
use crate::args::RunArgs;
use crate::report::Report;
use crate::runner::{Generator, Tally, prefix, run_generator};
use crate::s3::{S3Args, S3Client, S3Request, sha256};

/// Create buckets over S3. They are named `PREFIXNUMBER`. AWS_ACCESS_KEY_ID and
/// AWS_SECRET_ACCESS_KEY must be set.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 freon s3bg -n 100 -t 8 -e http://localhost:9878 -p bucket")]
pub struct S3bg {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    s3: S3Args,
}

struct Buckets {
    s3: S3Client,
    prefix: String,
    no_body: String,
}

/// Runs the generator.
pub(crate) async fn run(args: S3bg) -> Result<Report, FreonError> {
    args.run.without_clients()?;
    let prefix = prefix(&args.run.prefix);
    let s3 = S3Client::connect(&args.s3)?;
    let buckets = Buckets { s3, prefix: prefix.clone(), no_body: sha256(b"") };
    run_generator(&args.run, &prefix, buckets).await
}

impl Generator for Buckets {
    async fn test(&self, number: u64, _: usize, tally: &mut Tally) -> Result<(), FreonError> {
        let name = format!("{}{number}", self.prefix);
        let began = Instant::now();
        let request = S3Request {
            method: Method::PUT,
            path: &name,
            query: &[],
            body: Bytes::new(),
            sha256: &self.no_body,
        };
        self.s3.send(request).await?;
        tally.timed("bucket-create", began);
        Ok(())
    }
}
