//! Tags of objects.

use client::KeyPath;
use s3s::dto::{
    DeleteObjectTaggingInput, DeleteObjectTaggingOutput, GetObjectTaggingInput,
    GetObjectTaggingOutput, PutObjectTaggingInput, PutObjectTaggingOutput, Tag,
};
use s3s::{S3Request, S3Result};

use crate::errors::{Subject, s3_error};
use crate::gateway::Gateway;
use crate::refuse;

pub(crate) async fn get_tags(
    gateway: &Gateway,
    request: S3Request<GetObjectTaggingInput>,
) -> S3Result<GetObjectTaggingOutput> {
    let client = gateway.client_of(request.credentials.as_ref());
    let input = request.input;
    refuse::version(input.version_id.as_deref())?;
    let path = KeyPath::new(gateway.volume(), input.bucket, input.key);
    let tags = client.tags(&path).await.map_err(|e| s3_error(Subject::Object, e))?;
    let tag_set =
        tags.into_iter().map(|(key, value)| Tag { key: Some(key), value: Some(value) }).collect();
    Ok(GetObjectTaggingOutput { tag_set, version_id: None })
}

pub(crate) async fn put_tags(
    gateway: &Gateway,
    request: S3Request<PutObjectTaggingInput>,
) -> S3Result<PutObjectTaggingOutput> {
    let client = gateway.client_of(request.credentials.as_ref());
    let input = request.input;
    refuse::version(input.version_id.as_deref())?;
    let tags: Vec<(String, String)> = input
        .tagging
        .tag_set
        .into_iter()
        .map(|tag| (tag.key.unwrap_or_default(), tag.value.unwrap_or_default()))
        .collect();
    refuse::check_tags(&tags)?;
    let path = KeyPath::new(gateway.volume(), input.bucket, input.key);
    client.set_tags(&path, &tags).await.map_err(|e| s3_error(Subject::Object, e))?;
    Ok(PutObjectTaggingOutput::default())
}

pub(crate) async fn delete_tags(
    gateway: &Gateway,
    request: S3Request<DeleteObjectTaggingInput>,
) -> S3Result<DeleteObjectTaggingOutput> {
    let client = gateway.client_of(request.credentials.as_ref());
    let input = request.input;
    refuse::version(input.version_id.as_deref())?;
    let path = KeyPath::new(gateway.volume(), input.bucket, input.key);
    client.delete_tags(&path).await.map_err(|e| s3_error(Subject::Object, e))?;
    Ok(DeleteObjectTaggingOutput::default())
}
