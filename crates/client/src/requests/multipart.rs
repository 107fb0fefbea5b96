//! Multipart uploads: create, commit part, list parts and uploads, complete, abort.

use futures::future::BoxFuture;
use proto::ozone::{self as om, KeyArgs, Status};
use types::ReplicationConfig;

use crate::om::args::{KeyPath, pairs_to_wire, set_replication};
use crate::om::command;
use crate::{Client, Result};

/// Metadata of a part: the digest of its bytes.
const ETAG: &str = "ETag";

/// A multipart upload to be started.
#[derive(Debug, Clone)]
pub struct CreateUpload {
    /// The key of the upload.
    pub path: KeyPath,
    /// Replication; by default the bucket's or the cluster's.
    pub replication: Option<ReplicationConfig>,
    /// User metadata.
    pub metadata: Vec<(String, String)>,
    /// Object tags.
    pub tags: Vec<(String, String)>,
}

/// A part in a request to complete an upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletedPart {
    /// Its number.
    pub part_number: u32,
    /// Its ETag, as returned by its upload, without quotes.
    pub etag: String,
}

/// A finished multipart upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletedUpload {
    /// The key's ETag: MD5 over the parts' MD5s, and the number of parts.
    pub etag: String,
}

/// One page of an upload's parts.
#[derive(Debug, Clone)]
pub struct PartPage {
    /// The parts, in the order of their numbers.
    pub parts: Vec<om::PartInfo>,
    /// The upload's replication, if OM reports it.
    pub replication: Option<ReplicationConfig>,
    /// The checksum type of the upload, as recorded at its creation.
    pub checksum: Option<String>,
    /// Start of the next page, if there is one.
    pub next: Option<u32>,
}

/// One page of a bucket's uploads.
#[derive(Debug, Clone)]
pub struct UploadPage {
    /// The uploads, in order of key and upload id.
    pub uploads: Vec<om::MultipartUploadInfo>,
    /// Key and upload id after which the next page starts, if there is one.
    pub next: Option<(String, String)>,
}

/// Returns `true` if a listed part has the bytes of the part to be committed. Most parts of an
/// upload have the same size, so that only the digest distinguishes an earlier part with the same
/// number; without a digest the part may be an earlier one.
fn is_of(listed: &om::PartInfo, args: &KeyArgs) -> bool {
    let etag = args.metadata.iter().find(|pair| pair.key == ETAG);
    let etag = etag.and_then(|pair| pair.value.as_deref());
    listed.part_number == args.multipart_number()
        && listed.size == args.data_size()
        && etag.is_some()
        && listed.e_tag.as_deref() == etag
}

