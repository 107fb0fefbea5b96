//! A gateway over an in-memory cluster, shared with the client's tests.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod checksums;
mod chunked;
#[allow(dead_code)]
#[path = "../../client/tests/datanode.rs"]
mod datanode;
mod listing;
#[allow(dead_code)]
#[path = "../../client/tests/om.rs"]
mod om;
mod overwritten;
mod owner;
mod request;
mod signed;
mod slow;
mod status;
mod strangers;
#[allow(dead_code)]
#[path = "../../client/tests/support.rs"]
mod support;
