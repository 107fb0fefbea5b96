//! Buckets.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod encryption;
pub(crate) mod info;
pub(crate) mod list;
mod quota;
pub(crate) mod set_property;
