//! Public functions at the edge of a crate return boxed futures: the body of an `async fn` is
//! compiled by each crate that polls it, and again by each of that crate's tests.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::files::rust_files;
use super::findings::Findings;

/// Files that other crates call, and folders of which each file counts.
const EDGES: &[&str] = &[
    "crates/client/src",
    "crates/datanode/src/handle.rs",
    "crates/datanode/src/start.rs",
    "crates/freon/src",
    "crates/om/src/handle.rs",
    "crates/om/src/start.rs",
    "crates/s3gateway/src",
    "crates/scm/src/handle.rs",
    "crates/scm/src/start.rs",
    "crates/server/src",
    "crates/shell/src/lib.rs",
];

/// Functions that are as they are for a reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("crates/client/src/read/newest.rs", "newest", "is generic"),
    ("crates/client/src/write/key_writer.rs", "is_wanted", "is called for each piece of a chunk"),
    ("crates/client/src/write/key_writer.rs", "ready", "is called for each piece of a chunk"),
    ("crates/client/src/write/key_writer.rs", "write", "is called for each piece of a chunk"),
];

/// Checks the edges.
///
/// # Errors
/// When a file cannot be read.
pub fn check(root: &Path, findings: &mut Findings) -> Result<()> {
    let mut found = Vec::new();
    for edge in EDGES {
        let path = root.join(edge);
        let mut files: Vec<PathBuf> = Vec::new();
        if path.is_dir() {
            rust_files(&path, &mut files)?;
        } else {
            files.push(path);
        }
        for file in files {
            let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
            let shown = file.strip_prefix(root).unwrap_or(&file).display().to_string();
            for (line, name) in async_functions(&text) {
                found.push((shown.clone(), line, name.to_owned()));
            }
        }
    }
    for text in faults(&found, EXCEPTIONS) {
        findings.error(text);
    }
    Ok(())
}

/// Public async functions that are no exceptions, and exceptions that are no longer needed.
fn faults(found: &[(String, usize, String)], exceptions: &[(&str, &str, &str)]) -> Vec<String> {
    let is = |(file, _, name): &(String, usize, String), exception: &(&str, &str, &str)| {
        file == exception.0 && name == exception.1
    };
    let open = found.iter().filter(|one| !exceptions.iter().any(|exception| is(one, exception)));
    let open = open.map(|(file, line, name)| {
        format!("{file}:{line}: {name} is a public async fn, have it return a BoxFuture")
    });
    let stale = exceptions.iter().filter(|exception| !found.iter().any(|one| is(one, exception)));
    let stale = stale.map(|(file, name, _)| {
        format!("{file} has no public async fn {name} any more, remove the exception")
    });
    open.chain(stale).collect()
}

/// Public async functions, with their lines.
fn async_functions(text: &str) -> Vec<(usize, &str)> {
    let lines = text.lines().enumerate();
    let found = lines.filter_map(|(at, line)| {
        let name = line.trim_start().strip_prefix("pub async fn ")?;
        Some((at + 1, name.split(['(', '<']).next()?))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_async_functions_are_found() {
        let text = "pub async fn a() {}\nimpl B {\n    pub async fn b<T>(&self, t: T) {}\n}\n";
        assert_eq!(async_functions(text), [(1, "a"), (3, "b")]);
    }

    #[test]
    fn exceptions_pass_and_stale_ones_do_not() {
        let one = |name: &str| ("a.rs".to_owned(), 7, name.to_owned());
        let found = [one("kept"), one("open")];
        let exceptions = [("a.rs", "kept", "why"), ("a.rs", "gone", "why"), ("b.rs", "open", "")];
        let faults = faults(&found, &exceptions);
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert!(faults[0].starts_with("a.rs:7: open "));
        assert!(faults[1].starts_with("a.rs has no public async fn gone"));
        assert!(faults[2].starts_with("b.rs has no public async fn open"));
    }

    #[test]
    fn boxed_and_private_ones_pass() {
        let text = "pub fn a() -> BoxFuture<'static, ()> {\n    Box::pin(b())\n}\n\
                    async fn b() {}\npub(crate) async fn c() {}\n/// Not a pub async fn d().\n";
        assert_eq!(async_functions(text), []);
    }
}
