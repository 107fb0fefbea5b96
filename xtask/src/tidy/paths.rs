//! Files and folders that documents name, by their path or the end of it, must exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::findings::Findings;

/// Documents at the root; those in `docs/` are added.
const DOCUMENTS: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
];

/// Folders at the root: a word that begins with one of them is a path, whatever its end.
const ROOTS: &[&str] = &["crates/", "clients/", "docs/", "xtask/", "scripts/", "benches/"];

/// Ends of words that are files of the tree wherever they stand.
const ENDS: &[&str] = &[".rs", ".md", ".proto"];

/// Tables of renamed files begin so; their first column names former files.
const RENAMED: &str = "| was | is |";

/// Output of mdBook.
const BOOK: &str = "docs/book";

/// Output of builds and runs.
const MADE: &[&str] = &["target", "data"];

/// The paths of a tree, each also as documents shorten it: `crates/om/src/start.rs` as
/// `om/start.rs`.
pub struct Tree(BTreeSet<String>);

impl Tree {
    fn read(root: &Path) -> Result<Self> {
        let mut tree = Self(BTreeSet::new());
        tree.add_folder(root, "")?;
        Ok(tree)
    }

    fn add_folder(&mut self, folder: &Path, name: &str) -> Result<()> {
        for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            let own = path.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_owned();
            if own.starts_with('.') || (name.is_empty() && MADE.contains(&own.as_str())) {
                continue;
            }
            let inner = if name.is_empty() { own } else { format!("{name}/{own}") };
            self.add(&inner);
            if path.is_dir() {
                self.add_folder(&path, &inner)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, path: &str) {
        self.0.insert(path.to_owned());
        if let Some((name, inner)) =
            path.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/"))
        {
            self.0.insert(format!("{name}/{inner}"));
        }
    }

    /// True if a path, or the end of one, exists.
    fn has(&self, named: &str) -> bool {
        let named = named.trim_end_matches('/');
        self.0.contains(named)
            || self
                .0
                .iter()
                .any(|path| path.strip_suffix(named).is_some_and(|before| before.ends_with('/')))
    }
}

/// Checks all documents.
///
/// # Errors
/// When the tree cannot be read.
pub fn check(root: &Path, findings: &mut Findings) -> Result<()> {
    let tree = Tree::read(root)?;
    for document in documents(root)? {
        let path = root.join(&document);
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (line, named) in missing(&text, folder, &tree) {
            findings.error(format!("{document}:{line} names {named}, which is not there"));
        }
    }
    Ok(())
}

/// All documents, by their paths from the root on.
///
/// # Errors
/// When a folder cannot be read.
pub fn documents(root: &Path) -> Result<Vec<String>> {
    let mut documents: Vec<String> = DOCUMENTS.iter().map(|d| (*d).to_owned()).collect();
    documents_below(root, "docs", &mut documents)?;
    documents.sort();
    Ok(documents)
}

/// The documents in a folder and in those below it.
fn documents_below(root: &Path, folder: &str, documents: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(root.join(folder)).with_context(|| folder.to_owned())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let path = format!("{folder}/{name}");
        if name.ends_with(".md") {
            documents.push(path);
        } else if root.join(&path).is_dir() && path != BOOK {
            documents_below(root, &path, documents)?;
        }
    }
    Ok(())
}

/// Paths that a document in `folder` names and `tree` does not have, with the lines.
fn missing(text: &str, folder: &str, tree: &Tree) -> Vec<(usize, String)> {
    let mut missing = Vec::new();
    let (mut block, mut renamed) = (false, false);
    for (number, line) in text.lines().enumerate() {
        renamed = line.starts_with(RENAMED) || (renamed && line.starts_with('|'));
        let line = match line.split_once(" | ") {
            Some((_, rest)) if renamed => rest,
            _ => line,
        };
        if line.trim_start().starts_with("```") {
            block = !block;
            continue;
        }
        let mut named: Vec<String> = Vec::new();
        if block {
            named.extend(paths_in(line));
        } else {
            named.extend(line.split('`').skip(1).step_by(2).flat_map(paths_in));
            named.extend(links_in(line, folder));
        }
        let absent = named.into_iter().filter(|path| !tree.has(path));
        missing.extend(absent.map(|path| (number + 1, path)));
    }
    missing
}

/// The words of code that are paths of the tree, `{a,b}` taken apart.
fn paths_in(code: &str) -> impl Iterator<Item = String> {
    code.split_whitespace().flat_map(alternatives).filter(|word| is_path(word))
}

