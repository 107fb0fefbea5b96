//! `x-amz-expected-bucket-owner`: a request that names the owner of its bucket does nothing in a
//! bucket of another one. Every operation is checked here, before it begins.
//!
//! The owner is the name of the bucket's owner in OM, which answers show as `ID` of `Owner`. A
//! bucket that is not there is left to the operation, which says so.

use client::{Client, ErrorKind};
use http::{HeaderMap, HeaderName};
use s3s::dto::CopySource;
use s3s::path::S3Path;
use s3s::{S3Error, S3ErrorCode, S3Result};

use crate::errors::{Subject, s3_error};

/// Names the owner of the bucket of the request.
const OF_BUCKET: HeaderName = HeaderName::from_static("x-amz-expected-bucket-owner");

/// Names the owner of the bucket that a copy is made from.
const OF_SOURCE: HeaderName = HeaderName::from_static("x-amz-source-expected-bucket-owner");

/// Names what a copy is made from.
const SOURCE: HeaderName = HeaderName::from_static("x-amz-copy-source");

/// Checks that the buckets of a request belong to whom its headers name.
///
/// # Errors
/// `AccessDenied` when one does not, and what keeps OM from telling.
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
