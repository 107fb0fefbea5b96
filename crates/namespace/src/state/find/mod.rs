//! Resolution of names in a request: volumes, buckets through links, multipart uploads.

pub(crate) mod bucket;
pub(crate) mod upload;
pub(crate) mod volume;
