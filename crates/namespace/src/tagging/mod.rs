//! Object tags.

pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod put;
mod replace;
