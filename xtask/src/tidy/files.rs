//! Size and opening words of source files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::findings::Findings;
use super::manifest::Manifest;

/// Above it a file probably holds more than one idea.
const MANY_LINES: usize = 400;
/// Above it a file surely does.
const TOO_MANY_LINES: usize = 800;

/// Names under which everything ends up.
const DUMPING_GROUNDS: &[&str] = &["utils", "util", "common", "helpers", "misc"];

pub(super) fn rust_files(dir: &Path, into: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            rust_files(&path, into)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push(path);
        }
    }
    Ok(())
}

/// Checks every source file of every crate.
///
/// # Errors
/// When a file cannot be read.
pub fn check(root: &Path, manifests: &[Manifest], findings: &mut Findings) -> Result<()> {
    for manifest in manifests {
        let mut files = Vec::new();
        rust_files(&manifest.dir, &mut files)?;
        for file in files {
            let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
            let shown = file.strip_prefix(root).unwrap_or(&file).display().to_string();
            if !text.starts_with("//!") {
                findings.error(format!("{shown} does not begin with its purpose (//!)"));
            }
            let lines = text.lines().count();
            if lines > TOO_MANY_LINES {
                findings.error(format!("{shown} has {lines} lines: split it"));
            } else if lines > MANY_LINES {
                findings.warning(format!("{shown} has {lines} lines"));
            }
            let stem = file.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
            if DUMPING_GROUNDS.contains(&stem) {
                findings.error(format!("{shown}: name the idea, not the heap"));
            }
        }
    }
    Ok(())
}
