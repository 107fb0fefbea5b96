//! Refused words in comments, texts and documents: docs/dev/words.md says which, and what to write
//! instead. Their number may only fall, for each crate and document; `xtask/words.txt` has it.
//!
//! Histories in docs/log stay as they were written; docs/reference is generated from sources, which
//! count.

mod patterns;
mod texts;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use self::patterns::{DOCUMENT, Patterns, Place};
use super::files::rust_files;
use super::findings::Findings;
use super::paths::documents;

/// The highest counts, from the root of the tree on.
const COUNTS: &str = "xtask/words.txt";

/// Documents that do not count, by the beginning of their paths.
const SKIPPED: &[&str] = &["docs/log/", "docs/reference/", DOCUMENT];

/// Folders of a crate whose texts are those of tests.
const TESTS: &[&str] = &["tests", "benches", "examples"];

/// Refused places of a file.
struct File {
    /// A crate, or a document.
    area: String,
    path: String,
    places: Vec<Place>,
}

/// Counts of areas.
type Counts = BTreeMap<String, usize>;

/// Checks that no count has risen.
///
/// # Errors
/// When a file cannot be read.
pub fn check(root: &Path, findings: &mut Findings) -> Result<()> {
    let patterns = Patterns::read(root)?;
    let files = read(root, &patterns)?;
    let (errors, warnings) = compare(&counts(&files), &read_counts(root)?);
    errors.into_iter().for_each(|error| findings.error(error));
    warnings.into_iter().for_each(|warning| findings.warning(warning));
    Ok(())
}

/// `cargo xtask words`: counts by area and pattern; `--list [PATH]`: each place, with what to write
/// instead; `--counts`: the counts as the file has them; `--lower`: lowers those in the file.
///
/// # Errors
/// When a file cannot be read or written.
pub fn run(root: &Path, arguments: &[String]) -> Result<bool> {
    let patterns = Patterns::read(root)?;
    let files = read(root, &patterns)?;
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        [] => print!("{}", table(&files, &patterns)),
        ["--list"] => print!("{}", list(&files, &patterns, "")),
        ["--list", path] => print!("{}", list(&files, &patterns, path.trim_start_matches("./"))),
        ["--counts"] => print!("{}", write_counts(&counts(&files))),
        ["--lower"] => {
            let lowered = lower(&counts(&files), &read_counts(root)?);
            fs::write(root.join(COUNTS), write_counts(&lowered)).context(COUNTS)?;
        }
        _ => {
            eprintln!("usage: cargo xtask words                  counts by area and pattern");
            eprintln!(
                "       cargo xtask words --list [PATH]    places, with what to write instead"
            );
            eprintln!(
                "       cargo xtask words --counts         counts, as xtask/words.txt has them"
            );
            eprintln!("       cargo xtask words --lower          write counts that have fallen");
            return Ok(false);
        }
    }
    Ok(true)
}

/// The refused places of all files that have one.
fn read(root: &Path, patterns: &Patterns) -> Result<Vec<File>> {
    let mut paths: Vec<(String, PathBuf)> = Vec::new();
    let mut sources = Vec::new();
    rust_files(&root.join("crates"), &mut sources)?;
    rust_files(&root.join("xtask"), &mut sources)?;
    paths.extend(sources.into_iter().map(|file| {
        let shown = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        let parts: Vec<&str> = shown.split('/').collect();
        let depth = if parts.first() == Some(&"crates") { 2 } else { 1 };
        (parts.iter().take(depth).copied().collect::<Vec<_>>().join("/"), file)
    }));
    let documents = documents(root)?.into_iter();
    let documents =
        documents.filter(|path| !SKIPPED.iter().any(|skipped| path.starts_with(skipped)));
    paths.extend(documents.map(|path| (path.clone(), root.join(path))));
    paths.sort();
    let mut files = Vec::new();
    for (area, path) in paths {
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let texts = if shown.ends_with(".md") {
            texts::of_document(&text)
        } else {
            texts::of_source(&text, is_test(&shown))
        };
        let places = texts.iter().flat_map(|text| patterns.places(text)).collect();
        files.push(File { area, path: shown, places });
    }
    Ok(files)
}

fn is_test(path: &str) -> bool {
    path.split('/').any(|part| TESTS.contains(&part)) || path.ends_with("tests.rs")
}

fn counts(files: &[File]) -> Counts {
    let mut counts = Counts::new();
    for file in files {
        *counts.entry(file.area.clone()).or_default() += file.places.len();
    }
    counts
}

/// Errors of counts that have risen, warnings of those that have fallen.
fn compare(counts: &Counts, highest: &Counts) -> (Vec<String>, Vec<String>) {
    let allowed = |area: &String| highest.get(area).copied().unwrap_or(0);
    let risen = counts.iter().filter(|(area, count)| **count > allowed(area));
    let errors = risen.map(|(area, count)| {
        format!(
            "{area} has {count} refused words, {} before: `cargo xtask words --list {area}` lists \
             them, docs/dev/words.md has the words to write",
            allowed(area)
        )
    });
    let fallen: Vec<&str> = highest
        .iter()
        .filter(|(area, highest)| counts.get(*area).copied().unwrap_or(0) < **highest)
        .map(|(area, _)| area.as_str())
        .collect();
    let warning =
        format!("fewer refused words, run `cargo xtask words --lower`: {}", fallen.join(", "));
    (errors.collect(), if fallen.is_empty() { Vec::new() } else { vec![warning] })
}

/// The lower one of each two counts. A new area has none; one that was removed is left out.
fn lower(counts: &Counts, highest: &Counts) -> Counts {
    let lowered = counts.iter().map(|(area, count)| {
        let highest = highest.get(area).copied().unwrap_or(0);
        (area.clone(), highest.min(*count))
    });
    lowered.filter(|(_, count)| *count > 0).collect()
}

