//! Directories of FILE_SYSTEM_OPTIMIZED buckets, as in Ozone's gateway: an empty object whose name
//! ends with a slash creates one, and a directory is an object only under that name.

use client::{Client, KeyPath};
use proto::ozone::{BucketLayoutProto, KeyInfo, Status};
use s3s::{S3Error, S3ErrorCode, S3Result};

use crate::errors::{Subject, custom, s3_error};
use crate::gateway::Gateway;

/// Creates the directory for an object of this name and length; returns `false` if it is an
/// ordinary object.
pub(super) async fn make(
    gateway: &Gateway,
    client: &Client,
    path: &KeyPath,
    length: Option<u64>,
) -> S3Result<bool> {
    if !gateway.directories() || length != Some(0) || !path.key.ends_with('/') {
        return Ok(false);
    }
    let bucket = client.bucket_info(&path.volume, &path.bucket).await;
    let bucket = bucket.map_err(|e| s3_error(Subject::Bucket, e))?;
    if bucket.bucket_layout() != BucketLayoutProto::FileSystemOptimized {
        return Ok(false);
    }
    match client.create_directory(path).await {
        Ok(()) => Ok(true),
        Err(error) if error.is_status(Status::FileAlreadyExists) => {
            let said = "Cannot overwrite file with directory";
            Err(custom("Conflict", http::StatusCode::CONFLICT, said))
        }
        Err(error) => Err(s3_error(Subject::Object, error)),
    }
}

/// # Errors
/// If a directory is requested without the trailing slash.
pub(super) fn check_object(gateway: &Gateway, path: &KeyPath, found: &KeyInfo) -> S3Result<()> {
    if gateway.directories() && found.is_file == Some(false) && !path.key.ends_with('/') {
        return Err(S3Error::with_message(
            S3ErrorCode::NoSuchKey,
            "The specified key does not exist",
        ));
    }
    Ok(())
}
