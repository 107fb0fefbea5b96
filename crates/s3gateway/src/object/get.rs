//! GetObject and HeadObject.

use std::ops::Range;

use client::{Client, KeyPath, KeyReader, Pieces};
use proto::ozone::KeyInfo;
use s3s::dto::{
    ChecksumMode, ChecksumType, ETag, GetObjectInput, GetObjectOutput, HeadObjectInput,
    HeadObjectOutput, Range as WireRange, StorageClass, Timestamp,
};
use s3s::{S3Error, S3ErrorCode, S3Request, S3Response, S3Result};
use types::{ReplicationConfig, StoragePolicy};

use super::{ObjectBody, directory};
use crate::checksum_fields::set_checksum;
use crate::conditions::{Conditions, conditions};
use crate::errors::{Subject, custom, s3_error};
use crate::gateway::Gateway;
use crate::metadata::{ObjectMetadata, parse_http_date};
use crate::refuse::{self, refuse_customer_keys};
use crate::storage_class::{self, STANDARD};
use crate::time::timestamp;

/// The default content type.
const DEFAULT_CONTENT_TYPE: &str = "binary/octet-stream";

/// A requested object.
struct Found {
    metadata: ObjectMetadata,
    etag: ETag,
    modified: Timestamp,
    size: u64,
    range: Range<u64>,
    /// A range was requested, so the response is partial.
    partial: bool,
    parts: Option<i32>,
}

/// Sets the fields that both outputs share.
macro_rules! output {
    ($kind:ident, $found:expr, $input:expr) => {{
        let (found, input) = (&$found, &$input);
        let metadata = &found.metadata;
        let length = found.range.end - found.range.start;
        let mut output = $kind {
            accept_ranges: Some("bytes".to_owned()),
            cache_control: input.response_cache_control.clone().or(metadata.cache_control.clone()),
            content_disposition: input
                .response_content_disposition
                .clone()
                .or(metadata.content_disposition.clone()),
            content_encoding: input
                .response_content_encoding
                .clone()
                .or(metadata.content_encoding.clone()),
            content_language: input
                .response_content_language
                .clone()
                .or(metadata.content_language.clone()),
            content_length: i64::try_from(length).ok(),
            content_range: found.content_range(),
            content_type: Some(
                input
                    .response_content_type
                    .clone()
                    .or(metadata.content_type.clone())
                    .unwrap_or_else(|| DEFAULT_CONTENT_TYPE.to_owned()),
            ),
            e_tag: Some(found.etag.clone()),
            expires: input
                .response_expires
                .clone()
                .or_else(|| parse_http_date(metadata.expires.as_deref())),
            last_modified: Some(found.modified.clone()),
            metadata: metadata.user_dto(),
            parts_count: found.parts,
            ..Default::default()
        };
        let checksums = input.checksum_mode.as_ref().map(ChecksumMode::as_str) == Some("ENABLED");
        if checksums
            && found.range == (0..found.size)
            && let Some(checksum) = &metadata.checksum
        {
            set_checksum!(output, checksum);
            output.checksum_type = Some(checksum_type(&checksum.value));
        }
        output
    }};
}

pub(crate) async fn get(
    gateway: &Gateway,
    request: S3Request<GetObjectInput>,
) -> S3Result<S3Response<GetObjectOutput>> {
    let client = gateway.client_of(request.credentials.as_ref());
    let input = request.input;
    refuse::version(input.version_id.as_deref())?;
    refuse_customer_keys!(input);
    let path = KeyPath::new(gateway.volume(), &input.bucket, &input.key);
    let begun = client::newest(|| begin(gateway, &client, &path, &input)).await;
    let (pieces, reader, found) = begun.map_err(|e| s3_error(Subject::Object, e))??;
    let mut output = output!(GetObjectOutput, found, input);
    output.tag_count = i32::try_from(reader.info().tags.len()).ok().filter(|count| *count > 0);
    output.storage_class = storage_class(reader.info());
    let length = found.range.end - found.range.start;
    output.body = Some(ObjectBody::blob(pieces, length));
    Ok(answer(output, found.partial))
}

