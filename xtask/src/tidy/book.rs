//! The documents as a book: links lead to headings that are there, and not out of the book; every
//! page of `docs/` is in its table of contents.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::findings::Findings;
use super::paths::{documents, links};

const CONTENTS: &str = "docs/SUMMARY.md";

/// Checks all documents.
///
/// # Errors
/// When one cannot be read.
pub fn check(root: &Path, findings: &mut Findings) -> Result<()> {
    let mut texts = BTreeMap::new();
    for document in documents(root)? {
        let path = root.join(&document);
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        texts.insert(document, text);
    }
    for problem in [dangling(&texts), leading_out(&texts), unlisted(&texts)].concat() {
        findings.error(problem);
    }
    Ok(())
}

/// Links to headings that are not there.
fn dangling(texts: &BTreeMap<String, String>) -> Vec<String> {
    let headings: BTreeMap<&str, BTreeSet<String>> =
        texts.iter().map(|(name, text)| (&**name, anchors(text))).collect();
    let mut found = Vec::new();
    for (document, text) in texts {
        let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (number, line) in prose(text) {
            for (target, anchor) in links(line, folder) {
                let Some(anchor) = anchor else { continue };
                let target = if target.is_empty() { document } else { &target };
                let there = headings.get(&**target).is_none_or(|known| known.contains(&anchor));
                if !there {
                    found.push(format!(
                        "{document}:{number} links to {target}#{anchor}, which is not there"
                    ));
                }
            }
        }
    }
    found
}

/// Links from pages of the book to files that mdBook does not take along.
fn leading_out(texts: &BTreeMap<String, String>) -> Vec<String> {
    let mut found = Vec::new();
    for (document, text) in texts.iter().filter(|(document, _)| document.starts_with("docs/")) {
        let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (number, line) in prose(text) {
            let targets = links(line, folder).map(|(target, _)| target);
            let out = targets.filter(|target| !target.is_empty() && !target.starts_with("docs/"));
            found.extend(out.map(|target| {
                format!("{document}:{number} links to {target}, which is not in the book: name it")
            }));
        }
    }
    found
}

/// Pages of `docs/` that the table of contents leaves out.
fn unlisted(texts: &BTreeMap<String, String>) -> Vec<String> {
    let contents = texts.get(CONTENTS).map_or("", String::as_str);
    let listed: BTreeSet<String> =
        contents.lines().flat_map(|line| links(line, "docs")).map(|(target, _)| target).collect();
    let pages = texts.keys().filter(|page| page.starts_with("docs/") && *page != CONTENTS);
    pages
        .filter(|page| !listed.contains(*page))
        .map(|page| format!("{page} is not in {CONTENTS}"))
        .collect()
}

/// The lines outside of blocks of code, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut block = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        if line.trim_start().starts_with("```") {
            block = !block;
            return None;
        }
        (!block).then_some((index + 1, line))
    })
}

/// The anchors of a document's headings, as mdBook and GitHub name them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    for (_, line) in prose(text) {
        let heading = line.trim_start_matches('#');
        if heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let plain = heading.trim().to_lowercase();
        let slug: String = plain
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        let times = seen.entry(slug.clone()).or_default();
        anchors.insert(if *times == 0 { slug } else { format!("{slug}-{times}") });
        *times += 1;
    }
    anchors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(documents: &[(&str, &str)]) -> BTreeMap<String, String> {
        documents.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn a_link_to_a_heading_that_is_not_there_is_found_with_its_line() {
        let texts = tree(&[
            (
                "README.md",
                "# Top\n[a](docs/ha.md#what-happens-when) [b](docs/ha.md#gone) [c](#top)",
            ),
            ("docs/ha.md", "## What happens, when?\n```\n# no heading\n```\n[d](#no-heading)"),
        ]);
        assert_eq!(
            dangling(&texts),
            [
                "README.md:2 links to docs/ha.md#gone, which is not there",
                "docs/ha.md:5 links to docs/ha.md#no-heading, which is not there",
            ]
        );
    }

    #[test]
    fn a_link_out_of_the_book_is_found() {
        let texts = tree(&[
            ("README.md", "[one](docs/one.md) [code](crates/om)"),
            ("docs/one.md", "[two](two.md)\n[top](../README.md) [site](https://example.org)"),
        ]);
        assert_eq!(
            leading_out(&texts),
            ["docs/one.md:2 links to README.md, which is not in the book: name it"]
        );
    }

    #[test]
    fn headings_of_the_same_words_are_numbered() {
        let found = anchors("# `a.b_c`: it's\n## Twice\n## Twice\n");
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["ab_c-its", "twice", "twice-1"]);
    }

    #[test]
    fn a_page_that_the_contents_leave_out_is_found() {
        let texts = tree(&[
            ("docs/SUMMARY.md", "- [One](one.md)\n"),
            ("docs/one.md", ""),
            ("docs/internals/two.md", ""),
            ("README.md", ""),
        ]);
        assert_eq!(unlisted(&texts), ["docs/internals/two.md is not in docs/SUMMARY.md"]);
    }
}
