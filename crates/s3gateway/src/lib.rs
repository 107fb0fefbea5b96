//! S3 over the native client.
//!
//! `s3s` speaks HTTP, XML and signatures; what an operation means is here. Buckets live in one
//! volume (`s3v`) with layout OBJECT_STORE. Nothing is kept in the gateway but connections and a
//! short memory of secrets: any number of gateways serve one cluster.
//!
//! | module | what |
//! | --- | --- |
//! | [`server`] | sockets, request ids, metrics; what has to be checked before `s3s` looks |
//! | [`target`] | sub-resources that `s3s` would take for the resource itself |
//! | [`signed`] | what a signature covers, as far as `s3s` does not look |
//! | [`owner`] | buckets that have to be somebody's |
//! | [`auth`] | secrets of access ids |
//! | [`errors`] | the one place where failures become S3 codes |
//! | [`announced`] | checksums that a request names: each is verified, or refused |
//! | [`chunked`] | bodies in aws-chunks, cut into small ones |
//! | [`digest`] | ETag and checksums of a body, verified |
//! | [`metadata`] | headers of an object as metadata of its key |
//! | [`conditions`] | If-Match and its kin |
//! | [`document`] | answers are well-formed XML, whatever names are in them |
//! | [`refuse`] | what we lack, said aloud |
//! | [`storage_class`] | replications as storage classes |
//! | [`bucket`], [`object`], [`listing`], [`multipart`] | the operations |
//!
//! **Invariants.** What a client asked for and we do not do is refused, never ignored. An object
//! becomes visible only after its digests were verified. Bodies stream both ways; what an upload
//! holds is bounded by the client's options.

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
