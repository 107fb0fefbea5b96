//! Requests to OM, one file per noun: methods of [`Client`](crate::Client).

mod admin;
pub(crate) mod bucket;
mod key;
pub(crate) mod multipart;
mod s3;
pub(crate) mod snapshot;
mod tagging;
pub(crate) mod volume;
