//! The tests and scripts that documents name must be there: a promise without its test is none.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::files::rust_files;
use super::findings::Findings;

/// The documents that name tests.
const DOCUMENTS: &[&str] = &["docs/reliability.md", "docs/log/2026-11-bugs.md"];
/// The documents that name scripts of the simulation.
const NAME_SCRIPTS: &[&str] = &[
    "docs/reliability.md",
    "docs/log/2026-11-bugs.md",
    "docs/simulation.md",
    "docs/log/2026-11-simulation.md",
    "docs/dev/testing.md",
    "docs/internals/leases.md",
];
/// Folder of scripts, with a folder for each subject.
const SCRIPTS: &str = "crates/simulation/src/script";

/// Names of tests are sentences: shorter ones are something else.
const UNDERSCORES: usize = 3;

/// Checks the documents against all functions and scripts of the tree.
///
/// # Errors
/// When a file cannot be read.
pub fn check(root: &Path, findings: &mut Findings) -> Result<()> {
    let mut files = Vec::new();
    rust_files(&root.join("crates"), &mut files)?;
    rust_files(&root.join("xtask"), &mut files)?;
    let (mut tests, mut scripts) = (BTreeSet::new(), BTreeSet::new());
    let home = root.join(SCRIPTS);
    for file in files {
        let text = read(&file)?;
        tests.extend(tests_in(&text));
        if file.starts_with(&home) {
            scripts.extend(scripts_in(&text));
        }
    }
    for document in DOCUMENTS {
        let text = read(&root.join(document))?;
        for (line, name) in named_in(&text) {
            if !tests.contains(name) {
                findings.error(format!("{document}:{line} names {name}, which is no test"));
            }
        }
    }
    let subjects: BTreeSet<&str> =
        scripts.iter().filter_map(|name| Some(name.split_once('/')?.0)).collect();
    for document in NAME_SCRIPTS {
        let text = read(&root.join(document))?;
        for (line, name) in scripts_named_in(&text, &subjects) {
            if !scripts.contains(name) {
                findings.error(format!("{document}:{line} names {name}, which is no script"));
            }
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| path.display().to_string())
}

/// The names of the scripts that a file declares.
fn scripts_in(text: &str) -> impl Iterator<Item = String> {
    let name =
        |line: &str| line.trim().strip_prefix("name: \"")?.split('"').next().map(str::to_owned);
    text.lines().filter_map(name).filter(|name| name.contains('/'))
}

/// The words of a document that look like a name of a script, of one of the subjects that there
/// are, with their lines. Paths of files are longer, or end in `.rs`.
fn scripts_named_in<'a>(
    text: &'a str,
    subjects: &BTreeSet<&str>,
) -> impl Iterator<Item = (usize, &'a str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_' | '.');
    let is_name = |word: &&str| {
        let parts = word.split_once('/');
        parts.is_some_and(|(subject, name)| {
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            subjects.contains(subject) && !name.is_empty() && name.chars().all(is_plain)
        })
    };
    text.lines().enumerate().flat_map(move |(number, line)| {
        let words = line.split(move |c| !is_part(c)).map(|word| word.trim_end_matches('.'));
        words.filter(is_name).map(move |word| (number + 1, word))
    })
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
    fn scripts_are_named_by_subject_and_file() {
        let text = "pub const SCRIPT: Script = Script {\n    name: \"raft/lost-log\",\n    about: \"a/b\",\n";
        assert_eq!(scripts_in(text).collect::<Vec<_>>(), ["raft/lost-log"]);
        let text = "scripts `raft/lost-log`, `raft/gone`; src/raft/x and raft/x.rs, log/raft\n\
                    make script NAME=raft/wiped SEED=7. See repair/none, raft/, raft/end.";
        let named: Vec<_> = scripts_named_in(text, &BTreeSet::from(["raft"])).collect();
        let expected = [(1, "raft/lost-log"), (1, "raft/gone"), (2, "raft/wiped"), (2, "raft/end")];
        assert_eq!(named, expected);
    }

    #[test]
    fn sentences_in_code_are_names_of_tests() {
        let text = "om: `a_b_c_d`, `make faults`, `a.b_c_d_e`\nx a_b_c_d_e `too_short`, `b_c_d_e`";
        assert_eq!(named_in(text).collect::<Vec<_>>(), [(1, "a_b_c_d"), (2, "b_c_d_e")]);
    }
}
