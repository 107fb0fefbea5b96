//! The protocol of OM: [`command`] (the messages of each command), [`args`] (their arguments) and
//! [`transport`] (choice of server, retries, timeouts).

pub(crate) mod anywhere;
pub(crate) mod args;
pub(crate) mod command;
mod displaced;
pub(crate) mod transport;
