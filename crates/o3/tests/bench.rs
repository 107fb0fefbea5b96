//! `o3 bench`: what it measures is there, in the table and in the files.

use serde_json::Value;

use crate::process::{o3, stderr, stdout};

#[test]
fn the_comparison_of_compactions_measures_every_variant() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let done = o3(&[])
        .args("bench compaction --deletes 3000 --live 900 --delete-rate 0 --settle 1".split(' '))
        .args("--interval 1 --full-interval 1 --json".split(' '))
        .arg("--dir")
        .arg(dir.path())
        .arg("--out")
        .arg(&out)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
    let results: Value = serde_json::from_str(&stdout(&done)).unwrap();
    let variants = results["variants"].as_array().unwrap();
    assert_eq!(variants.len(), 9);
    for variant in variants {
        assert!(variant["writesPerSecond"].as_f64().unwrap() > 0.0, "{variant}");
        assert!(variant["list"]["p99Ms"].as_f64().unwrap() > 0.0, "{variant}");
        assert!(!variant["seconds"].as_array().unwrap().is_empty());
    }
    let left = |i: usize| variants[i]["tombstonesLeft"].as_u64().unwrap();
    assert_eq!(variants[1]["variant"], "full");
    assert!(variants[1]["compactedBytes"].as_u64().unwrap() > 0);
    assert!(left(1) <= 3_000);
    for plot in ["write-rate", "seek-p99", "list-p99", "compacted", "cpu"] {
        let svg = std::fs::read_to_string(out.join(format!("{plot}.svg"))).unwrap();
        assert!(svg.contains("service-samples") && svg.contains("polyline"), "{plot}");
    }
    let kept: Value =
        serde_json::from_str(&std::fs::read_to_string(out.join("results.json")).unwrap()).unwrap();
    assert_eq!(kept["variants"].as_array().unwrap().len(), 9);
    // The databases are gone.
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_variant_that_is_not_there_is_named() {
    let done = o3(&["bench", "compaction", "--variants", "none,other"]).output().unwrap();
    assert!(!done.status.success());
    assert!(stderr(&done).contains("there is no variant other"), "{}", stderr(&done));
}
