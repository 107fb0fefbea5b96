//! The SCM side: register, report, carry commands out.
//!
//! * [`News`]: what is waiting to be told to SCM
//! * [`session`]: one SCM's session, for as long as that belongs to the service
//! * [`Sessions`]: those of all SCMs, which come and go
//! * [`report`]: the reports
//! * [`commands`]: what SCM asks for

pub(crate) mod commands;
mod news;
pub(crate) mod report;
pub(crate) mod session;
mod sessions;

pub(crate) use news::{Batch, News, Outbox};
pub(crate) use sessions::Sessions;
