//! The SCM side: register, report, carry commands out.
//!
//! * [`session`]: one SCM's session, for as long as that belongs to the service
//! * [`sessions`]: those of all SCMs, which come and go
//! * [`report`]: the reports
//! * [`commands`]: what SCM asks for

pub(crate) mod commands;
pub(crate) mod report;
pub(crate) mod session;
mod sessions;

pub(crate) use sessions::begin;
