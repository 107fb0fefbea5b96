//! The crates of the workspace, as `cargo metadata` describes them.
//!
//! The output is read here rather than by the crate `cargo_metadata`, which adds a feature to
//! serde_json, and so to the one that is shipped.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use toml::Table;

/// A crate of the workspace, with its dependencies.
#[derive(Default)]
pub struct Manifest {
    /// Package name.
    pub name: String,
    /// Its folder.
    pub dir: PathBuf,
    /// The root files of its library and its binaries.
    pub roots: Vec<PathBuf>,
    /// Dependencies of the library or binary, on any platform.
    pub uses: BTreeSet<String>,
    /// Dependencies of its tests.
    pub tests_use: BTreeSet<String>,
    /// Features and dependencies that its features turn on.
    pub features: Vec<String>,
    /// Dependencies that are not taken from the workspace's list.
    pub unpinned: Vec<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
    targets: Vec<Target>,
    features: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    src_path: PathBuf,
}

/// Every crate below `crates/`, and `xtask`.
///
/// # Errors
/// When cargo fails, or a manifest cannot be read.
pub fn read_all(root: &Path) -> Result<Vec<Manifest>> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(root)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .output()
        .context("cannot run cargo")?;
    let message = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo metadata: {message}");
    let metadata: Metadata =
        serde_json::from_slice(&output.stdout).context("output of cargo metadata")?;
    let mut all: Vec<Manifest> = metadata.packages.into_iter().map(read).collect::<Result<_>>()?;
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

fn read(package: Package) -> Result<Manifest> {
    let path = &package.manifest_path;
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let table: Table = text.parse().with_context(|| path.display().to_string())?;
    let is_for_tests = |dependency: &&Dependency| dependency.kind.as_deref() == Some("dev");
    let names = |dependencies: Vec<&Dependency>| -> BTreeSet<String> {
        dependencies.into_iter().map(|dependency| dependency.name.clone()).collect()
    };
    let (tests_use, uses) = package.dependencies.iter().partition(is_for_tests);
    let shipped = ["lib", "bin"];
    let targets = package.targets.iter();
    let targets = targets.filter(|t| t.kind.iter().any(|kind| shipped.contains(&kind.as_str())));
    Ok(Manifest {
        dir: path.parent().context("a manifest without a folder")?.to_owned(),
        roots: targets.map(|target| target.src_path.clone()).collect(),
        uses: names(uses),
        tests_use: names(tests_use),
        features: package.features.into_values().flatten().collect(),
        unpinned: unpinned(&table),
        name: package.name,
    })
}

/// Dependencies of a manifest that have a version or path of their own. Cargo's description has no
/// trace of where a version comes from.
fn unpinned(manifest: &Table) -> Vec<String> {
    let sections = ["dependencies", "build-dependencies", "dev-dependencies"];
    let platforms = manifest.get("target").and_then(|target| target.as_table());
    let platforms = platforms.into_iter().flatten().filter_map(|(_, table)| table.as_table());
    let tables = std::iter::once(manifest).chain(platforms);
    let tables = tables
        .flat_map(|table| sections.iter().filter_map(|section| table.get(*section)?.as_table()));
    let own = tables.flatten().filter(|(_, of)| {
        of.get("workspace").and_then(|workspace| workspace.as_bool()) != Some(true)
    });
    own.map(|(name, _)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dependency_comes_from_the_list_on_all_platforms() {
        let text = "[dependencies]\na.workspace = true\nb = \"1\"\n\
                    [dev-dependencies]\nc = { path = \"../c\" }\n\
                    [target.'cfg(unix)'.dependencies]\nd = \"1\"\ne.workspace = true\n";
        assert_eq!(unpinned(&text.parse().unwrap()), ["b", "c", "d"]);
    }
}
