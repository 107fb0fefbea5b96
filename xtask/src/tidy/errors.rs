//! Errors of the library code are types: a `String` says nothing that a caller can decide by.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::files::rust_files;
use super::findings::Findings;
use super::manifest::Manifest;

/// Errors of implementations of traits, spelled apart so that this file passes.
const ASSOCIATED: &[&str] =
    &[concat!("type Err =", " String;"), concat!("type Error =", " String;")];

/// Checks the sources of every crate.
///
/// # Errors
/// When a file cannot be read.
pub fn check(root: &Path, manifests: &[Manifest], findings: &mut Findings) -> Result<()> {
    for manifest in manifests {
        let src = manifest.dir.join("src");
        if !src.is_dir() {
            continue;
        }
        let mut files: Vec<PathBuf> = Vec::new();
        rust_files(&src, &mut files)?;
        for file in files {
            let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
            let shown = file.strip_prefix(root).unwrap_or(&file).display().to_string();
            for line in text_errors(&text) {
                findings.error(format!("{shown}:{line}: an error is a String, make it a type"));
            }
        }
    }
    Ok(())
}

/// Lines with a result, or the error of a trait's implementation, that is a `String`; tests at the
/// end of a file may have one.
fn text_errors(text: &str) -> Vec<usize> {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let results = code.match_indices("Result<").filter(|(at, opening)| {
        let arguments = code.get(at + opening.len()..).unwrap_or_default();
        arguments_of(arguments).get(1).is_some_and(|error| *error == "String")
    });
    let associated = ASSOCIATED.iter().flat_map(|text| code.match_indices(text));
    let line = |at: usize| code.get(..at).unwrap_or_default().matches('\n').count() + 1;
    let mut lines: Vec<usize> = results.chain(associated).map(|(at, _)| line(at)).collect();
    lines.sort_unstable();
    lines
}

/// The arguments of a generic type whose `<` has just been read.
fn arguments_of(text: &str) -> Vec<&str> {
    let (mut depth, mut begin, mut arguments) = (0_usize, 0, Vec::new());
    let mut last = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' if last == '-' => {}
            '>' if depth == 0 => {
                arguments.push(text[begin..at].trim().trim_end_matches(',').trim());
                break;
            }
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                arguments.push(text[begin..at].trim());
                begin = at + 1;
            }
            ';' | '{' => break,
            _ => {}
        }
        last = c;
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_as_an_error_is_found_wherever_it_stands() {
        let text = "fn a() -> Result<u8, String> {}\nfn b() -> Result<String, Error> {}\n\
                    type C = Vec<Result<Vec<(u8, String)>,\n    String>>;\n\
                    fn d(f: fn() -> u8) -> io::Result<Result<(), String>> {}\n\
                    impl FromStr for E { type Err = String; }\n\
                    #[cfg(test)]\nmod tests { fn f() -> Result<(), String> {} }\n";
        assert_eq!(text_errors(text), [1, 3, 5, 6]);
    }

    #[test]
    fn typed_errors_pass() {
        let text =
            "fn a() -> Result<HashMap<u8, String>, Error> {}\nfn b() -> io::Result<String> {}\n";
        assert_eq!(text_errors(text), [0_usize; 0]);
    }
}
