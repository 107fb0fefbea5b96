//! OM's commands: type, messages and field numbers declared once, and the envelope encoded and
//! decoded without `OMRequest` and `OMResponse`, whose hundred optional messages are more expensive
//! to move than to fill.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use prost::Message;
use prost::encoding::{self, WireType};
use proto::ozone::{self as om, Status, Type};

use proto::ozone::ReadConsistencyProto;
use proto::ozone::read_consistency_hint::LocalLeaseContext;

use super::anywhere::FollowerReads;
use crate::{Error, Result};

/// A command of OM.
pub(crate) trait Command {
    /// `cmdType`.
    const TYPE: Type;
    /// Field of the request message in `OMRequest`.
    const REQUEST_FIELD: u32;
    /// Field of the response message in `OMResponse`.
    const RESPONSE_FIELD: u32;
    /// The request message.
    type Request: Message;
    /// The response message.
    type Response: Message + Default;
}

macro_rules! commands {
    ($($name:ident, $request_field:literal $request:ident, $response_field:literal $response:ident;)*) => {$(
        pub(crate) struct $name;
        impl Command for $name {
            const TYPE: Type = Type::$name;
            const REQUEST_FIELD: u32 = $request_field;
            const RESPONSE_FIELD: u32 = $response_field;
            type Request = om::$request;
            type Response = om::$response;
        }
    )*};
}

commands! {
    CreateVolume, 11 CreateVolumeRequest, 11 CreateVolumeResponse;
    SetVolumeProperty, 12 SetVolumePropertyRequest, 12 SetVolumePropertyResponse;
    InfoVolume, 14 InfoVolumeRequest, 14 InfoVolumeResponse;
    DeleteVolume, 15 DeleteVolumeRequest, 15 DeleteVolumeResponse;
    ListVolume, 16 ListVolumeRequest, 16 ListVolumeResponse;
    CreateBucket, 21 CreateBucketRequest, 21 CreateBucketResponse;
    InfoBucket, 22 InfoBucketRequest, 22 InfoBucketResponse;
    SetBucketProperty, 23 SetBucketPropertyRequest, 23 SetBucketPropertyResponse;
    DeleteBucket, 24 DeleteBucketRequest, 24 DeleteBucketResponse;
    ListBuckets, 25 ListBucketsRequest, 25 ListBucketsResponse;
    CreateKey, 31 CreateKeyRequest, 31 CreateKeyResponse;
    RenameKey, 33 RenameKeyRequest, 33 RenameKeyResponse;
    DeleteKey, 34 DeleteKeyRequest, 34 DeleteKeyResponse;
    ListKeys, 35 ListKeysRequest, 35 ListKeysResponse;
    ListKeysLight, 35 ListKeysRequest, 126 ListKeysLightResponse;
    CommitKey, 36 CommitKeyRequest, 36 CommitKeyResponse;
    AllocateBlock, 37 AllocateBlockRequest, 37 AllocateBlockResponse;
    DeleteKeys, 38 DeleteKeysRequest, 38 DeleteKeysResponse;
    GetKeyInfo, 111 GetKeyInfoRequest, 111 GetKeyInfoResponse;
    CreateDirectory, 71 CreateDirectoryRequest, 71 CreateDirectoryResponse;
    CreateFile, 72 CreateFileRequest, 72 CreateFileResponse;
    InitiateMultiPartUpload, 45 MultipartInfoInitiateRequest, 45 MultipartInfoInitiateResponse;
    CommitMultiPartUpload, 46 MultipartCommitUploadPartRequest, 46 MultipartCommitUploadPartResponse;
    CompleteMultiPartUpload, 47 MultipartUploadCompleteRequest, 47 MultipartUploadCompleteResponse;
    AbortMultiPartUpload, 48 MultipartUploadAbortRequest, 48 MultipartUploadAbortResponse;
    ListMultiPartUploadParts, 50 MultipartUploadListPartsRequest, 50 MultipartUploadListPartsResponse;
    ListMultipartUploads, 83 ListMultipartUploadsRequest, 82 ListMultipartUploadsResponse;
    GetS3Secret, 49 GetS3SecretRequest, 49 GetS3SecretResponse;
    SetS3Secret, 106 SetS3SecretRequest, 106 SetS3SecretResponse;
    GetS3VolumeContext, 104 GetS3VolumeContextRequest, 104 GetS3VolumeContextResponse;
    PutObjectTagging, 141 PutObjectTaggingRequest, 141 PutObjectTaggingResponse;
    GetObjectTagging, 140 GetObjectTaggingRequest, 140 GetObjectTaggingResponse;
    DeleteObjectTagging, 142 DeleteObjectTaggingRequest, 142 DeleteObjectTaggingResponse;
    CreateSnapshot, 112 CreateSnapshotRequest, 112 CreateSnapshotResponse;
    ListSnapshot, 113 ListSnapshotRequest, 113 ListSnapshotResponse;
    SnapshotDiff, 114 SnapshotDiffRequest, 114 SnapshotDiffResponse;
    DeleteSnapshot, 115 DeleteSnapshotRequest, 115 DeleteSnapshotResponse;
    ListSnapshotDiffJobs, 122 ListSnapshotDiffJobRequest, 122 ListSnapshotDiffJobResponse;
    CancelSnapshotDiff, 123 CancelSnapshotDiffRequest, 123 CancelSnapshotDiffResponse;
    GetSnapshotInfo, 128 SnapshotInfoRequest, 130 SnapshotInfoResponse;
    RenameSnapshot, 129 RenameSnapshotRequest, 132 RenameSnapshotResponse;
    SubmitSnapshotDiff, 144 SubmitSnapshotDiffRequest, 143 SubmitSnapshotDiffResponse;
}

