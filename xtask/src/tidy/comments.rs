//! Comments of source files: how wide they are, and that they say something.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::files::rust_files;
use super::findings::Findings;

/// The widest line of a comment, in characters. Lines of code are `rustfmt`'s.
const WIDTH: usize = 100;

/// A reference instead of an item's documentation, spelled apart so that this file passes.
const EMPTY: &str = concat!("/// See the", " module");

/// Checks the comments of every source file below `crates/` and `xtask/`. Tables and code within
/// comments may be wider.
///
/// # Errors
/// When a file cannot be read.
pub fn check(root: &Path, findings: &mut Findings) -> Result<()> {
    let mut files = Vec::new();
    rust_files(&root.join("crates"), &mut files)?;
    rust_files(&root.join("xtask"), &mut files)?;
    for file in files {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let shown = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        check_text(&shown, &text, findings);
    }
    Ok(())
}

fn check_text(shown: &str, text: &str, findings: &mut Findings) {
    let mut in_code = false;
    for (number, line) in text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            in_code = false;
            continue;
        };
        let comment = comment.trim_start_matches(['/', '!']).trim_start();
        if comment.starts_with("```") {
            in_code = !in_code;
        }
        let may_be_wide = in_code || comment.starts_with('|') || !comment.contains(' ');
        let width = line.chars().count();
        if width > WIDTH && !may_be_wide {
            let number = number + 1;
            findings.error(format!("{shown}:{number} is a comment of {width} columns"));
        }
        if line.trim_start().starts_with(EMPTY) {
            findings.error(format!("{shown}:{} says nothing of the item", number + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_comments_and_empty_ones_are_found_and_tables_and_code_are_not() {
        let mut findings = Findings::default();
        let wide = "word ".repeat(30);
        let text = format!(
            "//! {wide}\n//! | {wide}|\n//! ```text\n//! {wide}\n//! ```\n{EMPTY}.\nlet a = 1; // {wide}\n"
        );
        check_text("a.rs", &text, &mut findings);
        assert_eq!(findings.errors().len(), 2, "{:?}", findings.errors());
    }
}
