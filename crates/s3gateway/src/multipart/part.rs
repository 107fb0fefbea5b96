//! UploadPart and UploadPartCopy.

use client::{Client, CreateKey, FinishOptions, KeyPath, KeyWriter};
use s3s::dto::{
    CopyPartResult, ETag, Range, UploadPartCopyInput, UploadPartCopyOutput, UploadPartInput,
    UploadPartOutput,
};
use s3s::{S3Request, S3Result};

use super::checksum::Agreed;
use crate::checksum_fields::set_checksum;
use crate::conditions::conditions;
use crate::digest::{Algorithm, Claims, Verified};
use crate::errors::{Subject, invalid_argument, s3_error};
use crate::gateway::Gateway;
use crate::metadata::finish_pairs;
use crate::object::{Source, content_length, copy_newest, copy_range, source, write_body};
use crate::refuse::{self, refuse_customer_keys};
use crate::time::now;

pub(crate) async fn upload_part(
    gateway: &Gateway,
    request: S3Request<UploadPartInput>,
) -> S3Result<UploadPartOutput> {
    let client = gateway.client_of(request.credentials.as_ref());
    let mut input = request.input;
    refuse_customer_keys!(input);
    let wanted = input.checksum_algorithm.as_ref().map(Algorithm::of_dto).transpose()?;
    let claims = Claims::of_headers(&request.headers)?.want(wanted);
    let length = content_length(input.content_length)?;
    let number = refuse::part_number(input.part_number)?;
    let path = KeyPath::new(gateway.volume(), &input.bucket, &input.key);
    let key = CreateKey::new(path).size_hint(length.unwrap_or(0)).part_of(&input.upload_id, number);
    let failed = |e| s3_error(Subject::Upload, e);
    let mut writer = client.create_key(key).await.map_err(failed)?;
    let claims = match Agreed::of_part(&writer) {
        Some(agreed) => agreed.settle(claims)?,
        None => claims,
    };
    let body = input.body.take();
    let trailers = request.trailing_headers.as_ref();
    let verified = write_body(&mut writer, body, length, claims, trailers).await?;
    let finish =
        FinishOptions { metadata: finish_pairs(&verified.etag, verified.checksum.as_ref()) };
    writer.finish(finish).await.map_err(failed)?;
    let mut output =
        UploadPartOutput { e_tag: Some(ETag::Strong(verified.etag)), ..Default::default() };
    if let Some(checksum) = &verified.checksum {
        set_checksum!(output, checksum);
    }
    Ok(output)
}

pub(crate) async fn upload_part_copy(
    gateway: &Gateway,
    request: S3Request<UploadPartCopyInput>,
) -> S3Result<UploadPartCopyOutput> {
    let client = gateway.client_of(request.credentials.as_ref());
    let input = request.input;
    refuse_customer_keys!(input);
    let number = refuse::part_number(input.part_number)?;
    copy_newest(|| async {
        let (from, range, mut writer) = match begin_copy(gateway, &client, &input, number).await {
            Ok(begun) => begun,
            Err(refused) => return Ok(Err(refused)),
        };
        let algorithm = Agreed::of_part(&writer).map(|agreed| agreed.algorithm);
        let copied = copy_range(&from, range, &mut writer, algorithm).await?;
        Ok(finish_copy(copied, writer).await)
    })
    .await
}

/// Opens source and target of a copy.
async fn begin_copy(
    gateway: &Gateway,
    client: &Client,
    input: &UploadPartCopyInput,
    number: u32,
) -> S3Result<(Source, std::ops::Range<u64>, KeyWriter)> {
    let from = source(gateway, client, &input.copy_source, conditions!(copy input)).await?;
    let size = from.reader.len();
    let range = match &input.copy_source_range {
        None => 0..size,
        Some(text) => exact_range(text, size)?,
    };
    let path = KeyPath::new(gateway.volume(), &input.bucket, &input.key);
    let key =
        CreateKey::new(path).size_hint(range.end - range.start).part_of(&input.upload_id, number);
    let writer = client.create_key(key).await.map_err(|e| s3_error(Subject::Upload, e))?;
    Ok((from, range, writer))
}

/// Commits the part.
async fn finish_copy(
    copied: S3Result<Verified>,
    writer: KeyWriter,
) -> S3Result<UploadPartCopyOutput> {
    let verified = copied?;
    let checksum = verified.checksum.as_ref();
    let options = FinishOptions { metadata: finish_pairs(&verified.etag, checksum) };
    writer.finish(options).await.map_err(|e| s3_error(Subject::Upload, e))?;
    let mut result = CopyPartResult {
        e_tag: Some(ETag::Strong(verified.etag.clone())),
        last_modified: Some(now()),
        ..Default::default()
    };
    if let Some(checksum) = checksum {
        set_checksum!(result, checksum);
    }
    Ok(UploadPartCopyOutput { copy_part_result: Some(result), ..Default::default() })
}

/// Parses `bytes=first-last`, which must lie within the object: unlike the range of a GET it is not
/// truncated.
pub(crate) fn exact_range(text: &str, size: u64) -> S3Result<std::ops::Range<u64>> {
    let invalid = || {
        invalid_argument(
            "The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the \
             zero-based offsets of the first and last bytes to copy",
        )
    };
    match Range::parse(text) {
        Ok(Range::Int { first, last: Some(last) }) if last < size => Ok(first..last + 1),
        Ok(Range::Int { last: Some(_), .. }) => Err(invalid_argument(format!(
            "Range specified is not valid for source object of size: {size}"
        ))),
        _ => Err(invalid()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_of_a_part_copy_is_exact() {
        assert_eq!(exact_range("bytes=0-9", 10).unwrap(), 0..10);
        for text in ["bytes=0-10", "bytes=5-", "bytes=-5", "0-5", "bytes=7-3"] {
            assert!(exact_range(text, 10).is_err(), "{text}");
        }
    }
}
