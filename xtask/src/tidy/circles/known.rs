//! Circles that are still in the tree, in `xtask/circles.txt`: a crate, with a folder when it is
//! not the crate's root, and the modules.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// The list, from the root of the tree on.
pub const FILE: &str = "xtask/circles.txt";

/// A circle that may stay until it is untied.
#[derive(PartialEq, Eq, Debug)]
pub struct Known {
    /// `crate`, or `crate/folder`.
    pub place: String,
    pub modules: BTreeSet<String>,
}

/// The list of a tree.
///
/// # Errors
/// When the file cannot be read.
pub fn read(root: &Path) -> Result<Vec<Known>> {
    let text = fs::read_to_string(root.join(FILE)).context(FILE)?;
    Ok(parse(&text))
}

fn parse(text: &str) -> Vec<Known> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let known = lines.filter_map(|line| {
        let (place, modules) = line.split_once(':')?;
        let modules = modules.split(',').map(|module| module.trim().to_owned());
        Some(Known { place: place.trim().to_owned(), modules: modules.collect() })
    });
    known.collect()
}

/// The list as a file.
pub fn write(known: &[Known]) -> String {
    let mut text =
        "# Modules that use each other: `cargo xtask tidy --list-circles > xtask/circles.txt`.\n\
                    # The list may only shrink.\n"
            .to_owned();
    for Known { place, modules } in known {
        let modules: Vec<&str> = modules.iter().map(String::as_str).collect();
        text += &format!("{place}: {}\n", modules.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_read_as_it_is_written() {
        let known = |place: &str, modules: &[&str]| Known {
            place: place.to_owned(),
            modules: modules.iter().map(|module| (*module).to_owned()).collect(),
        };
        let all = [known("om", &["a", "b"]), known("om/state", &["c", "d", "mod"])];
        assert_eq!(parse(&write(&all)), all);
    }
}
