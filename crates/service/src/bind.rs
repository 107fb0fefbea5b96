//! A port that cannot be bound.

use std::io;

/// The reason why an endpoint could not be opened, with the key to change.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address} ({key}): {}", reason(.source, .key))]
pub struct BindError {
    /// The configuration key that names the address or port.
    pub key: &'static str,
    /// The address.
    pub address: String,
    /// The system's error.
    pub source: io::Error,
}

impl BindError {
    /// Creates an error from its parts.
    pub fn new(key: &'static str, address: impl ToString, source: io::Error) -> Self {
        BindError { key, address: address.to_string(), source }
    }
}

fn reason(source: &io::Error, key: &str) -> String {
    match source.kind() {
        io::ErrorKind::AddrInUse => {
            format!(
                "the port is taken by another process; stop that or choose another with -D {key}=… (port 0: any free one)"
            )
        }
        _ => source.to_string(),
    }
}
