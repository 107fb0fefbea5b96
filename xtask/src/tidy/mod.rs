//! The rules that no compiler checks; ARCHITECTURE.md says why each is there.
//!
//! * [`layers`]: which crate may use which
//! * [`circles`]: which module may use which
//! * [`purity`]: what a rules crate must not depend on
//! * [`behind`]: which files name a library that is to be replaceable
//! * [`numbers`]: numbers of messages in the rules
//! * [`edges`]: what public functions at the edge of a crate return
//! * [`errors`]: errors of libraries are types
//! * [`unused`]: dependencies that no source names
//! * [`files`]: size and opening words of source files
//! * [`comments`]: how wide comments are, and that they say something
//! * [`commits`]: subjects of commits
//! * [`waits`]: how tests wait
//! * [`leftovers`]: left-overs in the source
//! * [`words`]: words that docs/dev/words.md refuses
//! * [`paths`]: what documents name must be there
//! * [`book`]: headings that documents link to, pages that the contents leave out
//! * [`promises`]: the tests and scripts that documents name, too

mod behind;
mod book;
mod circles;
mod comments;
mod commits;
mod edges;
mod errors;
mod files;
mod findings;
mod layers;
mod leftovers;
mod manifest;
mod numbers;
mod paths;
mod promises;
mod purity;
mod unused;
mod waits;
pub mod words;

use std::path::Path;

use anyhow::Result;

use self::findings::Findings;

/// Checks every rule and prints what is wrong; `false` when something must be mended.
///
/// # Errors
/// When the tree cannot be read.
pub fn run(root: &Path) -> Result<bool> {
    let manifests = manifest::read_all(root)?;
    let mut findings = Findings::default();
    layers::check(&manifests, &mut findings);
    circles::check(root, &manifests, &mut findings)?;
    purity::check(&manifests, &mut findings);
    behind::check(root, &manifests, &mut findings)?;
    unused::check(root, &manifests, &mut findings)?;
    files::check(root, &manifests, &mut findings)?;
    edges::check(root, &mut findings)?;
    errors::check(root, &manifests, &mut findings)?;
    numbers::check(root, &manifests, &mut findings)?;
    comments::check(root, &mut findings)?;
    commits::check(root, &mut findings)?;
    waits::check(root, &mut findings)?;
    leftovers::check(root, &mut findings)?;
    words::check(root, &mut findings)?;
    paths::check(root, &mut findings)?;
    book::check(root, &mut findings)?;
    promises::check(root, &mut findings)?;
    for warning in findings.warnings() {
        println!("warning: {warning}");
    }
    for error in findings.errors() {
        println!("error: {error}");
    }
    let (errors, warnings) = (findings.errors().len(), findings.warnings().len());
    println!("tidy: {} crates, {errors} errors, {warnings} warnings", manifests.len());
    Ok(errors == 0)
}

/// The list of circles that are in the tree.
///
/// # Errors
/// When the tree cannot be read.
pub fn list_circles(root: &Path) -> Result<String> {
    circles::list(root, &manifest::read_all(root)?)
}
