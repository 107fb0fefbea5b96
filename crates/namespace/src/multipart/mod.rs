//! Multipart uploads.
//!
//! An upload is a row of multipartInfoTable and one of openKeyTable (the key to be); each part is
//! a row of multipartPartsTable. A part is written like a key (`key/create.rs` opens it,
//! [`commit_part`] commits it); [`complete`] puts the parts' blocks into one key.

pub(crate) mod abort;
pub(crate) mod abort_expired;
pub(crate) mod commit_part;
pub(crate) mod complete;
pub(crate) mod initiate;
pub(crate) mod list_parts;
pub(crate) mod list_uploads;
