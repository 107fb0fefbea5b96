//! The SCM side: register, report, carry commands out.
//!
//! * [`PendingReports`]: what is waiting to be told to SCM
//! * [`session`]: one SCM's session, for as long as that belongs to the service
//! * [`Sessions`]: those of all SCMs, which come and go
//! * [`report`]: the reports
//! * [`commands`]: what SCM asks for

pub(crate) mod commands;
mod pending_reports;
pub(crate) mod report;
pub(crate) mod session;
mod sessions;

pub(crate) use pending_reports::{Batch, Outbox, PendingReports};
pub(crate) use sessions::Sessions;