/// Opens an object and begins to read the requested range. The response starts only after the first
/// bytes have been read: if the object is overwritten before, it is looked up again, with its
/// conditions and range; if later, the connection is closed.
async fn begin(
    gateway: &Gateway,
    client: &Client,
    path: &KeyPath,
    input: &GetObjectInput,
) -> client::Result<S3Result<(Pieces, KeyReader, Found)>> {
    let reader = client.open_key(path).await?;
    let asked = directory::check_object(gateway, path, reader.info())
        .and_then(|()| find(reader.info(), conditions!(input), input.range, input.part_number));
    Ok(match asked {
        Ok(found) => Ok((reader.begin(found.range.clone()).await?, reader, found)),
        Err(refused) => Err(refused),
    })
}

pub(crate) async fn head(
    gateway: &Gateway,
    request: S3Request<HeadObjectInput>,
) -> S3Result<S3Response<HeadObjectOutput>> {
    let client = gateway.client_of(request.credentials.as_ref());
    let input = request.input;
    refuse::version(input.version_id.as_deref())?;
    refuse_customer_keys!(input);
    let path = KeyPath::new(gateway.volume(), &input.bucket, &input.key);
    let info = client.readable_key_info(&path).await.map_err(|e| s3_error(Subject::Object, e))?;
    directory::check_object(gateway, &path, &info)?;
    let found = find(&info, conditions!(input), input.range, input.part_number)?;
    let mut output = output!(HeadObjectOutput, found, input);
    output.storage_class = storage_class(&info);
    Ok(answer(output, found.partial))
}

fn answer<T>(output: T, partial: bool) -> S3Response<T> {
    let status = partial.then_some(http::StatusCode::PARTIAL_CONTENT);
    let mut response = S3Response::new(output);
    response.status = status;
    response
}

fn find(
    info: &KeyInfo,
    conditions: Conditions<'_>,
    range: Option<WireRange>,
    part_number: Option<i32>,
) -> S3Result<Found> {
    let metadata = ObjectMetadata::of_key(&info.metadata);
    let etag = metadata.etag_or(info.object_id(), info.update_id());
    let modified = timestamp(info.modification_time);
    conditions.check_read(&etag, &modified)?;
    let size = info.data_size;
    let (range, parts) = match (range, part_number) {
        (Some(_), Some(_)) => {
            return Err(crate::errors::invalid_request(
                "Cannot specify both Range header and partNumber query parameter",
            ));
        }
        (Some(range), None) => (Some(range.check(size).map_err(|_| invalid_range(size))?), None),
        (None, Some(number)) => {
            let (range, parts) = part_range(info, refuse::part_number(number)?)?;
            (Some(range), parts)
        }
        (None, None) => (None, None),
    };
    let partial = range.is_some();
    let range = range.unwrap_or(0..size);
    Ok(Found { metadata, etag, modified, size, range, partial, parts })
}

impl Found {
    fn content_range(&self) -> Option<String> {
        let Range { start, end } = self.range;
        (self.partial && end > start).then(|| format!("bytes {start}-{}/{}", end - 1, self.size))
    }
}

fn invalid_range(size: u64) -> S3Error {
    let mut error =
        S3Error::with_message(S3ErrorCode::InvalidRange, "The requested range is not satisfiable");
    if let Ok(value) = http::HeaderValue::from_str(&format!("bytes */{size}")) {
        let mut headers = http::HeaderMap::new();
        headers.insert(http::header::CONTENT_RANGE, value);
        headers
            .insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/xml"));
        error.set_headers(headers);
    }
    error
}

