//! Mapping of errors to S3 codes and messages. No other module does this.

use client::{Error, ErrorKind};
use proto::ozone::Status;
use s3s::{S3Error, S3ErrorCode};

/// The subject of the failed operation: the same OM status maps to different S3 codes for different
/// subjects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A bucket.
    Bucket,
    /// An object.
    Object,
    /// A multipart upload or one of its parts.
    Upload,
}

/// Converts `error` to an S3 error.
pub(crate) fn s3_error(subject: Subject, error: Error) -> S3Error {
    let (code, message) = match error.om_status() {
        Some(status) => of_status(subject, status, &error),
        None => of_kind(subject, error.kind(), &error),
    };
    let mut s3 = S3Error::with_message(code, message);
    if error.kind() == ErrorKind::QuotaExceeded && error.om_status() != Some(Status::TooManyBuckets)
    {
        s3.set_status_code(http::StatusCode::FORBIDDEN);
    }
    s3.set_source(Box::new(error));
    s3
}

/// A code that S3 has and `s3s` lacks.
pub(crate) fn custom(
    code: &'static str,
    status: http::StatusCode,
    message: impl Into<String>,
) -> S3Error {
    let mut error = S3Error::with_message(S3ErrorCode::Custom(code.into()), message.into());
    error.set_status_code(status);
    error
}

fn of_status(subject: Subject, status: Status, error: &Error) -> (S3ErrorCode, String) {
    use S3ErrorCode as C;
    let say = |code, message: &str| (code, message.to_owned());
    match status {
        // A loop of links resolves to no bucket.
        Status::BucketNotFound | Status::VolumeNotFound | Status::DetectedLoopInBucketLinks => {
            say(C::NoSuchBucket, "The specified bucket does not exist")
        }
        Status::KeyNotFound | Status::FileNotFound | Status::DirectoryNotFound => {
            say(C::NoSuchKey, "The specified key does not exist.")
        }
        Status::NoSuchMultipartUploadError => say(
            C::NoSuchUpload,
            "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted \
             or completed.",
        ),
        Status::BucketAlreadyExists => say(
            C::BucketAlreadyExists,
            "The requested bucket name is not available. The bucket namespace is shared by all users of the system. \
             Select a different name and try again.",
        ),
        Status::BucketNotEmpty => {
            say(C::BucketNotEmpty, "The bucket you tried to delete is not empty")
        }
        Status::InvalidBucketName => {
            say(C::InvalidBucketName, "The specified bucket is not valid.")
        }
        Status::TooManyBuckets => {
            say(C::TooManyBuckets, "You have attempted to create more buckets than allowed")
        }
        Status::KeyAlreadyExists
        | Status::EtagMismatch
        | Status::EtagNotAvailable
        | Status::AtomicWriteConflict => precondition_failed_parts(),
        Status::EntityTooSmall => {
            say(C::EntityTooSmall, "Your proposed upload is smaller than the minimum allowed size")
        }
        Status::InvalidPart => say(
            C::InvalidPart,
            "One or more of the specified parts could not be found. The part may not have been uploaded, or the \
             specified entity tag may not match the part's entity tag.",
        ),
        Status::InvalidPartOrder => say(
            C::InvalidPartOrder,
            "The list of parts was not in ascending order. Parts must be ordered by part number.",
        ),
        Status::InvalidRequest if subject == Subject::Upload => {
            (C::MalformedXML, error.to_string())
        }
        Status::InvalidKeyName => (C::InvalidURI, error.to_string()),
        Status::QuotaExceeded => (C::Custom("QuotaExceeded".into()), error.to_string()),
        Status::AccessDenied | Status::PermissionDenied => say(C::AccessDenied, "Access Denied"),
        _ => of_kind(subject, error.kind(), error),
    }
}

fn of_kind(subject: Subject, kind: ErrorKind, error: &Error) -> (S3ErrorCode, String) {
    use S3ErrorCode as C;
    let say = |code, message: &str| (code, message.to_owned());
    match (kind, subject) {
        (ErrorKind::Denied, _) => say(C::AccessDenied, "Access Denied"),
        (ErrorKind::Conflict, _) => precondition_failed_parts(),
        (ErrorKind::Invalid, _) => (C::InvalidRequest, error.to_string()),
        (ErrorKind::Unsupported, _) => (C::NotImplemented, error.to_string()),
        (ErrorKind::QuotaExceeded, _) => (C::Custom("QuotaExceeded".into()), error.to_string()),
        (ErrorKind::SafeMode, _) => {
            say(C::SlowDown, "The cluster is starting. Please try again in a moment.")
        }
        (ErrorKind::NoSpace, _) => {
            tracing::warn!(%error, "no disk has free space: delete data, or add disks or DataNodes");
            say(C::ServiceUnavailable, "There is no room for the data. Please try again.")
        }
        (ErrorKind::Overwritten, _) => {
            tracing::warn!(%error, "object overwritten during a read");
            say(
                C::ServiceUnavailable,
                "The object was overwritten while it was read. Please try again.",
            )
        }
        (ErrorKind::Unavailable | ErrorKind::Timeout, _) => {
            tracing::warn!(%error, "service unavailable");
            say(C::ServiceUnavailable, "Service is unable to handle request. Please try again.")
        }
        _ => {
            tracing::error!(%error, "request failed");
            say(C::InternalError, "We encountered an internal error. Please try again.")
        }
    }
}