fn read_counts(root: &Path) -> Result<Counts> {
    let text = fs::read_to_string(root.join(COUNTS)).context(COUNTS)?;
    parse_counts(&text)
}

fn parse_counts(text: &str) -> Result<Counts> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let counts = lines.map(|line| {
        let (area, count) = line.split_once(' ').with_context(|| format!("{COUNTS}: {line}"))?;
        Ok((area.to_owned(), count.parse().with_context(|| format!("{COUNTS}: {line}"))?))
    });
    counts.collect()
}

fn write_counts(counts: &Counts) -> String {
    let mut text =
        "# Highest counts of refused words, written by `cargo xtask words --lower`.\n".to_owned();
    for (area, count) in counts.iter().filter(|(_, count)| **count > 0) {
        _ = writeln!(text, "{area} {count}");
    }
    text
}

/// Places below a path, with what to write instead.
fn list(files: &[File], patterns: &Patterns, below: &str) -> String {
    let mut text = String::new();
    for file in files.iter().filter(|file| file.path.starts_with(below)) {
        let mut places: Vec<&Place> = file.places.iter().collect();
        places.sort_by_key(|place| place.line);
        for place in places {
            let write = &patterns.all[place.pattern].write;
            _ = writeln!(text, "{}:{}: {} -> {write}", file.path, place.line, place.words);
        }
    }
    text
}

/// Counts by pattern, then by area with its most frequent patterns.
fn table(files: &[File], patterns: &Patterns) -> String {
    let mut areas: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for file in files {
        let counts = areas.entry(&file.area).or_insert_with(|| vec![0; patterns.all.len()]);
        file.places.iter().for_each(|place| counts[place.pattern] += 1);
    }
    let all = (0..patterns.all.len()).map(|index| areas.values().map(|of| of[index]).sum());
    let all: Vec<usize> = all.collect();
    let mut text = String::new();
    for (name, count) in ranked(&all, patterns) {
        _ = writeln!(text, "{count:>6}  {name}");
    }
    text.push('\n');
    let sum = |counts: &Vec<usize>| counts.iter().sum::<usize>();
    for (area, counts) in areas.iter().filter(|(_, counts)| sum(counts) > 0) {
        let most: Vec<String> =
            ranked(counts, patterns).into_iter().take(5).map(|(n, c)| format!("{n} {c}")).collect();
        _ = writeln!(text, "{:>6}  {area:<32} {}", sum(counts), most.join(", "));
    }
    _ = writeln!(text, "{:>6}  in all", sum(&all));
    text
}

/// Names of patterns that were found, the most frequent first.
fn ranked<'a>(counts: &[usize], patterns: &'a Patterns) -> Vec<(&'a str, usize)> {
    let names = patterns.all.iter().map(|pattern| pattern.name.as_str());
    let mut ranked: Vec<_> = names.zip(counts.iter().copied()).filter(|(_, c)| *c > 0).collect();
    ranked.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts_of(all: &[(&str, usize)]) -> Counts {
        all.iter().map(|(area, count)| ((*area).to_owned(), *count)).collect()
    }

    #[test]
    fn counts_may_only_fall() {
        let highest = counts_of(&[("a", 2), ("b", 2), ("c", 2)]);
        let now = counts_of(&[("a", 2), ("b", 1), ("c", 3), ("d", 1), ("e", 0)]);
        let (errors, warnings) = compare(&now, &highest);
        assert_eq!(errors.len(), 2, "{errors:?}");
        assert!(errors[0].starts_with("c has 3 refused words, 2 before"));
        assert!(errors[1].starts_with("d has 1 refused words, 0 before"));
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].ends_with(": b"), "{warnings:?}");
        assert_eq!(lower(&now, &highest), counts_of(&[("a", 2), ("b", 1), ("c", 2)]));
    }

    #[test]
    fn counts_are_read_as_they_are_written() {
        let counts = counts_of(&[("crates/om", 7), ("docs/ha.md", 12)]);
        assert_eq!(parse_counts(&write_counts(&counts)).expect("counts"), counts);
        assert!(parse_counts("crates/om many\n").is_err());
    }

    /// A tree with one source and one document.
    #[test]
    fn a_tree_is_counted_without_histories_and_tests_texts() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        for document in ["ARCHITECTURE", "CHANGELOG", "CODE_OF_CONDUCT", "CONTRIBUTING", "README"] {
            write(&format!("{document}.md"), "");
        }
        write("SECURITY.md", "");
        write("xtask/src/main.rs", "");
        write("crates/om/src/lib.rs", "//! Made anew.\nfn f() { error!(\"made anew\") }\n");
        write("crates/om/tests/main.rs", "//! Made anew.\nfn f() { error!(\"made anew\") }\n");
        write("docs/ha.md", "Made anew, and anew.\n");
        write("docs/log/2026.md", "Made anew.\n");
        write("docs/reference/cli.md", "Made anew.\n");
        let patterns =
            Patterns::parse("[anew]\nfind = 'anew'\nwrite = 'again'\n").expect("patterns");
        let files = read(folder.path(), &patterns).expect("a tree");
        let mut found = counts(&files);
        found.retain(|_, count| *count > 0);
        assert_eq!(found, counts_of(&[("crates/om", 3), ("docs/ha.md", 2)]));
        assert_eq!(
            list(&files, &patterns, "crates/om/src"),
            "crates/om/src/lib.rs:1: anew -> again\ncrates/om/src/lib.rs:2: anew -> again\n"
        );
    }
}
