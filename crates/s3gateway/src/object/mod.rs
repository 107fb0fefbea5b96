//! Objects: put, get, head, delete, copy, tags, attributes.

mod attributes;
mod body;
mod copy;
mod delete;
mod directory;
mod get;
mod put;
mod tagging;

pub(crate) use attributes::attributes;
pub(crate) use body::{ObjectBody, write_body};
pub(crate) use copy::{Source, copy, copy_newest, copy_range, source};
pub(crate) use delete::{delete, delete_many};
pub(crate) use get::{checksum_type, get, head};
pub(crate) use put::{content_length, put};
pub(crate) use tagging::{delete_tags, get_tags, put_tags};
