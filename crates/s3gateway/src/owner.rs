//! `x-amz-expected-bucket-owner`: a request that names the bucket's owner fails if the bucket has
//! another owner. Every operation is checked before it begins.
//!
//! The owner is the name of the bucket's owner in OM, which responses show as `ID` of `Owner`. A
//! missing bucket is left to the operation, which reports it.

use client::{Client, ErrorKind};
use http::{HeaderMap, HeaderName};
use s3s::dto::CopySource;
use s3s::path::S3Path;
use s3s::{S3Error, S3ErrorCode, S3Result};

use crate::errors::{Subject, s3_error};

/// The expected owner of the request's bucket.
const OF_BUCKET: HeaderName = HeaderName::from_static("x-amz-expected-bucket-owner");

/// The expected owner of the source bucket of a copy.
const OF_SOURCE: HeaderName = HeaderName::from_static("x-amz-source-expected-bucket-owner");

/// The source of a copy.
const SOURCE: HeaderName = HeaderName::from_static("x-amz-copy-source");

/// Checks that the buckets of a request have the owners named in its headers.
///
/// # Errors
/// `AccessDenied` if an owner differs; errors of OM.
pub(crate) async fn check(
    client: &Client,
    volume: &str,
    path: &S3Path,
    headers: &HeaderMap,
) -> S3Result<()> {
    if let Some(bucket) = path.get_bucket_name() {
        check_bucket(client, volume, bucket, headers, &OF_BUCKET).await?;
    }
    let source =
        headers.get(&SOURCE).and_then(|source| std::str::from_utf8(source.as_bytes()).ok());
    if let Some(Ok(CopySource::Bucket { bucket, .. })) = source.map(CopySource::parse) {
        check_bucket(client, volume, &bucket, headers, &OF_SOURCE).await?;
    }
    Ok(())
}

async fn check_bucket(
    client: &Client,
    volume: &str,
    bucket: &str,
    headers: &HeaderMap,
    name: &HeaderName,
) -> S3Result<()> {
    if !headers.contains_key(name) {
        return Ok(());
    }
    let owner = match client.bucket_info(volume, bucket).await {
        Ok(info) => info.owner.unwrap_or_default(),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Invalid) => {
            return Ok(());
        }
        Err(error) => return Err(s3_error(Subject::Bucket, error)),
    };
    match headers.get_all(name).iter().all(|expected| expected.as_bytes() == owner.as_bytes()) {
        true => Ok(()),
        false => Err(S3Error::with_message(S3ErrorCode::AccessDenied, "Access Denied")),
    }
}