/// The range of a part in its object, and the number of parts. An object of one piece is its own
/// part 1.
fn part_range(info: &KeyInfo, number: u32) -> S3Result<(Range<u64>, Option<i32>)> {
    let version = info.key_location_list.last();
    let multipart = version.is_some_and(|version| version.is_multipart_key());
    if !multipart {
        return match number {
            1 => Ok((0..info.data_size, None)),
            _ => Err(no_such_part()),
        };
    }
    let locations = version.map(|version| version.key_locations.as_slice()).unwrap_or_default();
    let (mut offset, mut found, mut parts, mut last) = (0u64, None, 0, None);
    for location in locations {
        if last != Some(location.part_number()) {
            parts += 1;
            last = Some(location.part_number());
        }
        let end = offset + location.length;
        if u32::try_from(location.part_number()) == Ok(number) {
            let range: &mut Range<u64> = found.get_or_insert(offset..end);
            range.end = end;
        }
        offset = end;
    }
    found.map(|range| (range, Some(parts))).ok_or_else(no_such_part)
}

fn no_such_part() -> S3Error {
    custom(
        "InvalidPartNumber",
        http::StatusCode::RANGE_NOT_SATISFIABLE,
        "The requested partnumber is not satisfiable",
    )
}

/// The class of an object; `None` for STANDARD, which S3 omits.
fn storage_class(info: &KeyInfo) -> Option<StorageClass> {
    let coding = info.ec_replication_config.as_ref();
    let replication = ReplicationConfig::from_wire(info.r#type, info.factor, coding).ok();
    let class = storage_class::of(replication, StoragePolicy::of_metadata(&info.metadata));
    (class != STANDARD).then(|| StorageClass::from_static(class))
}

/// A checksum over the checksums of parts is recognised by its part count.
pub(crate) fn checksum_type(value: &str) -> ChecksumType {
    ChecksumType::from_static(match value.contains('-') {
        true => ChecksumType::COMPOSITE,
        false => ChecksumType::FULL_OBJECT,
    })
}

#[cfg(test)]
mod tests {
    use proto::hdds::BlockId;
    use proto::ozone::{KeyLocation, KeyLocationList};

    use super::*;

    fn multipart(parts: &[(i32, u64)]) -> KeyInfo {
        let location = |(number, length): &(i32, u64)| KeyLocation {
            block_id: BlockId::default(),
            length: *length,
            part_number: Some(*number),
            ..Default::default()
        };
        KeyInfo {
            data_size: parts.iter().map(|part| part.1).sum(),
            key_location_list: vec![KeyLocationList {
                is_multipart_key: Some(true),
                key_locations: parts.iter().map(location).collect(),
                ..Default::default()
            }],
            ..Default::default()
        }
    }

    #[test]
    fn a_part_is_where_its_blocks_are() {
        let info = multipart(&[(1, 10), (1, 5), (3, 7)]);
        assert_eq!(part_range(&info, 1).unwrap(), (0..15, Some(2)));
        assert_eq!(part_range(&info, 3).unwrap(), (15..22, Some(2)));
        assert!(part_range(&info, 2).is_err());
        let plain = KeyInfo { data_size: 9, ..Default::default() };
        assert_eq!(part_range(&plain, 1).unwrap(), (0..9, None));
        assert!(part_range(&plain, 2).is_err());
    }

    #[test]
    fn ranges_are_told_as_http_has_them() {
        let info = KeyInfo { data_size: 100, ..Default::default() };
        let cases = [
            (WireRange::Int { first: 0, last: Some(9) }, Some("bytes 0-9/100")),
            (WireRange::Int { first: 90, last: Some(500) }, Some("bytes 90-99/100")),
            (WireRange::Int { first: 99, last: None }, Some("bytes 99-99/100")),
            (WireRange::Suffix { length: 5 }, Some("bytes 95-99/100")),
            (WireRange::Suffix { length: 500 }, Some("bytes 0-99/100")),
            (WireRange::Int { first: 100, last: None }, None),
        ];
        for (range, expected) in cases {
            let found = find(&info, Conditions::default(), Some(range), None);
            match expected {
                Some(text) => assert_eq!(found.unwrap().content_range().as_deref(), Some(text)),
                None => assert_eq!(found.err().unwrap().code().as_str(), "InvalidRange"),
            }
        }
    }
}
