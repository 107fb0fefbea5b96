//! CopyObject: data is copied from reader to writer within the gateway.

use std::ops::Range;

use client::{Client, CreateKey, FinishOptions, KeyPath, KeyReader, KeyWriter, Precondition};
use futures::StreamExt;
use http::header::{HeaderMap, HeaderName, IF_MATCH, IF_NONE_MATCH};
use s3s::dto::{
    CopyObjectInput, CopyObjectOutput, CopyObjectResult, CopySource, ETag, ETagCondition,
    MetadataDirective, TaggingDirective,
};
use s3s::{S3Error, S3ErrorCode, S3Request, S3Result};

use super::get::checksum_type;
use super::put::{not_committed, precondition};
use crate::checksum_fields::set_checksum;
use crate::conditions::{Conditions, conditions};
use crate::digest::{Algorithm, BodyDigest, Claims, Verified};
use crate::errors::{Subject, invalid_argument, invalid_request, not_implemented, s3_error};
use crate::gateway::Gateway;
use crate::metadata::{ObjectMetadata, finish_pairs, of_input};
use crate::time::{now, timestamp};
use crate::{refuse, storage_class};

/// Maximum size of an object copied in one request; S3's limit.
const LARGEST: u64 = 5 << 30;

/// The source of a copy.
pub(crate) struct Source {
    pub(crate) reader: KeyReader,
    pub(crate) metadata: ObjectMetadata,
}

/// Opens the source of a copy after checking its conditions.
pub(crate) async fn source(
    gateway: &Gateway,
    client: &Client,
    source: &CopySource,
    conditions: Conditions<'_>,
) -> S3Result<Source> {
    let CopySource::Bucket { bucket, key, version_id } = source else {
        return Err(not_implemented("x-amz-copy-source with an access point"));
    };
    refuse::version(version_id.as_deref())?;
    let path = KeyPath::new(gateway.volume(), &**bucket, &**key);
    let reader = client.open_key(&path).await.map_err(|e| s3_error(Subject::Object, e))?;
    let info = reader.info();
    let metadata = ObjectMetadata::of_key(&info.metadata);
    let etag = metadata.etag_or(info.object_id(), info.update_id());
    conditions.check_copy(&etag, &timestamp(info.modification_time))?;
    Ok(Source { reader, metadata })
}

/// Copies, and retries with the new version if the source is overwritten in the meantime.
pub(crate) async fn copy_newest<T, F>(copy: impl FnMut() -> F) -> S3Result<T>
where
    F: Future<Output = client::Result<S3Result<T>>>,
{
    client::newest(copy).await.map_err(|e| s3_error(Subject::Object, e))?
}

/// Copies a range of the source into a writer; the caller finishes it. A failure of reading the
/// source is the outer error: a retry with the newer version may succeed.
pub(crate) async fn copy_range(
    source: &Source,
    range: Range<u64>,
    writer: &mut KeyWriter,
    algorithm: Option<Algorithm>,
) -> client::Result<S3Result<Verified>> {
    let mut digest = BodyDigest::new(Claims::default().want(algorithm));
    let mut stream = source.reader.stream(range);
    while let Some(piece) = stream.next().await {
        let piece = piece?;
        digest.update(&piece);
        if let Err(error) = writer.write(piece).await {
            return Ok(Err(s3_error(Subject::Object, error)));
        }
    }
    Ok(digest.verify(None))
}

pub(crate) async fn copy(
    gateway: &Gateway,
    request: S3Request<CopyObjectInput>,
) -> S3Result<CopyObjectOutput> {
    let client = gateway.client_of(request.credentials.as_ref());
    let input = request.input;
    refuse::copy_object(&input)?;
    let replace = directive(input.metadata_directive.as_ref().map(MetadataDirective::as_str))?;
    let replace_tags = directive(input.tagging_directive.as_ref().map(TaggingDirective::as_str))?;
    check_not_itself(&input, replace || replace_tags)?;
    let target = target_precondition(&request.headers)?;
    copy_newest(|| async {
        let begun = begin(gateway, &client, &input, replace, replace_tags, &target).await;
        let mut copy = match begun {
            Ok(copy) => copy,
            Err(refused) => return Ok(Err(refused)),
        };
        let range = 0..copy.from.reader.len();
        let copied = copy_range(&copy.from, range, &mut copy.writer, copy.algorithm).await?;
        Ok(finish(copied, copy.writer, &target).await)
    })
    .await
}

