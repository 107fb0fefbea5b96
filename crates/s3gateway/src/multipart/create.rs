//! CreateMultipartUpload and AbortMultipartUpload.

use client::{CreateUpload, KeyPath};
use s3s::dto::{
    AbortMultipartUploadInput, AbortMultipartUploadOutput, ChecksumType,
    CreateMultipartUploadInput, CreateMultipartUploadOutput,
};
use s3s::{S3Request, S3Result};

use super::checksum::Agreed;
use crate::digest::Algorithm;
use crate::errors::{Subject, invalid_request, s3_error};
use crate::gateway::Gateway;
use crate::metadata::of_input;
use crate::{refuse, storage_class};

pub(crate) async fn create(
    gateway: &Gateway,
    request: S3Request<CreateMultipartUploadInput>,
) -> S3Result<CreateMultipartUploadOutput> {
    let client = gateway.client_of(request.credentials.as_ref());
    let input = request.input;
    refuse::create_upload(&input)?;
    let algorithm = input.checksum_algorithm.as_ref().map(Algorithm::of_dto).transpose()?;
    let agreed = agreed(algorithm, input.checksum_type.as_ref())?;
    let mut metadata = of_input!(input).to_key();
    metadata.extend(agreed.map(Agreed::to_metadata));
    let upload = CreateUpload {
        path: KeyPath::new(gateway.volume(), &input.bucket, &input.key),
        replication: storage_class::replication(
            input.storage_class.as_ref(),
            input.metadata.as_ref(),
        )?
        .or(gateway.replication()),
        metadata,
        tags: refuse::tags_of_header(input.tagging.as_deref())?,
    };
    let id = client.create_upload(upload).await.map_err(|e| s3_error(Subject::Object, e))?;
    Ok(CreateMultipartUploadOutput {
        bucket: Some(input.bucket),
        key: Some(input.key),
        upload_id: Some(id),
        checksum_algorithm: input.checksum_algorithm,
        checksum_type: agreed.map(Agreed::checksum_type),
        ..Default::default()
    })
}

/// The checksum type of the whole object.
fn agreed(algorithm: Option<Algorithm>, wanted: Option<&ChecksumType>) -> S3Result<Option<Agreed>> {
    let Some(algorithm) = algorithm else {
        return match wanted {
            None => Ok(None),
            Some(_) => Err(invalid_request(
                "The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header.",
            )),
        };
    };
    let default = match algorithm {
        Algorithm::Crc64Nvme => ChecksumType::FULL_OBJECT,
        _ => ChecksumType::COMPOSITE,
    };
    let kind = wanted.map_or(default, ChecksumType::as_str);
    let is_full_object = match (algorithm, kind) {
        (Algorithm::Crc64Nvme, ChecksumType::COMPOSITE) => None,
        (Algorithm::Sha1 | Algorithm::Sha256, ChecksumType::FULL_OBJECT) => None,
        (_, ChecksumType::COMPOSITE) => Some(false),
        (_, ChecksumType::FULL_OBJECT) => Some(true),
        _ => None,
    };
    match is_full_object {
        Some(is_full_object) => Ok(Some(Agreed { algorithm, is_full_object })),
        None => Err(invalid_request(format!(
            "The {kind} checksum type cannot be used with the {} checksum algorithm.",
            algorithm.name().to_ascii_lowercase()
        ))),
    }
}

pub(crate) async fn abort(
    gateway: &Gateway,
    request: S3Request<AbortMultipartUploadInput>,
) -> S3Result<AbortMultipartUploadOutput> {
    let client = gateway.client_of(request.credentials.as_ref());
    let input = request.input;
    let path = KeyPath::new(gateway.volume(), &input.bucket, &input.key);
    let aborted = client.abort_upload(&path, &input.upload_id).await;
    aborted.map_err(|e| s3_error(Subject::Upload, e))?;
    Ok(AbortMultipartUploadOutput::default())
}
