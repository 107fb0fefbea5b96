//! Circles of modules: a module that uses another one is not used by it. A module is a file or a
//! folder beside `lib.rs`, with all that is below it.
//!
//! What is used is read off paths that begin with `crate::`. Items that `lib.rs` exports are not
//! followed to their modules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Findings;
use super::files::rust_files;
use super::manifest::Manifest;

/// Circles that are still there, as a crate and its modules. A circle may lose modules; what is
/// gone from the crate has to go from here.
const KNOWN: &[(&str, &[&str])] = &[];

/// Which modules each module uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// Checks the modules of every crate.
///
/// # Errors
/// When a file cannot be read.
pub fn check(manifests: &[Manifest], findings: &mut Findings) -> Result<()> {
    for manifest in manifests {
        let src = manifest.dir.join("src");
        if !src.is_dir() {
            continue;
        }
        report(&manifest.name, &circles(&uses(&src)?), findings);
    }
    Ok(())
}

fn report(name: &str, circles: &[BTreeSet<String>], findings: &mut Findings) {
    let known = |circle: &&BTreeSet<String>| {
        KNOWN.iter().any(|(of, modules)| {
            *of == name
                && modules.iter().map(|module| (*module).to_owned()).eq(circle.iter().cloned())
        })
    };
    let found = circles.iter().filter(known).count();
    if found != KNOWN.iter().filter(|(of, _)| *of == name).count() {
        findings
            .error(format!("crate {name}: tidy/circles.rs names circles that are other ones now"));
    }
    for circle in circles.iter().filter(|circle| !known(circle)) {
        let modules = circle.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        findings.error(format!("crate {name}: these modules use each other: {modules}"));
    }
}

fn uses(src: &Path) -> Result<Uses> {
    let mut files: Vec<PathBuf> = Vec::new();
    rust_files(src, &mut files)?;
    let module = |file: &Path| {
        let first = file.strip_prefix(src).ok()?.components().next()?;
        let name = first.as_os_str().to_str()?;
        Some(name.strip_suffix(".rs").unwrap_or(name).to_owned())
    };
    let all: BTreeSet<String> = files.iter().filter_map(|file| module(file)).collect();
    let mut uses = Uses::new();
    for file in &files {
        let Some(own) = module(file).filter(|name| name != "lib" && name != "main") else {
            continue;
        };
        let is_test = file.components().any(|part| part.as_os_str() == "tests");
        if is_test || file.file_name().is_some_and(|name| name == "tests.rs") {
            continue;
        }
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let named = named(&text).into_iter().filter(|name| *name != own && all.contains(name));
        uses.entry(own.clone()).or_default().extend(named);
    }
    Ok(uses)
}

/// The modules that a file names by paths from the crate's root; its tests may name any.
fn named(text: &str) -> BTreeSet<String> {
    let code = text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
    let code = code.map(|line| line.split("//").next().unwrap_or_default());
    let code = code.collect::<Vec<_>>().join("\n");
    let mut found = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            None => found.insert(word(rest)),
            Some(list) => {
                top_level(list).into_iter().for_each(|item| _ = found.insert(word(item)));
                true
            }
        };
    }
    found.remove("");
    found
}

/// The items of a list in braces that has just begun.
fn top_level(list: &str) -> Vec<&str> {
    let (mut depth, mut begin, mut items) = (0_usize, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                items.push(&list[begin..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&list[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    items
}

fn word(text: &str) -> String {
    let text = text.trim_start();
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// Sets of modules of which each leads to each other one.
fn circles(uses: &Uses) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<String>> =
        uses.keys().map(|module| (module, reach(uses, module))).collect();
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for (module, from_here) in &reached {
        let back = |other: &&String| reached.get(other).is_some_and(|r| r.contains(*module));
        let circle: BTreeSet<String> = from_here.iter().filter(back).cloned().collect();
        if circle.len() > 1 && !found.contains(&circle) {
            found.push(circle);
        }
    }
    found
}

/// All that a module uses, directly or not.
fn reach(uses: &Uses, from: &str) -> BTreeSet<String> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(module) = next.pop() {
        for used in uses.get(&module).into_iter().flatten() {
            if reached.insert(used.clone()) {
                next.push(used.clone());
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_circle_is_found_and_a_chain_is_not() {
        let uses: Uses = [
            ("a", &["b"][..]),
            ("b", &["c"]),
            ("c", &["b", "d"]),
            ("d", &[]),
            ("e", &["f", "a"]),
            ("f", &["e"]),
        ]
        .map(|(module, used)| (module.to_owned(), set(used)))
        .into();
        assert_eq!(circles(&uses), [set(&["b", "c"]), set(&["e", "f"])]);
    }

    #[test]
    fn what_a_file_names_is_read_from_its_code() {
        let text = "use crate::one::Two;\n// crate::three\nuse crate::{\n    four::{Five, Six},\n    \
                    Seven, eight::nine,\n};\nfn f() { crate::ten::f() }\n#[cfg(test)]\nmod tests { use \
                    crate::eleven; }\n";
        assert_eq!(named(text), set(&["one", "four", "Seven", "eight", "ten"]));
    }

    #[test]
    fn a_circle_is_an_error() {
        let mut findings = Findings::default();
        report("om", &[set(&["state", "tables"])], &mut findings);
        assert_eq!(findings.errors().len(), 1, "{:?}", findings.errors());
        assert!(findings.errors()[0].contains("state, tables"), "{:?}", findings.errors());
    }
}
