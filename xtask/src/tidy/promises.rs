//! The tests that docs/reliability.md and its list of found bugs name must be there: a promise
//! without its test is none.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::Findings;
use super::files::rust_files;

/// The documents that name tests.
const DOCUMENTS: &[&str] = &["docs/reliability.md", "docs/log/2026-11-bugs.md"];

/// Names of tests are sentences: shorter ones are something else.
const UNDERSCORES: usize = 3;

/// Checks the documents against all functions of the tree.
///
/// # Errors
/// When a file cannot be read.
pub fn check(root: &Path, findings: &mut Findings) -> Result<()> {
    let mut files = Vec::new();
    rust_files(&root.join("crates"), &mut files)?;
    rust_files(&root.join("xtask"), &mut files)?;
    let mut tests = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        tests.extend(tests_in(&text));
    }
    for document in DOCUMENTS {
        let path = root.join(document);
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        for (line, name) in named_in(&text) {
            if !tests.contains(name) {
                findings.error(format!("{document}:{line} names {name}, which is no test"));
            }
        }
    }
    Ok(())
}

/// The names of the functions that are marked as tests.
fn tests_in(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut marked = false;
    for line in text.lines().map(str::trim_start) {
        let name = line.strip_prefix("async fn ").or_else(|| line.strip_prefix("fn "));
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            marked = true;
        } else if let Some(name) = name {
            if marked {
                names.extend(name.split('(').next().map(str::to_owned));
            }
            marked = false;
        }
    }
    names
}

/// The words in code that look like names of tests, with their lines.
fn named_in(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let sentence = |word: &&str| {
        word.matches('_').count() >= UNDERSCORES
            && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    text.lines().enumerate().flat_map(move |(number, line)| {
        line.split('`').skip(1).step_by(2).filter(sentence).map(move |word| (number + 1, word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_marked_is_a_test() {
        let text = "#[test]\nfn one_that_is() {}\nfn one_that_is_not() {}\n    #[tokio::test(start_paused = true)]\n    \
                    async fn another_that_is() {}\n";
        assert_eq!(tests_in(text), ["one_that_is", "another_that_is"]);
    }

    #[test]
    fn sentences_in_code_are_names_of_tests() {
        let text = "om: `a_b_c_d`, `make faults`, `a.b_c_d_e`\nx a_b_c_d_e `too_short`, `b_c_d_e`";
        assert_eq!(named_in(text).collect::<Vec<_>>(), [(1, "a_b_c_d"), (2, "b_c_d_e")]);
    }
}
