//! Errors of calls.

use std::io;
use std::sync::Arc;

use crate::fault::Fault;

/// Reasons why a call has no response.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The server refused the call.
    #[error("{address}: {fault}")]
    Refused {
        /// The server's address.
        address: Arc<str>,
        /// The fault.
        fault: Fault,
    },
    /// Connecting failed: the call was not sent.
    #[error("cannot connect to {address}: {source}")]
    Connect {
        /// The server's address.
        address: Arc<str>,
        /// The reason.
        source: io::Error,
    },
    /// The connection was lost; the outcome is unknown.
    #[error("{address}: connection lost: {reason}")]
    Lost {
        /// The server's address.
        address: Arc<str>,
        /// The reason.
        reason: Arc<str>,
    },
    /// The call timed out; its outcome is unknown.
    #[error("{address}: no response within {millis} ms")]
    Timeout {
        /// The server's address.
        address: Arc<str>,
        /// The timeout.
        millis: u64,
    },
}

impl CallError {
    /// The server's fault, if this is one.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Refused { fault, .. } => Some(fault),
            _ => None,
        }
    }
}
