//! Dependencies that a rules crate must not have: it only decides. Its `clippy.toml` has the parts
//! of the standard library that it must not use.

use super::findings::Findings;
use super::manifest::Manifest;

const RULES: &[&str] = &["namespace", "placement", "container", "erasure"];
const FORBIDDEN: &[(&str, &str)] = &[
    ("tokio", "rules do not wait"),
    ("rand", "rules are not random"),
    ("chrono", "rules do not read the clock"),
    ("rust-rocksdb", "only metastore uses the store"),
    ("metastore", "rules see tables through a view"),
    ("blockio", "rules touch no file"),
    ("framed", "rules know no network"),
    ("tempfile", "rules touch no file"),
];

/// Checks what rules crates may link.
pub fn check(manifests: &[Manifest], findings: &mut Findings) {
    for manifest in manifests {
        if RULES.contains(&manifest.name.as_str()) {
            if !manifest.dir.join("clippy.toml").is_file() {
                let name = &manifest.name;
                findings.error(format!("{name} has no clippy.toml that denies files and clocks"));
            }
            for (name, why) in FORBIDDEN.iter().filter(|(n, _)| manifest.uses.contains(*n)) {
                findings.error(format!("{} must not use {name}: {why}", manifest.name));
            }
        }
    }
}
