//! The protocol over real gRPC, with a group of the test behind it.

#![allow(clippy::unwrap_used)]

mod support;

mod admin;
mod ordered;
mod unordered;
