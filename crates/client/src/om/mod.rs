//! Requests to OM: one file per noun, based on [`command`] (the messages of each command) and
//! [`transport`] (choice of server, retries, timeouts).

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
