//! DeleteObject and DeleteObjects.

use std::collections::{BTreeMap, HashMap};

use client::{Client, Error, ErrorKind, KeyPath, Precondition};
use futures::{StreamExt, stream};
use proto::ozone::{BucketLayoutProto, Status};
use s3s::dto::{
    DeleteObjectInput, DeleteObjectOutput, DeleteObjectsInput, DeleteObjectsOutput, DeletedObject,
    ETagCondition, Error as DeleteError,
};
use s3s::{S3Error, S3ErrorCode, S3Request, S3Result};

use crate::errors::{Subject, not_implemented, precondition_failed, s3_error};
use crate::gateway::Gateway;
use crate::metadata::ObjectMetadata;
use crate::refuse;

/// Maximum number of keys per request; S3's limit.
const MOST_KEYS: usize = 1000;

/// Number of concurrent deletions of keys of a tree, one call each.
const AT_A_TIME: usize = 32;

pub(crate) async fn delete(
    gateway: &Gateway,
    request: S3Request<DeleteObjectInput>,
) -> S3Result<DeleteObjectOutput> {
    let client = gateway.client_of(request.credentials.as_ref());
    let input = request.input;
    refuse::version(input.version_id.as_deref())?;
    if input.if_match_last_modified_time.is_some() || input.if_match_size.is_some() {
        return Err(not_implemented("x-amz-if-match-last-modified-time, x-amz-if-match-size"));
    }
    let path = KeyPath::new(gateway.volume(), &input.bucket, &input.key);
    let precondition = match &input.if_match {
        Some(condition) => precondition(&client, &path, condition).await?,
        None => Precondition::None,
    };
    match client.delete_key_if(&path, &precondition).await {
        Ok(()) => {}
        // The object had the ETag, but was replaced or deleted in the meantime.
        Err(error)
            if precondition != Precondition::None && error.is_status(Status::KeyNotFound) =>
        {
            return Err(precondition_failed());
        }
        // A missing object counts as deleted, and a directory is removed with its last object.
        Err(error)
            if error.is_status(Status::KeyNotFound)
                || error.is_status(Status::DirectoryNotEmpty) => {}
        Err(error) => return Err(s3_error(Subject::Object, error)),
    }
    Ok(DeleteObjectOutput::default())
}

/// The precondition that OM checks on deletion, so that an object written in the meantime stays. An
/// object without a stored ETag has one derived from its ids, which its generation represents.
async fn precondition(
    client: &Client,
    path: &KeyPath,
    condition: &ETagCondition,
) -> S3Result<Precondition> {
    let info = client.key_info(path).await.map_err(|e| s3_error(Subject::Object, e))?;
    let metadata = ObjectMetadata::of_key(&info.metadata);
    let etag = metadata.etag_or(info.object_id(), info.update_id());
    match condition {
        // Any existing object may be deleted.
        ETagCondition::Any => Ok(Precondition::None),
        ETagCondition::ETag(wanted) if !wanted.weak_cmp(&etag) => Err(precondition_failed()),
        ETagCondition::ETag(_) => Ok(match metadata.etag {
            Some(etag) => Precondition::ETag(etag),
            None => Precondition::Generation(info.update_id()),
        }),
    }
}

