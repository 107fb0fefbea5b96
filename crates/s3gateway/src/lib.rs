//! S3 over the native client.
//!
//! `s3s` handles HTTP, XML and signatures; this crate implements the operations. Buckets live in
//! one volume (`s3v`) with layout OBJECT_STORE. A gateway holds no state but connections and a
//! short-lived cache of secrets: any number of gateways can serve one cluster.
//!
//! | module | contents |
//! | --- | --- |
//! | [`server`] | sockets, request ids, metrics; checks that must precede `s3s` |
//! | [`target`] | sub-resources that `s3s` would mistake for the resource itself |
//! | [`signed`] | coverage of signatures, as far as `s3s` does not check it |
//! | [`owner`] | the expected owner of a bucket |
//! | [`auth`] | secrets of access ids |
//! | [`errors`] | mapping of errors to S3 codes, in one place |
//! | [`announced`] | checksum headers: each is verified, or refused |
//! | [`chunked`] | aws-chunked bodies, split into small chunks |
//! | [`digest`] | ETag and checksums of a body, verified |
//! | [`metadata`] | headers of an object as metadata of its key |
//! | [`conditions`] | conditional requests: If-Match and the like |
//! | [`document`] | well-formed XML responses, whatever names they contain |
//! | [`refuse`] | unsupported features, refused explicitly |
//! | [`storage_class`] | replications as storage classes |
//! | [`bucket`], [`object`], [`listing`], [`multipart`] | the operations |
//!
//! **Invariants.** An unsupported part of a request is refused, never ignored. An object becomes
//! visible only after its digests were verified. Bodies stream both ways; the memory of an upload
//! is bounded by the client's options.

mod announced;
mod auth;
mod bucket;
mod checksum_fields;
mod chunked;
mod conditions;
mod digest;
mod document;
mod errors;
#[cfg(test)]
mod fuzzing;
mod gateway;
mod listing;
mod metadata;
mod multipart;
mod object;
mod operations;
mod options;
mod owner;
mod refuse;
mod server;
mod signed;
mod storage_class;
mod target;
mod time;
mod watched;

pub use gateway::{S3Gateway, S3GatewayError, S3GatewayHandle};
pub use options::GatewayOptions;

pub(crate) use listing::owner as listing_owner;