/// True if a word is a path of the tree, and no pattern of one.
fn is_path(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let name = !word.starts_with(['/', '.', '~']) && word.chars().all(plain);
    name && (ROOTS.iter().any(|root| word.starts_with(root))
        || ENDS.iter().any(|end| word.len() > end.len() && word.ends_with(end)))
}

/// `a/{b,c}/d` as `a/b/d` and `a/c/d`.
fn alternatives(word: &str) -> Vec<String> {
    let parts = word.split_once('{').and_then(|(before, rest)| {
        rest.split_once('}').map(|(choices, after)| (before, choices, after))
    });
    match parts {
        Some((before, choices, after)) => choices
            .split(',')
            .flat_map(|choice| alternatives(&format!("{before}{choice}{after}")))
            .collect(),
        None => vec![word.to_owned()],
    }
}

/// Targets of links into the tree, from its root on.
fn links_in<'a>(line: &'a str, folder: &'a str) -> impl Iterator<Item = String> + 'a {
    links(line, folder).map(|(target, _)| target).filter(|target| !target.is_empty())
}

/// Links into the tree: the path from its root on, which is empty for the document itself, and the
/// heading.
pub fn links<'a>(
    line: &'a str,
    folder: &'a str,
) -> impl Iterator<Item = (String, Option<String>)> + 'a {
    line.split("](").skip(1).filter_map(move |rest| {
        let whole = rest.split(')').next()?;
        if whole.contains("://") || whole.starts_with("mailto:") {
            return None;
        }
        let (target, anchor) = match whole.split_once('#') {
            Some((target, anchor)) => (target, Some(anchor.to_owned())),
            None => (whole, None),
        };
        if target.is_empty() {
            return Some((String::new(), anchor));
        }
        let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
        for part in target.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        Some((parts.join("/"), anchor))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        let mut tree = Tree(BTreeSet::new());
        for path in [
            "README.md",
            "docs",
            "docs/ha.md",
            "crates/om/src/rpc",
            "crates/om/src/rpc/framed.rs",
            "crates/placement/tests",
            "crates/namespace/tests",
            "scripts/env.sh",
        ] {
            tree.add(path);
        }
        tree
    }

    fn found(text: &str, folder: &str) -> Vec<String> {
        missing(text, folder, &tree()).into_iter().map(|(_, path)| path).collect()
    }

    #[test]
    fn paths_are_found_whole_or_by_their_end() {
        let text = "see `crates/om/src/rpc/framed.rs`, `om/src/rpc/framed.rs`, \
                    `om/rpc/framed.rs`, `rpc/framed.rs` and `framed.rs` in `crates/om/src/rpc/`";
        assert!(found(text, "").is_empty(), "{:?}", found(text, ""));
    }

    #[test]
    fn what_is_not_there_is_told_with_its_line() {
        let text =
            "fine\n`rpc/raft.rs` and `pc/framed.rs`\n```\n. scripts/env.sh\nbenches/om/run\n```\n";
        let expected = [
            (2, "rpc/raft.rs".to_owned()),
            (2, "pc/framed.rs".to_owned()),
            (5, "benches/om/run".to_owned()),
        ];
        assert_eq!(missing(text, "", &tree()), expected);
    }

    #[test]
    fn old_names_of_renamed_files_are_left_alone() {
        let text = "| was | is |\n| --- | --- |\n| `om/old.rs` | `om/rpc/framed.rs` |\n\
                    | `om/old.rs` | `om/new.rs` |\n\n| `om/old.rs` | |\n";
        let expected = [(4, "om/new.rs".to_owned()), (6, "om/old.rs".to_owned())];
        assert_eq!(missing(text, "", &tree()), expected);
    }

    #[test]
    fn every_alternative_counts() {
        let text = "`crates/{namespace,placement,container}/tests`";
        assert_eq!(found(text, ""), ["crates/container/tests"]);
    }

    #[test]
    fn links_are_relative_to_their_document() {
        let text =
            "[a](ha.md#top) [b](../README.md) [c](ha.rs) [d](https://example.org/x.md) [e](#here)";
        assert_eq!(found(text, "docs"), ["docs/ha.rs"]);
    }

    #[test]
    fn what_is_no_path_of_the_tree_is_left_alone() {
        let text = "`/status.json`, `hdds/VERSION`, `current/<id>/a.rs`, `ozone-site.xml`, `.rs`, \
                    `crates/<name>/src`, rpc/raft.rs, `/etc/README.md`";
        assert!(found(text, "").is_empty(), "{:?}", found(text, ""));
    }
}
