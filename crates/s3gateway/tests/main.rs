//! Tests of the gateway over HTTP.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]
