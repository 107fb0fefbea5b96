//! Dependencies that no source names: of a crate, and of the workspace's list.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use toml::Table;

use super::files::rust_files;
use super::findings::Findings;
use super::manifest::Manifest;

/// Crates whose library has another name than the package.
const LIBRARIES: &[(&str, &str)] = &[("md-5", "md5")];

/// Crates that only generated code names, with what generates it.
const GENERATED: &[(&str, &str)] = &[("tonic-prost", "tonic-prost-build")];

/// Checks what the manifests name against the sources.
///
/// # Errors
/// When a file cannot be read.
pub fn check(root: &Path, manifests: &[Manifest], findings: &mut Findings) -> Result<()> {
    let mut used: BTreeSet<String> = BTreeSet::new();
    for manifest in manifests {
        let named = manifest.uses.union(&manifest.tests_use);
        let mut sources = sources(&manifest.dir)?;
        sources.push(manifest.features.join("\n"));
        for name in named {
            used.insert(name.clone());
            let generator = GENERATED.iter().find(|(of, _)| of == name).map(|(_, by)| *by);
            if generator.is_some_and(|by| manifest.uses.contains(by)) {
                continue;
            }
            if !sources.iter().any(|text| names(text, &library(name))) {
                findings.error(format!("crate {} does not use {name}", manifest.name));
            }
        }
    }
    let list = fs::read_to_string(root.join("Cargo.toml")).context("Cargo.toml")?;
    for name in listed(&list)? {
        let is_crate = manifests.iter().any(|manifest| manifest.name == name);
        if !is_crate && !used.contains(&name) {
            findings.error(format!("Cargo.toml lists {name}, which no crate uses"));
        }
    }
    Ok(())
}

fn sources(dir: &Path) -> Result<Vec<String>> {
    let mut files: Vec<PathBuf> = Vec::new();
    for part in ["src", "tests", "benches", "examples"] {
        if dir.join(part).is_dir() {
            rust_files(&dir.join(part), &mut files)?;
        }
    }
    files.extend([dir.join("build.rs")].into_iter().filter(|file| file.exists()));
    let mut sources = Vec::new();
    while let Some(file) = files.pop() {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        // A test may share a file with another crate's tests.
        let folder = file.parent().unwrap_or(dir);
        for path in elsewhere(&text).map(|path| folder.join(path)) {
            match path.parent() {
                Some(all) if path.ends_with("mod.rs") => rust_files(all, &mut files)?,
                _ => files.push(path),
            }
        }
        sources.push(text);
    }
    Ok(sources)
}

/// The files that a source takes modules from by their paths.
fn elsewhere(text: &str) -> impl Iterator<Item = &str> {
    let named = text.split("#[path = \"").skip(1);
    named.filter_map(|rest| rest.split('"').next())
}

fn library(package: &str) -> String {
    let other = LIBRARIES.iter().find(|(name, _)| *name == package).map(|(_, library)| *library);
    other.map_or_else(|| package.replace('-', "_"), str::to_owned)
}

/// True if a text has a name as a whole word.
fn names(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

fn listed(manifest: &str) -> Result<Vec<String>> {
    let table: Table = manifest.parse().context("Cargo.toml")?;
    let list = table.get("workspace").and_then(|w| w.get("dependencies"));
    let list = list.and_then(|list| list.as_table()).context("Cargo.toml has no list")?;
    Ok(list.keys().cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_counts_as_a_whole_word() {
        assert!(names("use tokio_stream::wrappers;", "tokio_stream"));
        assert!(!names("use tokio_stream::wrappers;", "tokio"));
        assert_eq!(library("md-5"), "md5");
        assert_eq!(library("tokio-stream"), "tokio_stream");
    }

    #[test]
    fn files_of_other_crates_count() {
        let text = "#[path = \"../../client/tests/om.rs\"]\nmod om;\n";
        assert_eq!(elsewhere(text).collect::<Vec<_>>(), ["../../client/tests/om.rs"]);
    }

    #[test]
    fn the_list_is_read() {
        let text = "[workspace.dependencies]\na = \"1\"\nb = { version = \"2\" }\n";
        assert_eq!(listed(text).unwrap(), ["a", "b"]);
    }
}
