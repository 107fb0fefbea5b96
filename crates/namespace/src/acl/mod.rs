//! The commands on access control lists of volumes, buckets, prefixes and keys.

pub(crate) mod add;
mod edit;
pub(crate) mod get;
mod object;
pub(crate) mod remove;
pub(crate) mod set;
