//! Blocks to be deleted: what is handed over, sent and confirmed.

mod acknowledge;
mod add;
mod send;
mod status;

pub use add::{DeletedBlock, Draft};
pub use send::Round;
pub use status::{LogStatus, Oldest, Unconfirmed};

pub use crate::state::deletion::{Summary, Transaction};
