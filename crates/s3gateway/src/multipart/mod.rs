//! Multipart uploads: create, parts, list, complete, abort.

mod checksum;
mod complete;
mod create;
mod list;
mod part;

pub(crate) use complete::complete;
pub(crate) use create::{abort, create};
pub(crate) use list::{list_parts, list_uploads};
#[cfg(test)]
pub(crate) use part::exact_range;
pub(crate) use part::{upload_part, upload_part_copy};
