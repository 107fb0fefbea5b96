//! Why a call has no answer.

use std::io;
use std::sync::Arc;

use crate::fault::Fault;

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The server refused.
    #[error("{address}: {fault}")]
    Refused {
        /// The server that was asked.
        address: Arc<str>,
        /// The refusal.
        fault: Fault,
    },
    /// No connection could be made: the call was not sent.
    #[error("cannot connect to {address}: {source}")]
    Connect {
        /// The server that was to be asked.
        address: Arc<str>,
        /// What happened.
        source: io::Error,
    },
    /// The connection was lost; whether the server did the work is unknown.
    #[error("{address}: connection lost: {reason}")]
    Lost {
        /// The server that was asked.
        address: Arc<str>,
        /// What happened.
        reason: Arc<str>,
    },
    /// No answer in time; whether the server did the work is unknown.
    #[error("{address}: no answer within {millis} ms")]
    Timeout {
        /// The server that was asked.
        address: Arc<str>,
        /// How long the call waited.
        millis: u64,
    },
}

impl CallError {
    /// The server's refusal, if that is what it is.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Refused { fault, .. } => Some(fault),
            _ => None,
        }
    }
}
