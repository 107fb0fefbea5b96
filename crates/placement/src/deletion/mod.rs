//! The deletion log: blocks received for deletion, sent to nodes, and confirmed.

mod acknowledge;
mod add;
mod send;
mod status;

pub(crate) use acknowledge::acknowledge;
pub(crate) use add::number;
pub use add::{DeletedBlock, Draft};
pub use send::Round;
pub(crate) use send::{Sending, send};
pub(crate) use status::status;
pub use status::{LogStatus, Oldest, Unconfirmed};

pub use crate::state::deletion::{Summary, Transaction};
