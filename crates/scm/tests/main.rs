//! Tests of SCM as OM, administrators and DataNodes see it, over the framed endpoints.

#![allow(clippy::unwrap_used)]

mod admin;
mod blocks;
mod datanode;
mod deletion_status;
mod erasure_coded;
mod failure;
mod first_start;
mod hadoop;
mod harness;
mod ids;
mod leaving;
mod members;
mod racks;
mod reconciliation;
mod registration;
mod restart;
mod slow_requests;