/// `RevokeS3Secret` has no response message; an empty one is used.
pub(crate) struct RevokeS3Secret;
impl Command for RevokeS3Secret {
    const TYPE: Type = Type::RevokeS3Secret;
    const REQUEST_FIELD: u32 = 93;
    const RESPONSE_FIELD: u32 = u32::MAX;
    type Request = om::RevokeS3SecretRequest;
    type Response = om::PutObjectTaggingResponse;
}

/// The supported `ClientVersion`: bucket layouts.
const CLIENT_VERSION: u64 = 3;

/// The parts of the envelope that are the same for all requests of a client, encoded once.
pub(crate) fn encode_caller(client_id: &str, user: &str) -> Bytes {
    let mut out = BytesMut::new();
    put_string(3, client_id, &mut out);
    let info = om::UserInfo { user_name: Some(user.to_owned()), ..Default::default() };
    encoding::message::encode(4, &info, &mut out);
    put_varint(5, CLIENT_VERSION, &mut out);
    out.freeze()
}

/// Id of a call. Retries have the same id, so that any leader of OM returns the first result
/// instead of executing the call again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallId {
    pub(crate) client: [u8; 16],
    pub(crate) number: i32,
}

/// Returns `true` if executing a command twice may differ from executing it once.
pub(crate) fn changes(command: Type) -> bool {
    !matches!(
        command,
        Type::InfoVolume
            | Type::ListVolume
            | Type::InfoBucket
            | Type::ListBuckets
            | Type::ListKeys
            | Type::ListKeysLight
            | Type::GetKeyInfo
            | Type::GetObjectTagging
            | Type::ListMultiPartUploadParts
            | Type::ListMultipartUploads
            | Type::GetS3VolumeContext
            | Type::ListSnapshot
            | Type::GetSnapshotInfo
            | Type::SnapshotDiff
            | Type::SubmitSnapshotDiff
            | Type::ListSnapshotDiffJobs
            | Type::CancelSnapshotDiff
    )
}

/// One encoded `OMRequest`.
pub(crate) fn encode<C: Command>(caller: &[u8], call: CallId, request: &C::Request) -> Bytes {
    let length = request.encoded_len();
    let mut out = BytesMut::with_capacity(length + caller.len() + 48);
    put_varint(1, C::TYPE as u64, &mut out);
    if let Some(trace_id) = telemetry::current_trace_id() {
        put_string(2, &trace_id, &mut out);
    }
    out.put_slice(caller);
    encoding::encode_key(C::REQUEST_FIELD, WireType::LengthDelimited, &mut out);
    encoding::encode_varint(length as u64, &mut out);
    request.encode_raw(&mut out);
    if changes(C::TYPE) {
        encoding::encode_key(20_002, WireType::LengthDelimited, &mut out);
        encoding::encode_varint(call.client.len() as u64, &mut out);
        out.put_slice(&call.client);
        encoding::sint32::encode(20_003, &call.number, &mut out);
    }
    out.freeze()
}

