//! What OM is asked: one file per noun, over [`command`] (which messages belong together) and
//! [`transport`] (which server is asked, how often, how long).

mod admin;
pub(crate) mod anywhere;
pub(crate) mod args;
pub(crate) mod bucket;
pub(crate) mod command;
mod displaced;
pub(crate) mod key;
pub(crate) mod multipart;
pub(crate) mod s3;
pub(crate) mod snapshot;
pub(crate) mod tagging;
pub(crate) mod transport;
pub(crate) mod volume;
