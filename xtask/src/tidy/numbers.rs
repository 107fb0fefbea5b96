//! Numbers in the crates that entries of the log go through. clippy finds `+` and `as` there, once
//! the crate says so; that the crate says so, and the sums that clippy does not see, are checked
//! here.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::files::rust_files;
use super::findings::Findings;
use super::manifest::Manifest;

const CRATES: &[&str] = &["container", "erasure", "namespace", "placement", "types"];
const LINTS: &[&str] = &[
    "clippy::arithmetic_side_effects",
    "clippy::cast_possible_truncation",
    "clippy::cast_possible_wrap",
    "clippy::cast_sign_loss",
];
/// Adapters that panic when the sum does not fit.
const SUMS: &[&str] = &[".sum()", ".sum::<", ".product()", ".product::<"];

/// Checks the sources of those crates.
///
/// # Errors
/// When a file cannot be read.
pub fn check(root: &Path, manifests: &[Manifest], findings: &mut Findings) -> Result<()> {
    for manifest in manifests.iter().filter(|m| CRATES.contains(&m.name.as_str())) {
        let mut files: Vec<PathBuf> = Vec::new();
        rust_files(&manifest.dir.join("src"), &mut files)?;
        for file in files {
            let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
            let shown = file.strip_prefix(root).unwrap_or(&file).display().to_string();
            for line in unchecked(&text) {
                findings.error(format!(
                    "{shown}:{line}: a sum that may panic, fold with saturating_add"
                ));
            }
            if shown.ends_with("src/lib.rs") {
                for lint in LINTS.iter().filter(|lint| !text.contains(**lint)) {
                    findings.error(format!("{shown} does not deny {lint}"));
                }
            }
        }
    }
    Ok(())
}

/// Lines with a sum that may panic; tests at the end of a file may.
fn unchecked(text: &str) -> Vec<usize> {
    let code = text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
    let numbered = code.zip(1..).filter(|(line, _)| !line.trim_start().starts_with("//"));
    let sums = numbered.filter(|(line, _)| SUMS.iter().any(|sum| line.contains(sum)));
    sums.map(|(_, number)| number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_found_and_a_fold_is_not() {
        let text = "let a = b.iter().sum();\nlet c = d.fold(0, u64::saturating_add);\n\
                    // .sum() of words\n#[cfg(test)]\nlet e = f.sum::<u64>();\n";
        assert_eq!(unchecked(text), [1]);
    }
}
