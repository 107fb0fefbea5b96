//! PutObject.

use client::{CreateKey, Error, FinishOptions, KeyPath, Precondition};
use proto::ozone::Status;
use s3s::dto::{ChecksumType, ETag, ETagCondition, PutObjectInput, PutObjectOutput};
use s3s::{S3Error, S3Request, S3Result};

use super::{directory, write_body};
use crate::checksum_fields::set_checksum;
use crate::digest::{Algorithm, Claims};
use crate::errors::{Subject, invalid_argument, not_implemented, precondition_failed, s3_error};
use crate::gateway::Gateway;
use crate::metadata::{finish_pairs, of_input};
use crate::{refuse, storage_class};

/// Maximum size of an object in one request; S3's limit.
const LARGEST: u64 = 5 << 30;

pub(crate) async fn put(
    gateway: &Gateway,
    request: S3Request<PutObjectInput>,
) -> S3Result<PutObjectOutput> {
    let client = gateway.client_of(request.credentials.as_ref());
    let mut input = request.input;
    refuse::put_object(&input)?;
    let wanted = input.checksum_algorithm.as_ref().map(Algorithm::of_dto).transpose()?;
    let claims = Claims::of_headers(&request.headers)?.want(wanted);
    let length = content_length(input.content_length)?;
    let precondition = precondition(input.if_match.as_ref(), input.if_none_match.as_ref())?;
    let metadata = of_input!(input);
    let path = KeyPath::new(gateway.volume(), &input.bucket, &input.key);
    if precondition == Precondition::None
        && directory::make(gateway, &client, &path, length).await?
    {
        return Ok(PutObjectOutput::default());
    }
    let mut key = CreateKey::new(path)
        .size_hint(length.unwrap_or(0))
        .metadata(metadata.to_key())
        .tags(refuse::tags_of_header(input.tagging.as_deref())?)
        .only_if(precondition.clone());
    key.replication =
        storage_class::replication(input.storage_class.as_ref(), input.metadata.as_ref())?
            .or(gateway.replication());
    let failed = |e| s3_error(Subject::Object, e);

    let mut writer = client.create_key(key).await.map_err(failed)?;
    let body = input.body.take();
    let trailers = request.trailing_headers.as_ref();
    let verified = write_body(&mut writer, body, length, claims, trailers).await?;
    let finish =
        FinishOptions { metadata: finish_pairs(&verified.etag, verified.checksum.as_ref()) };
    writer.finish(finish).await.map_err(|e| not_committed(&precondition, e))?;

    let mut output =
        PutObjectOutput { e_tag: Some(ETag::Strong(verified.etag)), ..Default::default() };
    if let Some(checksum) = &verified.checksum {
        set_checksum!(output, checksum);
        output.checksum_type = Some(ChecksumType::from_static(ChecksumType::FULL_OBJECT));
    }
    Ok(output)
}

/// The error of a failed commit. An object that was to replace one with a given ETag fails if that
/// one was replaced or deleted since the request began.
pub(super) fn not_committed(precondition: &Precondition, error: Error) -> S3Error {
    match precondition {
        Precondition::ETag(_) if error.is_status(Status::KeyNotFound) => precondition_failed(),
        _ => s3_error(Subject::Object, error),
    }
}

/// Parses the content length.
pub(crate) fn content_length(length: Option<i64>) -> S3Result<Option<u64>> {
    match length.map(u64::try_from) {
        None => Ok(None),
        Some(Ok(length)) if length <= LARGEST => Ok(Some(length)),
        Some(Ok(_)) => Err(S3Error::with_message(
            s3s::S3ErrorCode::EntityTooLarge,
            "Your proposed upload exceeds the maximum allowed size",
        )),
        Some(Err(_)) => Err(invalid_argument("Content-Length is not valid")),
    }
}

/// The precondition for replacing an object.
pub(crate) fn precondition(
    if_match: Option<&ETagCondition>,
    if_none_match: Option<&ETagCondition>,
) -> S3Result<Precondition> {
    match (if_match, if_none_match) {
        (None, None) => Ok(Precondition::None),
        (None, Some(ETagCondition::Any)) => Ok(Precondition::Absent),
        (None, Some(ETagCondition::ETag(_))) => Err(not_implemented("If-None-Match with an ETag")),
        (Some(ETagCondition::ETag(etag)), None) => Ok(Precondition::ETag(etag.value().to_owned())),
        (Some(ETagCondition::Any), None) => Err(not_implemented("If-Match: *")),
        (Some(_), Some(_)) => Err(not_implemented("If-Match together with If-None-Match")),
    }
}
