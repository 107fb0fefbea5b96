//! Commands that only look: answered from the tables, without the log.

use bytes::Bytes;
use prost::Message;
use proto::ozone::{OmRequest, OmResponse, Type};

use crate::error::OmError;
use crate::prepare::unsupported;
use crate::settings::Settings;
use crate::view::View;
use crate::{acl, bucket, file, key, multipart, s3secret, service, tagging, volume};

/// What a read is answered from.
pub struct ReadContext<'a> {
    /// The tables.
    pub view: &'a dyn View,
    /// Who asks.
    pub user: &'a str,
    /// The groups of who asks.
    pub groups: &'a [String],
    /// Settings.
    pub settings: &'a Settings,
}

impl ReadContext<'_> {
    /// The most entries of a page when the client asks for `wanted`.
    pub(crate) fn page(&self, wanted: Option<i64>) -> usize {
        let limit = self.settings.list_max_size as usize;
        match wanted.map(usize::try_from) {
            Some(Ok(n)) if n > 0 => n.min(limit),
            _ => limit,
        }
    }
}

/// Answers a read. Locations in the answer have no pipelines and tokens yet: who serves the
/// client fills them in ([`crate::for_each_location`]).
pub fn read(request: &OmRequest, cx: &ReadContext<'_>) -> OmResponse {
    match acl::check_read(request, cx).and_then(|()| dispatch(request, cx)) {
        Ok(mut response) => {
            response.trace_id = request.trace_id.clone();
            response
        }
        Err(refusal) => refusal.into_response(request.cmd_type, request.trace_id.clone()),
    }
}

/// Answers a read as the encoded [`OmResponse`]. Lists of keys, whose entries need nothing but
/// the tables, are copied from the rows field by field, without building messages: a fraction
/// of the cost of [`read`] and the same bytes.
///
/// Answers with block locations need their pipelines first: use [`read`] for those.
pub fn read_encoded(request: &OmRequest, cx: &ReadContext<'_>) -> Bytes {
    if request.cmd_type == Type::ListKeysLight as i32
        && let Some(list) = &request.list_keys_request
    {
        let allowed = acl::check_read(request, cx);
        let trace = request.trace_id.as_deref();
        return match allowed.and_then(|()| key::list_light::encode(list, trace, cx)) {
            Ok(bytes) => bytes,
            Err(refusal) => {
                let response = refusal.into_response(request.cmd_type, request.trace_id.clone());
                Bytes::from(response.encode_to_vec())
            }
        };
    }
    Bytes::from(read(request, cx).encode_to_vec())
}

fn part<'a, T>(field: &'a Option<Box<T>>, name: &str) -> Result<&'a T, OmError> {
    field.as_deref().ok_or_else(|| OmError::missing(name))
}

fn dispatch(r: &OmRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
    let command = Type::try_from(r.cmd_type).map_err(|_| unsupported(r.cmd_type))?;
    match command {
        Type::InfoVolume => {
            volume::info::read(part(&r.info_volume_request, "InfoVolumeRequest")?, cx)
        }
        Type::ListVolume => {
            volume::list::read(part(&r.list_volume_request, "ListVolumeRequest")?, cx)
        }
        Type::InfoBucket => {
            bucket::info::read(part(&r.info_bucket_request, "InfoBucketRequest")?, cx)
        }
        Type::ListBuckets => {
            bucket::list::read(part(&r.list_buckets_request, "ListBucketsRequest")?, cx)
        }
        Type::LookupKey => key::lookup::read(part(&r.lookup_key_request, "LookupKeyRequest")?, cx),
        Type::GetKeyInfo => {
            key::get_info::read(part(&r.get_key_info_request, "GetKeyInfoRequest")?, r, cx)
        }
        Type::ListKeys => key::list::read(part(&r.list_keys_request, "ListKeysRequest")?, cx),
        Type::ListKeysLight => {
            key::list_light::read(part(&r.list_keys_request, "ListKeysRequest")?, cx)
        }
        Type::GetObjectTagging => {
            tagging::get(part(&r.get_object_tagging_request, "GetObjectTaggingRequest")?, cx)
        }
        Type::ListMultiPartUploadParts => multipart::list_parts::read(
            part(&r.list_multipart_upload_parts_request, "MultipartUploadListPartsRequest")?,
            cx,
        ),
        Type::ListMultipartUploads => multipart::list_uploads::read(
            part(&r.list_multipart_uploads_request, "ListMultipartUploadsRequest")?,
            cx,
        ),
        Type::ListOpenFiles => {
            key::list_open::read(part(&r.list_open_files_request, "ListOpenFilesRequest")?, cx)
        }
        Type::GetFileStatus => {
            file::status::read(part(&r.get_file_status_request, "GetFileStatusRequest")?, cx)
        }
        Type::LookupFile => {
            file::lookup::read(part(&r.lookup_file_request, "LookupFileRequest")?, cx)
        }
        Type::ListStatus => {
            file::list_status::read(part(&r.list_status_request, "ListStatusRequest")?, cx)
        }
        Type::ListStatusLight => {
            file::list_status::read_light(part(&r.list_status_request, "ListStatusRequest")?, cx)
        }
        Type::GetAcl => acl::read(part(&r.get_acl_request, "GetAclRequest")?, cx),
        Type::GetS3VolumeContext => volume::s3_context::read(r, cx),
        Type::GetS3Secret => {
            s3secret::get::read(part(&r.get_s3_secret_request, "GetS3SecretRequest")?, cx)
        }
        Type::EchoRpc => Ok(service::echo(part(&r.echo_rpc_request, "EchoRPCRequest")?)),
        _ => Err(unsupported(r.cmd_type)),
    }
}