impl Client {
    /// Starts a multipart upload and returns its id. Parts are written with [`Client::create_key`].
    ///
    /// # Errors
    /// `BUCKET_NOT_FOUND`, or a failure to reach OM.
    pub fn create_upload(&self, upload: CreateUpload) -> BoxFuture<'_, Result<String>> {
        Box::pin(async move {
            let mut args = upload.path.args();
            set_replication(&mut args, upload.replication.as_ref());
            args.metadata = pairs_to_wire(&upload.metadata);
            args.tags = pairs_to_wire(&upload.tags);
            let request = om::MultipartInfoInitiateRequest { key_args: args };
            let reply = self.om::<command::InitiateMultiPartUpload>(&request).await?;
            Ok(reply.multipart_upload_id)
        })
    }

    /// Commits a written part to its upload.
    pub(crate) async fn commit_part(&self, args: KeyArgs, session: u64) -> Result<()> {
        let number = args.multipart_number();
        let request = om::MultipartCommitUploadPartRequest { key_args: args, client_id: session };
        let (reply, repeated) = self.om_reply::<command::CommitMultiPartUpload>(&request).await?;
        if repeated && reply.status != Status::Ok {
            // The first attempt may have committed it: then a part with our bytes is listed.
            let args = &request.key_args;
            let path = KeyPath::new(&args.volume_name, &args.bucket_name, &args.key_name);
            let page = self
                .list_parts(&path, args.multipart_upload_id(), number.saturating_sub(1), 1)
                .await?;
            if page.parts.first().is_some_and(|listed| is_of(listed, args)) {
                return Ok(());
            }
        }
        reply.ok().map(drop)
    }

    /// Completes an upload: its parts become one key.
    ///
    /// # Errors
    /// `NO_SUCH_MULTIPART_UPLOAD_ERROR`, `INVALID_PART`, `INVALID_PART_ORDER`, `ENTITY_TOO_SMALL`,
    /// or a failure to reach OM.
    pub fn complete_upload<'a>(
        &'a self,
        path: &'a KeyPath,
        upload_id: &'a str,
        parts: &'a [CompletedPart],
        metadata: Vec<(String, String)>,
        only_if_absent: bool,
    ) -> BoxFuture<'a, Result<CompletedUpload>> {
        Box::pin(async move {
            let mut args = upload_args(path, upload_id);
            args.metadata = pairs_to_wire(&metadata);
            args.expected_data_generation = only_if_absent.then_some(0);
            let parts_list = parts
                .iter()
                .map(|part| om::Part {
                    part_number: part.part_number,
                    part_name: part.etag.clone(),
                    e_tag: Some(part.etag.clone()),
                })
                .collect();
            let request = om::MultipartUploadCompleteRequest {
                key_args: args,
                parts_list,
                ..Default::default()
            };
            let reply = self.om::<command::CompleteMultiPartUpload>(&request).await?;
            Ok(CompletedUpload { etag: reply.hash.unwrap_or_default() })
        })
    }

    /// Aborts an upload and deletes its parts.
    ///
    /// # Errors
    /// `NO_SUCH_MULTIPART_UPLOAD_ERROR`, or a failure to reach OM.
    pub fn abort_upload<'a>(
        &'a self,
        path: &'a KeyPath,
        upload_id: &'a str,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let request =
                om::MultipartUploadAbortRequest { key_args: upload_args(path, upload_id) };
            // OM recognizes a retried call: the error that there is no such upload means that
            // another call ended it.
            self.om::<command::AbortMultiPartUpload>(&request).await.map(drop)
        })
    }

    /// At most `count` parts with numbers above `after`.
    ///
    /// # Errors
    /// `NO_SUCH_MULTIPART_UPLOAD_ERROR`, or a failure to reach OM.
    pub fn list_parts<'a>(
        &'a self,
        path: &'a KeyPath,
        upload_id: &'a str,
        after: u32,
        count: u32,
    ) -> BoxFuture<'a, Result<PartPage>> {
        Box::pin(async move {
            let request = om::MultipartUploadListPartsRequest {
                volume: path.volume.clone(),
                bucket: path.bucket.clone(),
                key: path.key.clone(),
                upload_id: upload_id.to_owned(),
                part_numbermarker: Some(after),
                max_parts: Some(count),
            };
            let reply = self.om::<command::ListMultiPartUploadParts>(&request).await?;
            let more = reply.is_truncated.unwrap_or(false);
            let last = reply.parts_list.last().map(|part| part.part_number);
            let next = if more { reply.next_part_number_marker.or(last) } else { None };
            let coding = reply.ec_replication_config.as_ref();
            let replication =
                reply.r#type.map(|kind| ReplicationConfig::from_wire(kind, reply.factor, coding));
            let replication = replication.and_then(Result::ok);
            Ok(PartPage { parts: reply.parts_list, replication, checksum: reply.checksum, next })
        })
    }

    /// At most `count` uploads of keys that begin with `prefix`, after a key and upload id.
    ///
    /// # Errors
    /// `BUCKET_NOT_FOUND`, or a failure to reach OM.
    pub fn list_uploads<'a>(
        &'a self,
        volume: &'a str,
        bucket: &'a str,
        prefix: &'a str,
        after: (&'a str, &'a str),
        count: u32,
    ) -> BoxFuture<'a, Result<UploadPage>> {
        Box::pin(async move {
            let request = om::ListMultipartUploadsRequest {
                volume: volume.to_owned(),
                bucket: bucket.to_owned(),
                prefix: prefix.to_owned(),
                key_marker: Some(after.0.to_owned()),
                upload_id_marker: Some(after.1.to_owned()),
                max_uploads: Some(i32::try_from(count).unwrap_or(i32::MAX)),
                with_pagination: Some(true),
            };
            let reply = self.om::<command::ListMultipartUploads>(&request).await?;
            let last = reply.uploads_list.last().map(|u| (u.key_name.clone(), u.upload_id.clone()));
            let next =
                match (reply.is_truncated, reply.next_key_marker, reply.next_upload_id_marker) {
                    (Some(true), Some(key), Some(id)) => Some((key, id)),
                    (Some(true), _, _) => last,
                    _ => None,
                };
            Ok(UploadPage { uploads: reply.uploads_list, next })
        })
    }
}

fn upload_args(path: &KeyPath, upload_id: &str) -> KeyArgs {
    KeyArgs { multipart_upload_id: Some(upload_id.to_owned()), ..path.args() }
}
