//! The protocol over real gRPC, with a test group behind it.

#![allow(clippy::unwrap_used)]

mod support;

mod admin;
mod ordered;
mod unordered;
