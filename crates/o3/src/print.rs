//! Output that ends without an error when its reader closes it.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

/// Writes text to stdout. A closed reader (`o3 config list | head`) is no error.
pub fn out(text: &str) -> anyhow::Result<ExitCode> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(error) => Err(anyhow::Error::new(error).context("cannot write to stdout")),
    }
}

/// Writes a value to stdout as indented JSON.
pub fn json(value: &serde_json::Value) -> anyhow::Result<ExitCode> {
    out(&format!("{value:#}\n"))
}
