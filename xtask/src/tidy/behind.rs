//! Libraries that a crate keeps behind a module of its own, so that they can be replaced: no other
//! file names them.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::Findings;
use super::files::rust_files;
use super::manifest::Manifest;

/// Libraries behind the same files.
struct Hidden {
    owner: &'static str,
    /// As a manifest names them.
    libraries: &'static [&'static str],
    /// Files or folders below the crate's own.
    behind: &'static [&'static str],
}

const HIDDEN: &[Hidden] = &[
    Hidden {
        owner: "multiraft",
        libraries: &["raft", "raft-proto", "protobuf", "slog"],
        behind: &[
            "src/consensus/",
            // Makes messages that the crate itself never would.
            "tests/hostile.rs",
        ],
    },
    Hidden {
        owner: "multiraft",
        libraries: &["raft-engine"],
        behind: &["src/log/engine.rs", "src/log/engine_files.rs"],
    },
    Hidden { owner: "metastore", libraries: &["rust-rocksdb"], behind: &[""] },
];

/// Checks which crates link such a library, and which of their files name it.
///
/// # Errors
/// When a file cannot be read.
pub fn check(root: &Path, manifests: &[Manifest], findings: &mut Findings) -> Result<()> {
    for manifest in manifests {
        for hidden in HIDDEN {
            if manifest.name == hidden.owner {
                files(root, manifest, hidden, findings)?;
                continue;
            }
            let links = |library: &&&str| {
                manifest.uses.contains(**library) || manifest.tests_use.contains(**library)
            };
            for library in hidden.libraries.iter().filter(links) {
                let (name, owner) = (&manifest.name, hidden.owner);
                findings.error(format!("{name} links {library}: only {owner} may"));
            }
        }
    }
    Ok(())
}

fn files(root: &Path, manifest: &Manifest, hidden: &Hidden, findings: &mut Findings) -> Result<()> {
    let mut files = Vec::new();
    rust_files(&manifest.dir, &mut files)?;
    for file in files {
        let below = file.strip_prefix(&manifest.dir).unwrap_or(&file).to_string_lossy();
        if hidden.behind.iter().any(|allowed| below.starts_with(allowed)) {
            continue;
        }
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let shown = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        for library in hidden.libraries {
            for line in lines_naming(&text, &library.replace('-', "_")) {
                let behind = hidden.behind.join(", ");
                findings.error(format!("{shown}:{line} names {library}: only {behind} may"));
            }
        }
    }
    Ok(())
}

/// Lines of code with a path that begins with a crate's name.
fn lines_naming(text: &str, name: &str) -> Vec<usize> {
    let begins_path = |line: &str| {
        line.match_indices(name).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let after = &line[at + name.len()..];
            let begins = before.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != ':');
            let imported = line[..at].trim_end().ends_with("use") && !after.starts_with('_');
            begins && (after.starts_with("::") || imported)
        })
    };
    let code = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
    code.filter(|(_, line)| begins_path(line)).map(|(number, _)| number + 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_begins_with_a_crate_is_found_and_no_other() {
        let text = "use raft::Config;\n// raft::Config\nuse raft as r;\nlet x = (raft::ID, 1);\n\
                    use crate::raft::State;\nuse raft_engine::Engine;\nself.node.raft.term\n\
                    /// See raft::Node.\nmultiraft::Clock\n";
        assert_eq!(lines_naming(text, "raft"), [1, 3, 4]);
        assert_eq!(lines_naming(text, "raft_engine"), [6]);
    }
}
