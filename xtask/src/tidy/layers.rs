//! Layers of crates.

use super::findings::Findings;
use super::manifest::Manifest;

/// The group that tests of all crates may use.
const FOR_TESTS: &str = "for tests";

/// Groups from the top down. A crate may use crates of the groups below its own, and those that
/// [`ALLOWED_IN_GROUP`] names.
const GROUPS: &[(&str, &[&str])] = &[
    ("tasks", &["xtask"]),
    ("simulation", &["simulation"]),
    // Tests may use it, shipped code may not.
    (FOR_TESTS, &["testkit", "benchmark"]),
    ("binary", &["o3"]),
    ("assembly", &["server"]),
    ("servers", &["om", "scm", "datanode", "s3gateway"]),
    ("storage", &["containerstore"]),
    ("using a cluster", &["client", "shell", "freon"]),
    ("replication", &["replicated"]),
    ("rules", &["namespace", "placement", "container", "erasure"]),
    (
        "machinery",
        &[
            "multiraft",
            "metastore",
            "blockio",
            "chunkcache",
            "framed",
            "hadoop-rpc",
            "limits",
            "ratis-wire",
            "scheduling",
            "service",
            "sigv4",
            "telemetry",
            "topology",
        ],
    ),
    ("vocabulary", &["config", "types", "proto"]),
];

/// Uses inside a group, each with its reason.
const ALLOWED_IN_GROUP: &[(&str, &str, &str)] = &[
    ("types", "proto", "conversions from and to the wire"),
    ("metastore", "blockio", "names that are durable before a database is in them"),
    ("metastore", "scheduling", "RocksDB's threads work in the background"),
    ("blockio", "scheduling", "workers serve, whichever thread makes them"),
    ("multiraft", "blockio", "names that are durable before a log is in them"),
    ("service", "blockio", "files that are replaced as a whole, durably"),
    ("chunkcache", "blockio", "files of a fast disk, late reads, faults for tests"),
    ("multiraft", "framed", "the transport over frames"),
    ("hadoop-rpc", "framed", "another protocol on the port of frames"),
    ("framed", "limits", "bounds on what a peer may cost"),
    ("hadoop-rpc", "limits", "bounds on what a peer may cost"),
    ("service", "limits", "connections and memory among metrics and on status pages"),
    ("service", "telemetry", "logs and spans are set up together; a background run is a span"),
    ("shell", "client", "commands are calls of the client"),
    ("freon", "client", "generators are calls of the client"),
];

fn group(name: &str) -> Option<usize> {
    GROUPS.iter().position(|(_, crates)| crates.contains(&name))
}

/// Checks the direction of every dependency. Tests may use what is for tests, too.
pub fn check(manifests: &[Manifest], findings: &mut Findings) {
    for manifest in manifests {
        let Some(own) = group(&manifest.name) else {
            findings.error(format!("crate {} is in no group of tidy/layers.rs", manifest.name));
            continue;
        };
        let allowed = |used: &str, theirs: usize| {
            theirs > own
                || ALLOWED_IN_GROUP.iter().any(|(a, b, _)| *a == manifest.name && *b == used)
        };
        let mut refuse = |who: &str, used: &str, theirs: usize| {
            let (own, theirs) = (GROUPS[own].0, GROUPS[theirs].0);
            findings.error(format!("{who} ({own}) must not use {used} ({theirs})"));
        };
        for used in &manifest.uses {
            let Some(theirs) = group(used) else { continue };
            if !allowed(used, theirs) {
                refuse(&manifest.name, used, theirs);
            }
        }
        for used in &manifest.tests_use {
            let Some(theirs) = group(used).filter(|theirs| GROUPS[*theirs].0 != FOR_TESTS) else {
                continue;
            };
            if !allowed(used, theirs) {
                refuse(&format!("tests of {}", manifest.name), used, theirs);
            }
        }
        for name in &manifest.unpinned {
            findings.error(format!(
                "{}: {name} is not taken from [workspace.dependencies]",
                manifest.name
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(name: &str, uses: &[&str]) -> Manifest {
        let uses = uses.iter().map(|u| (*u).to_owned()).collect();
        Manifest { name: name.into(), uses, ..Manifest::default() }
    }

    fn errors(name: &str, uses: &[&str]) -> usize {
        let mut findings = Findings::default();
        check(&[manifest(name, uses)], &mut findings);
        findings.errors().len()
    }

    #[test]
    fn dependencies_point_down_only() {
        assert_eq!(errors("om", &["namespace", "multiraft", "tokio"]), 0);
        assert_eq!(errors("om", &["scm"]), 1, "servers meet in proto");
        assert_eq!(errors("namespace", &["om"]), 1, "upwards");
        assert_eq!(errors("om", &["testkit"]), 1, "for tests only");
        assert_eq!(errors("stranger", &[]), 1, "every crate has a group");
    }

    #[test]
    fn tests_may_use_what_is_for_tests() {
        let errors = |name: &str, uses: &[&str]| {
            let uses = uses.iter().map(|u| (*u).to_owned()).collect();
            let manifest = Manifest { name: name.into(), tests_use: uses, ..Manifest::default() };
            let mut findings = Findings::default();
            check(&[manifest], &mut findings);
            findings.errors().len()
        };
        assert_eq!(errors("om", &["client", "testkit", "benchmark"]), 0);
        assert_eq!(errors("om", &["scm"]), 1);
        assert_eq!(errors("client", &["om"]), 1);
    }
}
