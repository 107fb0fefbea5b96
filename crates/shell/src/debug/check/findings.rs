//! Findings, by kind.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value, json};

/// A kind of finding; the order is that of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    UploadOfAnotherKey,
    UploadWithoutItsBucket,
    PartWithoutItsUpload,
    DirectoryWithoutItsParent,
    FileWithoutItsParent,
    DeletedContainer,
    KeyInDeletedContainer,
    KeyInUnknownContainer,
    DamagedRow,
}

impl Kind {
    /// Its name.
    fn name(self) -> &'static str {
        match self {
            Self::UploadOfAnotherKey => "upload-of-another-key",
            Self::UploadWithoutItsBucket => "upload-without-its-bucket",
            Self::PartWithoutItsUpload => "part-without-its-upload",
            Self::DirectoryWithoutItsParent => "directory-without-its-parent",
            Self::FileWithoutItsParent => "file-without-its-parent",
            Self::DeletedContainer => "deleted-container",
            Self::KeyInDeletedContainer => "key-in-deleted-container",
            Self::KeyInUnknownContainer => "key-in-unknown-container",
            Self::DamagedRow => "damaged-row",
        }
    }
}

/// All findings of a kind.
#[derive(Debug, Default)]
struct Found {
    count: u64,
    shown: Vec<Map<String, Value>>,
}

/// All findings of a run.
#[derive(Debug)]
pub(super) struct Findings {
    /// Maximum number shown per kind.
    limit: usize,
    found: BTreeMap<Kind, Found>,
    /// Additional notes, by name.
    notes: BTreeMap<&'static str, String>,
}

impl Findings {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, found: BTreeMap::new(), notes: BTreeMap::new() }
    }

    /// Adds a finding; `about` is an object.
    pub(super) fn add(&mut self, kind: Kind, about: Value) {
        let found = self.found.entry(kind).or_default();
        found.count = found.count.saturating_add(1);
        if found.shown.len() < self.limit
            && let Value::Object(about) = about
        {
            found.shown.push(about);
        }
    }

    /// Adds a finding for a row that does not decode.
    pub(super) fn damaged(&mut self, table: &str, row: &[u8], why: impl fmt::Display) {
        let row = String::from_utf8_lossy(row);
        self.add(Kind::DamagedRow, json!({ "table": table, "row": row, "why": why.to_string() }));
    }

    /// Adds a note.
    pub(super) fn note(&mut self, name: &'static str, text: impl Into<String>) {
        self.notes.insert(name, text.into());
    }

    /// Total number of findings.
    pub(super) fn total(&self) -> u64 {
        self.found.values().map(|found| found.count).fold(0, u64::saturating_add)
    }

    /// Number of findings of a kind.
    #[cfg(test)]
    pub(super) fn of(&self, kind: Kind) -> (u64, &[Map<String, Value>]) {
        self.found.get(&kind).map_or((0, &[]), |found| (found.count, &found.shown))
    }

    /// Renders all findings for programs.
    pub(super) fn to_json(&self) -> Value {
        let kinds = self.found.iter().map(|(kind, found)| {
            let shown: Vec<Value> = found.shown.iter().cloned().map(Value::Object).collect();
            (kind.name().to_owned(), json!({ "count": found.count, "shown": shown }))
        });
        let notes = self.notes.iter().map(|(name, text)| ((*name).to_owned(), json!(text)));
        json!({
            "total": self.total(),
            "findings": Value::Object(kinds.collect()),
            "notes": Value::Object(notes.collect()),
        })
    }
}

/// Renders all findings for people.
impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.found.is_empty() {
            writeln!(f, "Nothing was found.")?;
        }
        for (kind, found) in &self.found {
            writeln!(f, "{}: {}", kind.name(), found.count)?;
            for about in &found.shown {
                let fields = about.iter().map(|(name, value)| match value {
                    Value::String(text) => format!("{name}={text}"),
                    value => format!("{name}={value}"),
                });
                writeln!(f, "  {}", fields.collect::<Vec<_>>().join(" "))?;
            }
            let more = found.count.saturating_sub(found.shown.len() as u64);
            if more > 0 {
                writeln!(f, "  and {more} more (--limit)")?;
            }
        }
        for (name, text) in &self.notes {
            writeln!(f, "{name}: {text}")?;
        }
        Ok(())
    }
}
