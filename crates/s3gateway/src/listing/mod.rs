//! Listings of objects: v1, v2 and versions are three dresses of one walk.

mod encode;
mod respond;
mod walk;

pub(crate) use encode::Encoding;
pub(crate) use respond::{list_v1, list_v2, list_versions, owner};