/// The precondition on the object that the copy would replace. `s3s` handles only the conditions on
/// the source.
fn target_precondition(headers: &HeaderMap) -> S3Result<Precondition> {
    let condition = |name: HeaderName| -> S3Result<Option<ETagCondition>> {
        let mut values = headers.get_all(&name).iter();
        match (values.next(), values.next()) {
            (None, _) => Ok(None),
            (Some(value), None) => ETagCondition::parse_http_header(value.as_bytes())
                .map(Some)
                .map_err(|_| invalid_argument(format!("{name} is not valid"))),
            (Some(_), Some(_)) => Err(invalid_argument(format!("{name} is there twice"))),
        }
    };
    let (if_match, if_none_match) = (condition(IF_MATCH)?, condition(IF_NONE_MATCH)?);
    precondition(if_match.as_ref(), if_none_match.as_ref())
}

/// A copy in progress.
struct Copy {
    from: Source,
    writer: KeyWriter,
    /// Checksum algorithm of the copy.
    algorithm: Option<Algorithm>,
}

/// Opens source and target of a copy.
async fn begin(
    gateway: &Gateway,
    client: &Client,
    input: &CopyObjectInput,
    replace: bool,
    replace_tags: bool,
    target: &Precondition,
) -> S3Result<Copy> {
    let from = source(gateway, client, &input.copy_source, conditions!(copy input)).await?;
    let info = from.reader.info();
    if info.data_size > LARGEST {
        return Err(invalid_request(
            "The specified copy source is larger than the maximum allowable size for a copy source: 5368709120",
        ));
    }
    // The storage policy is copied with the content, unless the request names a class.
    let policy = storage_class::policy(input.storage_class.as_ref())
        .or_else(|| from.metadata.policy.clone());
    let metadata = match replace {
        true => ObjectMetadata { policy, ..of_input!(input) },
        false => ObjectMetadata { etag: None, checksum: None, policy, ..from.metadata.clone() },
    };
    let tags = match replace_tags {
        true => refuse::tags_of_header(input.tagging.as_deref())?,
        false => info.tags.iter().map(|t| (t.key.clone(), t.value().to_owned())).collect(),
    };
    let algorithm = match input.checksum_algorithm.as_ref().map(Algorithm::of_dto).transpose()? {
        Some(algorithm) => Some(algorithm),
        None => from.metadata.checksum.as_ref().map(|checksum| checksum.algorithm),
    };
    let path = KeyPath::new(gateway.volume(), &input.bucket, &input.key);
    let mut key = CreateKey::new(path)
        .size_hint(info.data_size)
        .metadata(metadata.to_key())
        .tags(tags)
        .only_if(target.clone());
    key.replication =
        storage_class::replication(input.storage_class.as_ref(), input.metadata.as_ref())?
            .or(gateway.replication());
    let writer = client.create_key(key).await.map_err(|e| s3_error(Subject::Object, e))?;
    Ok(Copy { from, writer, algorithm })
}

/// Commits the copy.
async fn finish(
    copied: S3Result<Verified>,
    writer: KeyWriter,
    target: &Precondition,
) -> S3Result<CopyObjectOutput> {
    let verified = copied?;
    let options =
        FinishOptions { metadata: finish_pairs(&verified.etag, verified.checksum.as_ref()) };
    writer.finish(options).await.map_err(|e| not_committed(target, e))?;
    let mut result = CopyObjectResult {
        e_tag: Some(ETag::Strong(verified.etag)),
        last_modified: Some(now()),
        ..Default::default()
    };
    if let Some(checksum) = &verified.checksum {
        set_checksum!(result, checksum);
        result.checksum_type = Some(checksum_type(&checksum.value));
    }
    Ok(CopyObjectOutput { copy_object_result: Some(result), ..Default::default() })
}

/// Returns `true` for `REPLACE`, `false` for `COPY`.
fn directive(directive: Option<&str>) -> S3Result<bool> {
    match directive {
        None | Some("COPY") => Ok(false),
        Some("REPLACE") => Ok(true),
        Some(other) => {
            Err(crate::errors::invalid_argument(format!("Unknown metadata directive: {other}")))
        }
    }
}

fn check_not_itself(input: &CopyObjectInput, changes: bool) -> S3Result<()> {
    let same = matches!(
        &input.copy_source,
        CopySource::Bucket { bucket, key, .. } if **bucket == *input.bucket && **key == *input.key
    );
    if same && !changes && input.storage_class.is_none() {
        return Err(S3Error::with_message(
            S3ErrorCode::InvalidRequest,
            "This copy request is illegal because it is trying to copy an object to itself without changing the \
             object's metadata, storage class, website redirect location or encryption attributes.",
        ));
    }
    Ok(())
}
