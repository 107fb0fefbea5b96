//! Volumes, and the list of volumes that each user owns.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod info;
pub(crate) mod list;
mod owner;
pub(crate) mod s3_context;
pub(crate) mod set_property;

pub use create::create_s3_volume_request;
