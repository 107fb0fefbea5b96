//! Messages of DataNodes: registrations and heartbeats with their reports.

mod convert;
pub mod heartbeat;
pub mod register;
