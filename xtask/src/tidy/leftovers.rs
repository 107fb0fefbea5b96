//! Left-overs in the source.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::files::rust_files;
use super::findings::Findings;

/// Left-overs, spelled apart so that this file passes.
const LEFT_OVERS: &[&str] = &[
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
    concat!("FIX", "ME"),
    concat!("TO", "DO"),
];

/// A path that a compiler writes into a program is that of another clone when the program is kept
/// in a target directory that clones share: cargo sets it for processes it runs, too.
const COMPILED_PATH: &str = concat!("env!(\"CARGO_MANIFEST", "_DIR\")");

/// Mark of the second process of a test: the test itself runs it with `--ignored`.
const CHILD_PROCESS: &str = "#[ignore = \"the second process of a test\"]";

/// Checks every source file below `crates/` for left-overs and ignored tests.
///
/// # Errors
/// When a file cannot be read.
pub fn check(root: &Path, findings: &mut Findings) -> Result<()> {
    let mut files = Vec::new();
    rust_files(&root.join("crates"), &mut files)?;
    for file in files {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let shown = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        for (number, line) in text.lines().enumerate() {
            if let Some(word) = LEFT_OVERS.iter().find(|w| line.contains(**w)) {
                findings.error(format!("{shown}:{} says {word}", number + 1));
            }
            if line.contains(COMPILED_PATH) {
                findings.error(format!("{shown}:{}: ask std::env for this path", number + 1));
            }
            let line = line.trim_start();
            if line.starts_with("#[ignore") && line != CHILD_PROCESS {
                findings.error(format!("{shown}:{} skips a test", number + 1));
            }
        }
    }
    Ok(())
}
