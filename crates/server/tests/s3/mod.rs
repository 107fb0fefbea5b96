//! The S3 gateway over a whole cluster in this process, tested by raw requests.

mod cluster;
mod conditions;
mod documents;
mod errors;
mod headers;
mod listing;
mod multipart;
mod ranges;
mod signatures;
mod trees;
