//! Secret keys of S3 access ids.

pub(crate) mod get;
mod owner;
pub(crate) mod revoke;
pub(crate) mod set;

pub use get::create_s3_secret_request;
