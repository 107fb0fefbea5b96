//! The VERSION file: Java properties, as Ozone writes them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use blockio::durable;

use super::DataDirError;

const NODE_TYPE: &str = "nodeType";
const CLUSTER_ID: &str = "clusterID";
const CREATION_TIME: &str = "cTime";
/// Ozone's data volumes spell it differently from its metadata directories.
const LAYOUT_VERSION: [&str; 2] = ["layoutVersion", "layOutVersion"];

/// The expected contents of a VERSION file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// `OM`, `SCM`, `DATANODE`; `None` if the file does not contain it (data volumes).
    pub node_type: Option<&'static str>,
    /// The cluster, if known.
    pub cluster_id: Option<String>,
    /// The latest supported layout.
    pub layout_version: u32,
}

/// The identity of a directory's data.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VersionFile {
    properties: BTreeMap<String, String>,
}

impl VersionFile {
    /// The file of a new metadata directory. The time is in milliseconds since 1970.
    pub fn new(node_type: &str, cluster_id: &str, created_ms: u64, layout_version: u32) -> Self {
        VersionFile::default()
            .with(NODE_TYPE, node_type)
            .with(CLUSTER_ID, cluster_id)
            .with(CREATION_TIME, created_ms)
            .with(LAYOUT_VERSION[0], layout_version)
    }

    /// Adds a property, such as `omUuid`.
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.properties.insert(name.to_string(), value.to_string());
        self
    }

    /// The value of a property.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.properties.get(name).map(String::as_str)
    }

    /// The cluster of the data.
    pub fn cluster_id(&self) -> Option<&str> {
        self.get(CLUSTER_ID)
    }

    /// The role of the data.
    pub fn node_type(&self) -> Option<&str> {
        self.get(NODE_TYPE)
    }

    /// The layout of the data.
    pub fn layout_version(&self) -> Option<u32> {
        LAYOUT_VERSION.iter().find_map(|name| self.get(name)).and_then(|v| v.parse().ok())
    }

    /// Reads a file; `None` if it does not exist.
    ///
    /// # Errors
    /// If the file cannot be read, or a line is not a property.
    pub fn read(path: &Path) -> Result<Option<VersionFile>, DataDirError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(DataDirError::Io { path: path.into(), source }),
        };
        let malformed = |number: usize| DataDirError::Malformed {
            path: path.into(),
            reason: format!("line {number}: expected name=value"),
        };
        Self::parse(&text).map(Some).map_err(malformed)
    }

    /// Parses a text; fails with the number of a malformed line.
    fn parse(text: &str) -> Result<VersionFile, usize> {
        let mut properties = BTreeMap::new();
        for (number, line) in (1_usize..).zip(text.lines()) {
            let line = line.trim_start();
            if line.is_empty() || line.starts_with(['#', '!']) {
                continue;
            }
            let (name, value) = split_property(line).ok_or(number)?;
            properties.insert(name, value);
        }
        Ok(VersionFile { properties })
    }

    /// Writes the file so that after a crash there is either the old one or the complete new one.
    ///
    /// # Errors
    /// If the disk fails; the old file is kept then.
    pub fn write(&self, path: &Path) -> Result<(), DataDirError> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(DataDirError::io(parent))?;
            durable::sync_name(parent).map_err(DataDirError::io(parent))?;
        }
        let temporary = path.with_extension("tmp");
        let text = self.text();
        durable::replace(path, &temporary, text.as_bytes()).map_err(DataDirError::io(path))
    }

    fn text(&self) -> String {
        let now = chrono::Utc::now().format("%a %b %d %H:%M:%S UTC %Y");
        let mut text = format!("#{now}\n");
        for (name, value) in &self.properties {
            text.push_str(&format!("{}={}\n", escape(name), escape(value)));
        }
        text
    }

    /// Checks that the data matches.
    ///
    /// # Errors
    /// If a property is missing, or it is of another role, cluster or later layout.
    pub fn verify(&self, path: &Path, expected: &Expected) -> Result<(), DataDirError> {
        let missing = |name: &str| DataDirError::Malformed {
            path: path.into(),
            reason: format!("{name} is missing"),
        };
        let layout = self.layout_version().ok_or_else(|| missing(LAYOUT_VERSION[0]))?;
        if layout > expected.layout_version {
            return Err(DataDirError::NewerLayout {
                path: path.into(),
                found: layout,
                known: expected.layout_version,
            });
        }
        if let Some(role) = expected.node_type {
            let found = self.node_type().ok_or_else(|| missing(NODE_TYPE))?;
            if !found.eq_ignore_ascii_case(role) {
                return Err(DataDirError::ForeignRole {
                    path: path.into(),
                    found: found.into(),
                    expected: role.into(),
                });
            }
        }
        let cluster = self.cluster_id().ok_or_else(|| missing(CLUSTER_ID))?;
        match &expected.cluster_id {
            Some(expected) if expected != cluster => Err(DataDirError::ForeignCluster {
                path: path.into(),
                found: cluster.into(),
                expected: expected.clone(),
            }),
            _ => Ok(()),
        }
    }
}

/// Escapes characters that are special in Java properties.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => escaped.push_str("\\n"),
            ':' | '=' | '\\' | '#' | '!' => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Splits a line at its first unescaped separator.
fn split_property(line: &str) -> Option<(String, String)> {
    let mut name = String::new();
    let mut chars = line.chars();
    loop {
        match chars.next()? {
            '\\' => name.push(unescape(chars.next()?)),
            '=' | ':' => break,
            c => name.push(c),
        }
    }
    let mut value = String::new();
    while let Some(c) = chars.next() {
        value.push(if c == '\\' { unescape(chars.next()?) } else { c });
    }
    Some((name.trim().to_string(), value.trim().to_string()))
}

fn unescape(c: char) -> char {
    match c {
        'n' => '\n',
        't' => '\t',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_a_version_file_or_refused() {
        let read = |data: &[u8]| {
            if let Ok(file) = VersionFile::parse(&String::from_utf8_lossy(data)) {
                let _ = (file.layout_version(), VersionFile::parse(&file.text()));
            }
        };
        let seed =
            b"#Tue Nov 24\nlayoutVersion=9\nclusterID=CID-1\nnodeType=OM\na\\=b=c\n".to_vec();
        testkit::fuzz(vec![("version-file", read, vec![seed])]);
    }
}