/// Encodes a read that any OM may serve, with its minimum log position.
pub(crate) fn encode_anywhere<C: Command>(
    caller: &[u8],
    call: CallId,
    reads: FollowerReads,
    written: u64,
    request: &C::Request,
) -> Bytes {
    let mut out = BytesMut::from(encode::<C>(caller, call, request));
    let (consistency, lease) = match reads {
        FollowerReads::Linearizable => (ReadConsistencyProto::LinearizableAllowFollower, None),
        FollowerReads::Local { max_lag } => (
            ReadConsistencyProto::LocalLease,
            Some(LocalLeaseContext { log_limit: Some(max_lag), lease_time_ms: None }),
        ),
    };
    let hint = om::ReadConsistencyHint {
        read_consistency: Some(consistency as i32),
        local_lease_context: lease,
    };
    encoding::message::encode(7, &hint, &mut out);
    if written > 0 {
        put_varint(20_005, written, &mut out);
    }
    out.freeze()
}

/// A decoded `OMResponse`.
pub(crate) struct Reply<R> {
    /// Position of a write in the log.
    pub(crate) written_at: Option<u64>,
    pub(crate) status: Status,
    pub(crate) message: String,
    /// Absent on most errors; present where a partial result exists.
    pub(crate) body: Option<R>,
}

impl<R: Default> Reply<R> {
    /// Returns the body, or OM's error.
    pub(crate) fn ok(self) -> Result<R> {
        match self.status {
            Status::Ok => Ok(self.body.unwrap_or_default()),
            status => Err(Error::Om { status, message: self.message }),
        }
    }
}

/// Decodes an `OMResponse`.
pub(crate) fn decode<C: Command>(mut bytes: Bytes) -> Result<Reply<C::Response>> {
    let invalid = |e: prost::DecodeError| Error::om_reply(e.to_string());
    let mut status = None;
    let mut message = String::new();
    let mut body = None;
    let mut written_at = None;
    while bytes.has_remaining() {
        let (tag, wire) = encoding::decode_key(&mut bytes).map_err(invalid)?;
        match (tag, wire) {
            (5, WireType::Varint) => {
                let number = encoding::decode_varint(&mut bytes).map_err(invalid)?;
                let known = i32::try_from(number).ok().and_then(|n| Status::try_from(n).ok());
                status = Some(known.unwrap_or(Status::InternalError));
            }
            (20_006, WireType::Varint) => {
                written_at = Some(encoding::decode_varint(&mut bytes).map_err(invalid)?);
            }
            (4, WireType::LengthDelimited) => {
                message = String::from_utf8_lossy(&take(&mut bytes)?).into_owned();
            }
            (tag, WireType::LengthDelimited) if tag == C::RESPONSE_FIELD => {
                body = Some(C::Response::decode(take(&mut bytes)?).map_err(invalid)?);
            }
            (tag, wire) => {
                encoding::skip_field(wire, tag, &mut bytes, Default::default()).map_err(invalid)?
            }
        }
    }
    let status = status.ok_or_else(|| Error::om_reply("no status"))?;
    Ok(Reply { written_at, status, message, body })
}

fn take(bytes: &mut Bytes) -> Result<Bytes> {
    let length = encoding::decode_varint(bytes).map_err(|e| Error::om_reply(e.to_string()))?;
    match usize::try_from(length) {
        Ok(length) if length <= bytes.len() => Ok(bytes.split_to(length)),
        _ => Err(Error::om_reply("a field is longer than the message")),
    }
}

fn put_varint(tag: u32, value: u64, out: &mut BytesMut) {
    encoding::encode_key(tag, WireType::Varint, out);
    encoding::encode_varint(value, out);
}

