//! Standard output, and long listings that are printed incrementally.

use std::io::{BufWriter, Stdout, Write, stdout};

use futures::{Stream, TryStreamExt};
use serde_json::Value;

use crate::{ShellError, json};

fn failed(e: std::io::Error) -> ShellError {
    ShellError::local("standard output")(e)
}

/// Prints a line.
pub(crate) fn line(text: impl AsRef<str>) -> Result<(), ShellError> {
    let mut out = stdout().lock();
    out.write_all(text.as_ref().as_bytes()).map_err(failed)?;
    out.write_all(b"\n").map_err(failed)
}

/// Prints a value.
pub(crate) fn value(value: &Value) -> Result<(), ShellError> {
    line(json::pretty(value))
}

/// Writes an array element by element.
pub(crate) struct ArrayPrinter {
    out: BufWriter<Stdout>,
    count: usize,
}

impl ArrayPrinter {
    pub(crate) fn new() -> Self {
        Self { out: BufWriter::new(stdout()), count: 0 }
    }

    pub(crate) fn push(&mut self, value: &Value) -> Result<(), ShellError> {
        let before = if self.count == 0 { "[ " } else { ", " };
        self.count += 1;
        write!(self.out, "{before}{}", json::element(value)).map_err(failed)
    }

    pub(crate) fn finish(mut self) -> Result<usize, ShellError> {
        let end = if self.count == 0 { "[ ]\n" } else { " ]\n" };
        self.out.write_all(end.as_bytes()).and_then(|()| self.out.flush()).map_err(failed)?;
        Ok(self.count)
    }
}

/// Writes an object whose first field is an array, element by element.
pub(crate) struct FieldPrinter {
    out: BufWriter<Stdout>,
    name: &'static str,
    count: usize,
}

impl FieldPrinter {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { out: BufWriter::new(stdout()), name, count: 0 }
    }

    /// Returns `true` if anything was written.
    pub(crate) fn has_begun(&self) -> bool {
        self.count > 0
    }

    /// Adds an element.
    pub(crate) fn push(&mut self, value: &Value) -> Result<(), ShellError> {
        let before = match self.count {
            0 => format!("{{\n  \"{}\" : [ ", self.name),
            _ => ", ".to_owned(),
        };
        self.count += 1;
        write!(self.out, "{before}{}", json::field(value)).map_err(failed)
    }

    /// Ends the array, and adds one more field to the object.
    pub(crate) fn end(&mut self, name: &str, value: &Value) -> Result<(), ShellError> {
        let before = match self.count {
            0 => format!("{{\n  \"{}\" : [ ]", self.name),
            _ => " ]".to_owned(),
        };
        let value = json::field(value);
        writeln!(self.out, "{before},\n  \"{name}\" : {value}\n}}").map_err(failed)?;
        self.out.flush().map_err(failed)
    }
}

/// Prints at most `limit` items of a stream as one array.
pub(crate) async fn list<T>(
    items: impl Stream<Item = client::Result<T>>,
    limit: usize,
    render: impl Fn(&T) -> Value,
) -> Result<Listed, ShellError> {
    let mut items = std::pin::pin!(items);
    let mut printer = ArrayPrinter::new();
    let mut count = 0;
    while count < limit {
        let Some(item) = items.try_next().await? else { break };
        printer.push(&render(&item))?;
        count += 1;
    }
    printer.finish()?;
    let more = count == limit && items.try_next().await?.is_some();
    Ok(Listed { count, more })
}

/// Result of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Listed {
    /// Items printed.
    pub(crate) count: usize,
    /// Returns `true` if the limit truncated the listing.
    pub(crate) more: bool,
}

/// Arguments of a listing.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ListArgs {
    /// Maximum number of entries.
    #[arg(short = 'l', long = "length", default_value_t = 100, value_name = "N")]
    pub(crate) length: usize,
    /// List all entries.
    #[arg(short = 'a', long, conflicts_with = "length")]
    pub(crate) all: bool,
    /// Only entries whose name begins with this prefix.
    #[arg(short = 'p', long, default_value = "", value_name = "TEXT")]
    pub(crate) prefix: String,
    /// Only entries after this name.
    #[arg(short = 's', long, default_value = "", value_name = "NAME")]
    pub(crate) start: String,
    /// Accepted for compatibility: listings are always JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl ListArgs {
    pub(crate) fn limit(&self) -> Result<usize, ShellError> {
        match (self.all, self.length) {
            (true, _) => Ok(usize::MAX),
            (false, 0) => Err(ShellError::Usage("List length should be a positive number".into())),
            (false, n) => Ok(n),
        }
    }
}
