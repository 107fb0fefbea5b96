//! Circles of modules: a module that uses another one is not used by it. The modules are the files
//! and folders of a crate's root, and those of each folder of more than [`LARGE`] lines.
//!
//! The source is parsed. Paths in `use`, in expressions and types, in the tokens of macros and in
//! texts of attributes are followed through exports, globs, `self` and `super` to the module that
//! declares the item. Code for tests does not count, nor do exports of modules below.
//! Methods are found by type inference, and are not seen.

mod arrows;
mod cfg;
mod graph;
mod known;
mod resolve;
#[cfg(test)]
mod tests;
mod tree;

use std::path::Path;

use anyhow::Result;

use self::graph::Circle;
use self::known::Known;
use self::tree::Crate;
use super::findings::Findings;
use super::manifest::Manifest;

/// The modules of a folder of more lines are checked, too.
const LARGE: usize = 2_000;

/// Checks the modules of every crate.
///
/// # Errors
/// When a file cannot be read or parsed.
pub fn check(root: &Path, manifests: &[Manifest], findings: &mut Findings) -> Result<()> {
    let found = all(root, manifests)?;
    for error in faults(&found, &known::read(root)?) {
        findings.error(error);
    }
    Ok(())
}

/// The list of today's circles, as the file of known ones has it.
///
/// # Errors
/// When a file cannot be read or parsed.
pub fn list(root: &Path, manifests: &[Manifest]) -> Result<String> {
    let found = all(root, manifests)?.into_iter();
    let known = found.map(|(place, circle)| Known { place, modules: circle.modules });
    Ok(known::write(&known.collect::<Vec<_>>()))
}

/// The circles of all crates, with their places.
fn all(root: &Path, manifests: &[Manifest]) -> Result<Vec<(String, Circle)>> {
    let roots = manifests.iter().flat_map(|m| m.roots.iter().map(|file| (m.name.as_str(), file)));
    let roots: Vec<(&str, _)> = roots.collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    // A parsed file belongs to its thread.
    let read = || {
        let mut found = Vec::new();
        loop {
            let index = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let Some((name, file)) = roots.get(index) else { return Ok(found) };
            let circles = of_crate(file, root, LARGE)?.into_iter();
            found.extend(circles.map(|circle| {
                let folder = &circle.folder;
                let place =
                    if folder.is_empty() { (*name).to_owned() } else { format!("{name}/{folder}") };
                (place, circle)
            }));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let found: Result<Vec<Vec<_>>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(read)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a reader ends")).collect()
    });
    let mut found: Vec<(String, Circle)> = found?.into_iter().flatten().collect();
    found.sort_by(|a, b| (&a.0, &a.1.modules).cmp(&(&b.0, &b.1.modules)));
    Ok(found)
}

/// The circles of the crate with this root file, which names files from `shown` on.
fn of_crate(file: &Path, shown: &Path, large: usize) -> Result<Vec<Circle>> {
    let mut read = Crate::read(file)?;
    for module in &mut read.modules {
        module.file = module.file.strip_prefix(shown).unwrap_or(&module.file).to_owned();
    }
    Ok(graph::circles(&read, &arrows::arrows(&read), large))
}

/// Circles that are not in the list, and entries of the list that do not fit.
fn faults(found: &[(String, Circle)], known: &[Known]) -> Vec<String> {
    let mut faults = Vec::new();
    for (place, circle) in found {
        let is_known =
            |known: &&Known| known.place == *place && circle.modules.is_subset(&known.modules);
        match known.iter().find(is_known) {
            None => faults.push(describe(place, circle)),
            Some(known) if known.modules.len() > circle.modules.len() => {
                let gone: Vec<&str> =
                    known.modules.difference(&circle.modules).map(String::as_str).collect();
                faults.push(format!(
                    "{}: {place}: no longer in the circle: {}; {HOW}",
                    known::FILE,
                    gone.join(", ")
                ));
            }
            Some(_) => {}
        }
    }
    for known in known {
        let is_here = |(place, circle): &(String, Circle)| {
            *place == known.place && circle.modules.is_subset(&known.modules)
        };
        if !found.iter().any(is_here) {
            let modules: Vec<&str> = known.modules.iter().map(String::as_str).collect();
            faults.push(format!(
                "{}: {}: no such circle: {}; {HOW}",
                known::FILE,
                known.place,
                modules.join(", ")
            ));
        }
    }
    faults
}

/// The command that makes the list fit.
const HOW: &str = "regenerate it with `cargo xtask tidy --list-circles`";

fn describe(place: &str, circle: &Circle) -> String {
    let modules = circle.modules.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let mut text = format!("crate {place}: these modules use each other: {modules}");
    let names = circle.shortest.iter().map(|(name, _)| name);
    let next = names.clone().cycle().skip(1);
    for ((from, at), to) in circle.shortest.iter().zip(next) {
        text += &format!("\n    {from} uses {to} at {at}");
    }
    text
}
