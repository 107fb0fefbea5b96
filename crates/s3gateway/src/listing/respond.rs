//! The three response forms of a listing.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as TOKEN;
use client::Client;
use proto::ozone::BasicKeyInfo;
use s3s::dto::{
    CommonPrefix, ETag, ListObjectVersionsInput, ListObjectVersionsOutput, ListObjectsInput,
    ListObjectsOutput, ListObjectsV2Input, ListObjectsV2Output, Object, ObjectStorageClass,
    ObjectVersion, ObjectVersionStorageClass, Owner,
};
use s3s::{S3Request, S3Result};

use super::Encoding;
use super::query::{BucketKeys, Entry, ListQuery, Listed};
use crate::errors::{Subject, invalid_argument, s3_error};
use crate::gateway::Gateway;
use crate::metadata::synthetic_etag;
use crate::storage_class;
use crate::time::timestamp;

/// The single version of every object.
const NULL_VERSION: &str = "null";

struct Page {
    listed: Listed,
    encoding: Encoding,
    max_keys: i32,
}

#[allow(clippy::too_many_arguments)]
async fn page(
    gateway: &Gateway,
    client: &Client,
    bucket: &str,
    prefix: Option<&str>,
    delimiter: Option<&str>,
    after: String,
    max_keys: Option<i32>,
    encoding: Encoding,
) -> S3Result<Page> {
    let most = i32::try_from(gateway.max_list_keys()).unwrap_or(i32::MAX);
    let max_keys = max_keys.unwrap_or(most);
    if max_keys < 0 {
        return Err(invalid_argument(
            "Argument maxKeys must be an integer between 0 and 2147483647",
        ));
    }
    let query = ListQuery {
        prefix: prefix.unwrap_or_default().to_owned(),
        delimiter: delimiter.filter(|d| !d.is_empty()).map(str::to_owned),
        after,
        limit: max_keys.min(most) as usize,
    };
    let failed = |e| s3_error(Subject::Bucket, e);
    if query.limit == 0 {
        client.bucket_info(gateway.volume(), bucket).await.map_err(failed)?;
    }
    let keys = BucketKeys { client, volume: gateway.volume(), bucket };
    let listed = query.run(&keys).await.map_err(failed)?;
    let asked = [Some(query.prefix.as_str()), query.delimiter.as_deref(), Some(&query.after)];
    let names = listed.entries.iter().map(Entry::name);
    let encoding = encoding.carrying(names.chain(asked.into_iter().flatten()));
    Ok(Page { listed, encoding, max_keys })
}

impl Page {
    fn last(&self) -> Option<String> {
        let last = self.listed.entries.last().filter(|_| self.listed.truncated)?;
        Some(last.name().to_owned())
    }

    fn split(self) -> (Vec<BasicKeyInfo>, Vec<CommonPrefix>) {
        let (mut keys, mut prefixes) = (Vec::new(), Vec::new());
        for entry in self.listed.entries {
            match entry {
                Entry::Key(mut key) => {
                    key.key_name = key.key_name.map(|name| self.encoding.name(name));
                    keys.push(key);
                }
                Entry::Prefix(prefix) => {
                    prefixes.push(CommonPrefix { prefix: Some(self.encoding.name(prefix)) });
                }
            }
        }
        (keys, prefixes)
    }
}

fn object(key: BasicKeyInfo, with_owner: bool) -> Object {
    Object {
        e_tag: Some(etag(&key)),
        last_modified: Some(timestamp(key.modification_time())),
        size: i64::try_from(key.data_size()).ok(),
        owner: with_owner.then(|| owner(key.owner_name())),
        storage_class: Some(ObjectStorageClass::from_static(class(&key))),
        key: key.key_name,
        ..Default::default()
    }
}

fn class(key: &BasicKeyInfo) -> &'static str {
    let (coding, policy) = (key.ec_replication_config.as_ref(), key.storage_policy.as_deref());
    storage_class::of_wire(key.r#type, key.factor, coding, policy)
}

fn etag(key: &BasicKeyInfo) -> ETag {
    let etag = key.e_tag.clone().filter(|etag| !etag.is_empty());
    ETag::Strong(
        etag.unwrap_or_else(|| synthetic_etag(key.creation_time(), key.modification_time())),
    )
}

pub(crate) fn owner(name: &str) -> Owner {
    Owner { display_name: Some(name.to_owned()), id: Some(name.to_owned()) }
}

fn some_of<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

