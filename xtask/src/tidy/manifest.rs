//! Reading the manifests of the workspace.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use toml::Table;

/// A crate of the workspace and what it names as dependencies.
pub struct Manifest {
    /// Package name.
    pub name: String,
    /// Its folder.
    pub dir: PathBuf,
    /// Dependencies of the library or binary.
    pub uses: BTreeSet<String>,
    /// Dependencies of its tests.
    pub tests_use: BTreeSet<String>,
    /// Dependencies that are not taken from the workspace's list.
    pub unpinned: Vec<String>,
}

/// Every manifest below `crates/`.
///
/// # Errors
/// When one cannot be read.
pub fn read_all(root: &Path) -> Result<Vec<Manifest>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(root.join("crates")).context("crates/")? {
        let dir = entry?.path();
        if dir.join("Cargo.toml").exists() {
            all.push(read(dir)?);
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

fn read(dir: PathBuf) -> Result<Manifest> {
    let path = dir.join("Cargo.toml");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let table: Table = text.parse().with_context(|| path.display().to_string())?;
    let name = table
        .get("package")
        .and_then(|p| p.get("name"))
        .and_then(|n| n.as_str())
        .with_context(|| format!("{} has no package name", path.display()))?
        .to_owned();
    let mut unpinned = Vec::new();
    let mut names = |section: &str| -> BTreeSet<String> {
        let Some(section) = table.get(section).and_then(|s| s.as_table()) else {
            return BTreeSet::new();
        };
        for (name, spec) in section {
            let pinned = spec.get("workspace").and_then(|w| w.as_bool()) == Some(true);
            if !pinned {
                unpinned.push(name.clone());
            }
        }
        section.keys().cloned().collect()
    };
    let mut uses = names("dependencies");
    uses.extend(names("build-dependencies"));
    let tests_use = names("dev-dependencies");
    Ok(Manifest { name, dir, uses, tests_use, unpinned })
}
