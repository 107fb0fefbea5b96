//! A port that cannot be had.

use std::io;

/// Why an endpoint could not be opened, with the key to change.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address} ({key}): {}", reason(.source, .key))]
pub struct BindError {
    /// The configuration key that names the address or port.
    pub key: &'static str,
    /// What was to be bound.
    pub address: String,
    /// What the system said.
    pub source: io::Error,
}

impl BindError {
    /// From its parts.
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
