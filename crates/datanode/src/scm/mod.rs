//! The SCM side: register, report, carry commands out.
//!
//! * [`session`]: one SCM's session, while it belongs to the service
//! * [`sessions`]: those of all SCMs, which are added and removed
//! * [`report`]: the reports
//! * [`commands`]: SCM's commands

pub(crate) mod commands;
pub(crate) mod report;
pub(crate) mod session;
mod sessions;

pub(crate) use sessions::begin;
