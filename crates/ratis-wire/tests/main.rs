//! The protocol over real gRPC, served by a test group.

#![allow(clippy::unwrap_used)]

mod support;

mod admin;
mod ordered;
mod unordered;
