//! Finding what a request names: volumes, buckets through links, multipart uploads.

pub(crate) mod bucket;
pub(crate) mod upload;
pub(crate) mod volume;