pub(crate) async fn delete_many(
    gateway: &Gateway,
    request: S3Request<DeleteObjectsInput>,
) -> S3Result<DeleteObjectsOutput> {
    let client = gateway.client_of(request.credentials.as_ref());
    let input = request.input;
    let objects = input.delete.objects;
    if objects.is_empty() || objects.len() > MOST_KEYS {
        return Err(S3Error::with_message(
            S3ErrorCode::MalformedXML,
            "The XML you provided was not well-formed or did not validate against our published schema",
        ));
    }
    let mut errors: HashMap<String, (String, String)> = HashMap::new();
    let mut keys = Vec::with_capacity(objects.len());
    for object in &objects {
        if object.e_tag.is_some() || object.last_modified_time.is_some() || object.size.is_some() {
            return Err(not_implemented("conditions on the objects of DeleteObjects"));
        }
        match refuse::version(object.version_id.as_deref()) {
            Ok(()) => keys.push(object.key.clone()),
            Err(error) => {
                let message = error.message().unwrap_or_default().to_owned();
                errors.insert(object.key.clone(), ("NoSuchVersion".to_owned(), message));
            }
        }
    }
    if !keys.is_empty() {
        let bucket = client.bucket_info(gateway.volume(), &input.bucket).await;
        let bucket = bucket.map_err(|e| s3_error(Subject::Bucket, e))?;
        if bucket.bucket_layout() == BucketLayoutProto::FileSystemOptimized {
            let failed = delete_in_tree(&client, gateway.volume(), &input.bucket, keys).await;
            errors.extend(failed.map_err(|e| s3_error(Subject::Object, e))?);
        } else {
            let failed = client.delete_keys(gateway.volume(), &input.bucket, keys).await;
            let failed = failed.map_err(|e| s3_error(Subject::Object, e))?;
            for (key, code, message) in failed {
                if code != Status::KeyNotFound.as_str_name() {
                    errors.insert(key, ("InternalError".to_owned(), message));
                }
            }
        }
    }
    let quiet = input.delete.quiet == Some(true);
    let mut output = DeleteObjectsOutput::default();
    let (mut deleted, mut failed) = (Vec::new(), Vec::new());
    for object in objects {
        match errors.get(&object.key) {
            Some((code, message)) => failed.push(DeleteError {
                code: Some(code.clone()),
                message: Some(message.clone()),
                key: Some(object.key),
                version_id: object.version_id,
            }),
            None if quiet => {}
            None => deleted.push(DeletedObject {
                key: Some(object.key),
                version_id: object.version_id,
                ..Default::default()
            }),
        }
    }
    output.deleted = (!deleted.is_empty()).then_some(deleted);
    output.errors = (!failed.is_empty()).then_some(failed);
    Ok(output)
}

/// Deletes keys of a tree; returns those that failed, with code and message. OM's DeleteKeys would
/// delete a directory recursively. Here a directory that is not empty stays, as if the key did not
/// exist: clients that clean up directory markers after a write name the parent directories of the
/// objects that they wrote.
async fn delete_in_tree(
    client: &Client,
    volume: &str,
    bucket: &str,
    keys: Vec<String>,
) -> client::Result<HashMap<String, (String, String)>> {
    let mut failed = HashMap::new();
    // Files first, then directories, the deepest first: they may be empty by then.
    let (mut batch, mut later) = (Vec::new(), BTreeMap::<usize, Vec<String>>::new());
    for key in keys {
        match key.ends_with('/') {
            true => later.entry(depth(&key)).or_default().push(key),
            false => batch.push(key),
        }
    }
    let mut are_files = true;
    loop {
        let paths = batch.into_iter().map(|key| KeyPath::new(volume, bucket, key));
        let mut answers = stream::iter(paths)
            .map(|path| async move { (client.delete_key(&path).await, path.key) })
            .buffer_unordered(AT_A_TIME);
        while let Some((answer, key)) = answers.next().await {
            match answer {
                Ok(()) => {}
                Err(error) if error.is_status(Status::KeyNotFound) => {}
                Err(error) if error.is_status(Status::DirectoryNotEmpty) => {
                    if are_files {
                        later.entry(depth(&key)).or_default().push(key);
                    }
                }
                Err(error) if may_pass(&error) => return Err(error),
                Err(error) => {
                    let error = s3_error(Subject::Object, error);
                    let message = error.message().unwrap_or_default().to_owned();
                    failed.insert(key, (error.code().as_str().to_owned(), message));
                }
            }
        }
        drop(answers);
        are_files = false;
        let Some((_, deepest)) = later.pop_last() else { return Ok(failed) };
        batch = deepest;
    }
}

/// Number of names in a path.
fn depth(key: &str) -> usize {
    key.split('/').filter(|name| !name.is_empty()).count()
}

/// Returns `true` if the client should retry the whole request: keys already deleted do no harm.
fn may_pass(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Timeout | ErrorKind::SafeMode)
}
