//! Errors of calls.

use std::io;
use std::sync::Arc;

use bytes::Bytes;

/// Kind of an error status. The numbers are on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Code {
    /// No error.
    Ok = 0,
    /// Another server is the leader; the detail contains its address, if known.
    NotLeader = 1,
    /// Unavailable at present, perhaps later or elsewhere.
    Unavailable = 2,
    /// The queue is full.
    Busy = 3,
    /// The caller's deadline passed before the work began or ended.
    DeadlineExceeded = 4,
    /// The request is invalid.
    Invalid = 5,
    /// The server failed.
    Internal = 6,
    /// The requested item does not exist.
    NotFound = 7,
    /// The method is not implemented.
    Unimplemented = 8,
    /// This server is the leader but does not serve yet: retry in a moment. Nothing was done.
    NotReady = 9,
}

impl Code {
    pub(crate) fn from_wire(code: u16) -> Self {
        match code {
            0 => Self::Ok,
            1 => Self::NotLeader,
            2 => Self::Unavailable,
            3 => Self::Busy,
            4 => Self::DeadlineExceeded,
            5 => Self::Invalid,
            7 => Self::NotFound,
            8 => Self::Unimplemented,
            9 => Self::NotReady,
            _ => Self::Internal,
        }
    }
}

/// An error response of the server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code:?}: {message}")]
pub struct Status {
    /// Kind.
    pub code: Code,
    /// For people.
    pub message: String,
    /// For programs, e.g. the leader of [`Code::NotLeader`].
    pub detail: Bytes,
}

impl Status {
    /// A status without detail.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), detail: Bytes::new() }
    }

    /// Another server is the leader: `hint` is its id or address, or empty.
    pub fn not_leader(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { detail: Bytes::from(hint.into()), ..Self::new(Code::NotLeader, message) }
    }

    /// The request is invalid.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::Invalid, message)
    }

    /// The server failed.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::Internal, message)
    }

    /// Unavailable at present.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(Code::Unavailable, message)
    }

    /// The detail as text, if it is valid.
    pub fn hint(&self) -> Option<&str> {
        std::str::from_utf8(&self.detail).ok().filter(|s| !s.is_empty())
    }

    pub(crate) fn encode(&self) -> Bytes {
        let mut out = Vec::with_capacity(4 + self.message.len() + self.detail.len());
        out.extend_from_slice(&(self.message.len() as u32).to_le_bytes());
        out.extend_from_slice(self.message.as_bytes());
        out.extend_from_slice(&self.detail);
        out.into()
    }

    pub(crate) fn decode(code: u16, body: &Bytes) -> Self {
        let code = Code::from_wire(code);
        let split = body
            .first_chunk::<4>()
            .map(|n| 4 + u32::from_le_bytes(*n) as usize)
            .filter(|end| *end <= body.len());
        match split {
            Some(end) => Self {
                code,
                message: String::from_utf8_lossy(&body[4..end]).into_owned(),
                detail: body.slice(end..),
            },
            None => Self::new(code, "refused without a reason"),
        }
    }
}

/// Reasons why a call has no response.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CallError {
    /// The server returned an error.
    #[error("{address}: {status}")]
    Status {
        /// The server's address.
        address: Arc<str>,
        /// The status.
        status: Status,
    },
    /// The connection failed; the outcome is unknown, unless `sent` is false.
    #[error("{address}: {reason}")]
    Transport {
        /// The server's address.
        address: Arc<str>,
        /// The kind of failure.
        kind: io::ErrorKind,
        /// The reason.
        reason: String,
        /// The request may have reached the server.
        sent: bool,
    },
    /// The call timed out; its outcome is unknown.
    #[error("{address}: no response within {millis} ms")]
    Timeout {
        /// The server's address.
        address: Arc<str>,
        /// The timeout.
        millis: u64,
    },
    /// The response does not decode.
    #[error("{address}: response does not decode: {reason}")]
    Decode {
        /// The server's address.
        address: Arc<str>,
        /// The decoder's message.
        reason: String,
    },
}

impl CallError {
    /// The server's status, if this is one.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Status { status, .. } => Some(status),
            _ => None,
        }
    }

    /// The status code, if this is one.
    pub fn code(&self) -> Option<Code> {
        self.status().map(|s| s.code)
    }

    /// Returns `true` if the server certainly did not begin the work.
    pub fn not_begun(&self) -> bool {
        match self {
            Self::Status { status, .. } => {
                matches!(
                    status.code,
                    Code::NotLeader | Code::NotReady | Code::Busy | Code::Unimplemented
                )
            }
            Self::Transport { sent, .. } => !sent,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_survives_the_wire_and_junk_does_not_hurt() {
        let status = Status::not_leader("go elsewhere", "10.0.0.1:9862");
        assert_eq!(Status::decode(1, &status.encode()), status);
        assert_eq!(status.hint(), Some("10.0.0.1:9862"));
        for junk in [&b""[..], b"\x01", b"\xff\xff\xff\xffabc"] {
            assert_eq!(Status::decode(77, &Bytes::from_static(junk)).code, Code::Internal);
        }
    }
}