fn put_string(tag: u32, value: &str, out: &mut BytesMut) {
    encoding::encode_key(tag, WireType::LengthDelimited, out);
    encoding::encode_varint(value.len() as u64, out);
    out.put_slice(value.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: CallId = CallId { client: [7; 16], number: -3 };

    #[test]
    fn what_changes_something_says_which_call_it_is() {
        let caller = encode_caller("c", "u");
        let bytes = encode::<CreateKey>(&caller, CALL, &Default::default());
        let request = om::OmRequest::decode(bytes).unwrap();
        assert_eq!(request.rpc_client_id.as_deref(), Some(&CALL.client[..]));
        assert_eq!(request.rpc_call_id, Some(-3));
        let bytes = encode::<GetKeyInfo>(&caller, CALL, &Default::default());
        assert_eq!(om::OmRequest::decode(bytes).unwrap().rpc_client_id, None);
    }

    #[test]
    fn the_short_envelope_is_an_om_request() {
        let request = om::InfoBucketRequest { volume_name: "v".into(), bucket_name: "b".into() };
        let bytes = encode::<InfoBucket>(&encode_caller("client-1", "alice"), CALL, &request);
        let whole = om::OmRequest::decode(bytes).unwrap();
        assert_eq!(whole.cmd_type(), Type::InfoBucket);
        assert_eq!(whole.client_id, "client-1");
        assert_eq!(whole.user_info.unwrap().user_name(), "alice");
        assert_eq!(whole.version, Some(3));
        assert_eq!(whole.info_bucket_request.as_deref(), Some(&request));
    }

    #[test]
    fn every_field_number_is_the_one_of_the_protocol() {
        // With a wrong field number the request would not be decoded from `OMRequest`.
        macro_rules! check {
            ($($command:ident, $request:ident, $response:ident;)*) => {$(
                let bytes = encode::<$command>(&encode_caller("c", "u"), CALL, &Default::default());
                let whole = om::OmRequest::decode(bytes).unwrap();
                assert!(whole.$request.is_some(), stringify!($command));
                assert_eq!(whole.cmd_type(), Type::$command);
                let reply = om::OmResponse {
                    cmd_type: Type::$command as i32,
                    status: Status::Ok as i32,
                    $response: Some(Default::default()),
                    ..Default::default()
                };
                let reply = decode::<$command>(reply.encode_to_vec().into()).unwrap();
                assert!(reply.body.is_some(), stringify!($command));
            )*};
        }
        check! {
            CreateKey, create_key_request, create_key_response;
            CreateDirectory, create_directory_request, create_directory_response;
            CommitKey, commit_key_request, commit_key_response;
            AllocateBlock, allocate_block_request, allocate_block_response;
            GetKeyInfo, get_key_info_request, get_key_info_response;
            ListKeysLight, list_keys_request, list_keys_light_response;
            ListMultipartUploads, list_multipart_uploads_request, list_multipart_uploads_response;
            PutObjectTagging, put_object_tagging_request, put_object_tagging_response;
            GetObjectTagging, get_object_tagging_request, get_object_tagging_response;
            DeleteObjectTagging, delete_object_tagging_request, delete_object_tagging_response;
            CommitMultiPartUpload, commit_multi_part_upload_request, commit_multi_part_upload_response;
            CompleteMultiPartUpload, complete_multi_part_upload_request, complete_multi_part_upload_response;
            GetS3Secret, get_s3_secret_request, get_s3_secret_response;
            SetS3Secret, set_s3_secret_request, set_s3_secret_response;
            DeleteKeys, delete_keys_request, delete_keys_response;
            CreateSnapshot, create_snapshot_request, create_snapshot_response;
            ListSnapshot, list_snapshot_request, list_snapshot_response;
            SnapshotDiff, snapshot_diff_request, snapshot_diff_response;
            DeleteSnapshot, delete_snapshot_request, delete_snapshot_response;
            ListSnapshotDiffJobs, list_snapshot_diff_job_request, list_snapshot_diff_job_response;
            CancelSnapshotDiff, cancel_snapshot_diff_request, cancel_snapshot_diff_response;
            GetSnapshotInfo, snapshot_info_request, snapshot_info_response;
            RenameSnapshot, rename_snapshot_request, rename_snapshot_response;
            SubmitSnapshotDiff, submit_snapshot_diff_request, submit_snapshot_diff_response;
        }
    }

    #[test]
    fn an_error_keeps_status_message_and_partial_result() {
        let reply = om::OmResponse {
            cmd_type: Type::DeleteKeys as i32,
            status: Status::PartialDelete as i32,
            success: Some(false),
            message: Some("some".into()),
            delete_keys_response: Some(Default::default()),
            ..Default::default()
        };
        let reply = decode::<DeleteKeys>(reply.encode_to_vec().into()).unwrap();
        assert_eq!((reply.status, reply.message.as_str()), (Status::PartialDelete, "some"));
        assert!(reply.body.is_some());
        assert!(reply.ok().is_err());
    }

    #[test]
    fn a_truncated_reply_is_refused() {
        let reply = om::OmResponse {
            cmd_type: Type::InfoBucket as i32,
            status: Status::Ok as i32,
            info_bucket_response: Some(Default::default()),
            message: Some("long enough".into()),
            ..Default::default()
        };
        let bytes = Bytes::from(reply.encode_to_vec());
        assert!(decode::<InfoBucket>(bytes.slice(..bytes.len() - 1)).is_err());
        assert!(decode::<InfoBucket>(Bytes::new()).is_err());
    }
}