pub(crate) async fn list_v1(
    gateway: &Gateway,
    request: S3Request<ListObjectsInput>,
) -> S3Result<ListObjectsOutput> {
    let client = gateway.client_of(request.credentials.as_ref());
    let input = request.input;
    let encoding = Encoding::of(input.encoding_type.as_ref())?;
    let page = page(
        gateway,
        &client,
        &input.bucket,
        input.prefix.as_deref(),
        input.delimiter.as_deref(),
        input.marker.clone().unwrap_or_default(),
        input.max_keys,
        encoding,
    )
    .await?;
    let (encoding, max_keys) = (page.encoding, page.max_keys);
    let truncated = page.listed.truncated;
    let last = page.last().map(|name| encoding.name(name));
    let (keys, prefixes) = page.split();
    Ok(ListObjectsOutput {
        name: Some(input.bucket),
        prefix: Some(encoding.name(input.prefix.unwrap_or_default())),
        marker: Some(encoding.name(input.marker.unwrap_or_default())),
        max_keys: Some(max_keys),
        is_truncated: Some(truncated),
        contents: some_of(keys.into_iter().map(|key| object(key, true)).collect()),
        common_prefixes: some_of(prefixes),
        next_marker: last,
        delimiter: input.delimiter.map(|delimiter| encoding.name(delimiter)),
        encoding_type: encoding.dto(),
        ..Default::default()
    })
}

pub(crate) async fn list_v2(
    gateway: &Gateway,
    request: S3Request<ListObjectsV2Input>,
) -> S3Result<ListObjectsV2Output> {
    let client = gateway.client_of(request.credentials.as_ref());
    let input = request.input;
    let encoding = Encoding::of(input.encoding_type.as_ref())?;
    let encoding = encoding.carrying(input.start_after.as_deref());
    // An empty token counts as absent (HDDS-15739).
    let token = input.continuation_token.filter(|token| !token.is_empty());
    let after = match &token {
        Some(token) => decode_token(token)?,
        None => input.start_after.clone().unwrap_or_default(),
    };
    let page = page(
        gateway,
        &client,
        &input.bucket,
        input.prefix.as_deref(),
        input.delimiter.as_deref(),
        after,
        input.max_keys,
        encoding,
    )
    .await?;
    let (encoding, max_keys) = (page.encoding, page.max_keys);
    let truncated = page.listed.truncated;
    let last = page.last();
    let (keys, prefixes) = page.split();
    let with_owner = input.fetch_owner == Some(true);
    Ok(ListObjectsV2Output {
        name: Some(input.bucket),
        prefix: Some(encoding.name(input.prefix.unwrap_or_default())),
        max_keys: Some(max_keys),
        key_count: i32::try_from(keys.len() + prefixes.len()).ok(),
        continuation_token: token,
        is_truncated: Some(truncated),
        next_continuation_token: last.map(|name| TOKEN.encode(name)),
        contents: some_of(keys.into_iter().map(|key| object(key, with_owner)).collect()),
        common_prefixes: some_of(prefixes),
        delimiter: input.delimiter.map(|delimiter| encoding.name(delimiter)),
        encoding_type: encoding.dto(),
        start_after: input.start_after.map(|start| encoding.name(start)),
        ..Default::default()
    })
}

fn decode_token(token: &str) -> S3Result<String> {
    TOKEN
        .decode(token)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .filter(|name| !name.is_empty())
        .ok_or_else(|| invalid_argument("The continuation token provided is incorrect"))
}

/// Lists every object as its single version `null`, as S3 does for a bucket that never had
/// versioning.
pub(crate) async fn list_versions(
    gateway: &Gateway,
    request: S3Request<ListObjectVersionsInput>,
) -> S3Result<ListObjectVersionsOutput> {
    let client = gateway.client_of(request.credentials.as_ref());
    let input = request.input;
    let encoding = Encoding::of(input.encoding_type.as_ref())?;
    let page = page(
        gateway,
        &client,
        &input.bucket,
        input.prefix.as_deref(),
        input.delimiter.as_deref(),
        input.key_marker.clone().unwrap_or_default(),
        input.max_keys,
        encoding,
    )
    .await?;
    let (encoding, max_keys) = (page.encoding, page.max_keys);
    let truncated = page.listed.truncated;
    let last = page.last().map(|name| encoding.name(name));
    let (keys, prefixes) = page.split();
    let version = |key: BasicKeyInfo| ObjectVersion {
        e_tag: Some(etag(&key)),
        is_latest: Some(true),
        last_modified: Some(timestamp(key.modification_time())),
        owner: Some(owner(key.owner_name())),
        size: i64::try_from(key.data_size()).ok(),
        storage_class: Some(ObjectVersionStorageClass::from_static(class(&key))),
        version_id: Some(NULL_VERSION.to_owned()),
        key: key.key_name,
        ..Default::default()
    };
    Ok(ListObjectVersionsOutput {
        name: Some(input.bucket),
        prefix: Some(encoding.name(input.prefix.unwrap_or_default())),
        key_marker: Some(encoding.name(input.key_marker.unwrap_or_default())),
        version_id_marker: input.version_id_marker,
        max_keys: Some(max_keys),
        is_truncated: Some(truncated),
        next_version_id_marker: last.as_ref().map(|_| NULL_VERSION.to_owned()),
        next_key_marker: last,
        versions: some_of(keys.into_iter().map(version).collect()),
        common_prefixes: some_of(prefixes),
        delimiter: input.delimiter.map(|delimiter| encoding.name(delimiter)),
        encoding_type: encoding.dto(),
        ..Default::default()
    })
}