fn precondition_failed_parts() -> (S3ErrorCode, String) {
    (
        S3ErrorCode::PreconditionFailed,
        "At least one of the pre-conditions you specified did not hold".to_owned(),
    )
}

/// PreconditionFailed.
pub(crate) fn precondition_failed() -> S3Error {
    let (code, message) = precondition_failed_parts();
    S3Error::with_message(code, message)
}

/// The body exceeds the maximum size of a document.
pub(crate) fn too_large_a_document() -> S3Error {
    custom("MaxMessageLengthExceeded", http::StatusCode::BAD_REQUEST, "Your request was too big.")
}

/// InvalidRequest.
pub(crate) fn invalid_request(message: impl Into<String>) -> S3Error {
    S3Error::with_message(S3ErrorCode::InvalidRequest, message.into())
}

/// InvalidArgument.
pub(crate) fn invalid_argument(message: impl Into<String>) -> S3Error {
    S3Error::with_message(S3ErrorCode::InvalidArgument, message.into())
}

/// The announced checksum is missing from the trailer, or malformed.
pub(crate) fn malformed_trailer() -> S3Error {
    custom(
        "MalformedTrailerError",
        http::StatusCode::BAD_REQUEST,
        "The request contained trailing data that was not well-formed or did not conform to our published schema.",
    )
}

/// NotImplemented, for a feature of S3 that is not supported.
pub(crate) fn not_implemented(what: &str) -> S3Error {
    S3Error::with_message(
        S3ErrorCode::NotImplemented,
        format!(
            "A header or parameter you provided implies functionality that is not implemented: {what}"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_become_the_codes_clients_branch_on() {
        let cases = [
            (Status::BucketNotFound, Subject::Object, "NoSuchBucket", 404),
            (Status::KeyNotFound, Subject::Object, "NoSuchKey", 404),
            (Status::NoSuchMultipartUploadError, Subject::Upload, "NoSuchUpload", 404),
            (Status::BucketNotEmpty, Subject::Bucket, "BucketNotEmpty", 409),
            (Status::KeyAlreadyExists, Subject::Object, "PreconditionFailed", 412),
            (Status::EtagMismatch, Subject::Object, "PreconditionFailed", 412),
            (Status::EntityTooSmall, Subject::Upload, "EntityTooSmall", 400),
            (Status::InvalidPart, Subject::Upload, "InvalidPart", 400),
            (Status::ScmInSafeMode, Subject::Object, "SlowDown", 503),
            (Status::AccessDenied, Subject::Object, "AccessDenied", 403),
            (Status::QuotaExceeded, Subject::Object, "QuotaExceeded", 403),
            (Status::DetectedLoopInBucketLinks, Subject::Object, "NoSuchBucket", 404),
            (Status::DetectedLoopInBucketLinks, Subject::Bucket, "NoSuchBucket", 404),
            (Status::ScmGetPipelineException, Subject::Object, "ServiceUnavailable", 503),
            (Status::MetadataError, Subject::Object, "InternalError", 500),
        ];
        for (status, subject, code, http) in cases {
            let error = s3_error(subject, Error::Om { status, message: "m".into() });
            assert_eq!(error.code().as_str(), code, "{status:?}");
            assert_eq!(error.status_code().map(|s| s.as_u16()), Some(http), "{status:?}");
        }
    }

    /// Clients retry after 503, and give up after 403.
    #[test]
    fn a_full_disk_is_no_quota() {
        let full = Error::WriteFailed {
            key: "/s3v/bucket/k".into(),
            attempts: 3,
            last: Box::new(Error::Container {
                datanode: types::DatanodeId::random(),
                result: proto::datanode::Result::DiskOutOfSpace,
                message: "no space left on device".into(),
            }),
        };
        let error = s3_error(Subject::Object, full);
        assert_eq!(error.code().as_str(), "ServiceUnavailable");
        assert_eq!(error.status_code().map(|s| s.as_u16()), Some(503));
    }

    #[test]
    fn an_unreachable_cluster_is_unavailable() {
        let error = Error::Unavailable { service: "om".into(), message: "gone".into() };
        let error = s3_error(Subject::Bucket, error);
        assert_eq!(error.status_code().map(|s| s.as_u16()), Some(503));
    }
}
