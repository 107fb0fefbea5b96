//! Listings of objects: v1, v2 and versions are three forms of one query.

mod encode;
mod query;
mod respond;

pub(crate) use encode::Encoding;
pub(crate) use respond::{list_v1, list_v2, list_versions, owner};
