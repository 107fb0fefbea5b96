//! A tree that renames made deeper than any stack: commands on it need no recursion, and memory for
//! its entries only, not for all of its paths.

use namespace::{DiffEnds, Table, diff, recount};
use proto::ozone::*;

use crate::harness::*;
use crate::snapshots::create_snapshot;
use crate::tree::purge_all_directories;

/// Levels that one request makes.
const CHAIN: usize = 250;
const CHAINS: usize = 400;

/// A tree of [`CHAINS`] times [`CHAIN`] directories above one another with a file in the lowest,
/// and the file's path.
fn deep() -> (Om, String) {
    let mut om = Om::with_paths();
    let chain = vec!["d"; CHAIN - 1].join("/");
    let mut path = String::from("f");
    om.put_in(TREE, &format!("c0/{chain}/f"), 1);
    for i in 0..CHAINS {
        path = format!("c{i}/{chain}/{path}");
        if i > 0 {
            om.ok(mkdir(args(TREE, &format!("c{i}/{chain}"))));
            let to = format!("c{i}/{chain}/c{}", i - 1);
            om.ok(rename_key(args(TREE, &format!("c{}", i - 1)), &to));
        }
    }
    (om, path)
}

fn list(om: &Om, after: &str, count: i32) -> (Vec<String>, bool) {
    let r = om.read(&list_keys(ListKeysRequest {
        volume_name: VOL.to_owned(),
        bucket_name: TREE.to_owned(),
        start_key: Some(after.to_owned()),
        prefix: None,
        count: Some(count),
    }));
    let r = r.list_keys_response.unwrap();
    (r.key_info.into_iter().map(|key| key.key_name).collect(), r.is_truncated.unwrap())
}

#[test]
fn a_tree_deeper_than_a_stack_is_listed() {
    let (om, path) = deep();
    assert_eq!(path.matches('/').count(), 100_000);
    let (first, truncated) = list(&om, "", 3);
    assert_eq!(first, ["c399/", "c399/d/", "c399/d/d/"]);
    assert!(truncated);
    // The walk goes down to the end of the last page, and up again.
    let (above, _) = path.rsplit_once('/').unwrap();
    assert_eq!(list(&om, above, 3), (vec![format!("{above}/"), path.clone()], false));
    assert_eq!(list(&om, &path, 3), (Vec::new(), false));
}

#[test]
fn a_diff_names_what_is_deeper_than_a_stack() {
    let (mut om, path) = deep();
    om.ok(create_snapshot(true, "one"));
    let (above, _) = path.rsplit_once('/').unwrap();
    let new = format!("{above}/g");
    om.put_in(TREE, &new, 1);
    om.ok(create_snapshot(true, "two"));
    let ends = DiffEnds {
        volume: VOL.to_owned(),
        bucket: TREE.to_owned(),
        from: "one".to_owned(),
        to: "two".to_owned(),
    };
    let report = diff(&om.tables, &ends, 100, &|| true).unwrap();
    let names: Vec<_> = report.iter().map(|entry| entry.source_path()).collect();
    assert!(names == [new.as_str()], "{} entries", names.len());
}

#[test]
fn what_is_deep_is_looked_up_renamed_and_counted() {
    let (mut om, path) = deep();
    let (above, _) = path.rsplit_once('/').unwrap();
    let renamed = format!("{above}/g");
    om.ok(rename_key(args(TREE, &path), &renamed));
    assert_eq!(om.refused(lookup_key(args(TREE, &path))), Status::KeyNotFound);
    om.ok(lookup_key(args(TREE, &renamed)));
    let listed = om.ok(list_status(ListStatusRequest {
        key_args: args(TREE, above),
        num_entries: 10,
        ..ListStatusRequest::default()
    }));
    assert_eq!(listed.list_status_response.unwrap().statuses.len(), 1);
    let into_itself = om.refused(rename_key(args(TREE, "c399"), &format!("{above}/c")));
    assert_eq!(into_itself, Status::KeyRenameError);
    let count = recount(&om.tables, VOL, TREE).unwrap().unwrap();
    assert_eq!((count.diff_used_namespace, count.diff_used_bytes), (0, 0));
    assert_eq!(om.used_in(TREE), (3, 100_001, 0, 0));
    om.ok(delete_key(args(TREE, &renamed)));
    assert_eq!(om.used_in(TREE).1, 100_000);
}

#[test]
fn a_page_of_long_names_ends_early() {
    let (om, path) = deep();
    // Names of 200 kB: 42 of them are a page.
    let start = path.match_indices('/').nth(99_900).unwrap().0;
    let (mut after, mut pages, mut found) = (path[..start].to_owned(), 0, 0);
    loop {
        let (page, truncated) = list(&om, &after, 1_000);
        assert!(page.iter().map(String::len).sum::<usize>() < 9 << 20);
        (pages, found) = (pages + 1, found + page.len());
        after.clone_from(page.last().unwrap());
        if !truncated {
            break;
        }
    }
    assert_eq!(after, path);
    assert_eq!((found, pages), (101, 3));
}

/// Ozone's file system takes a short page for the last one: it would miss the cut entries.
#[test]
fn a_page_of_long_paths_is_refused() {
    let mut om = Om::with_paths();
    let name = "n".repeat(8 << 20);
    for i in 0..9 {
        om.put_in(TREE, &format!("d/{i}{name}"), 0);
    }
    let page = |entries| ListStatusRequest {
        key_args: args(TREE, "d"),
        num_entries: entries,
        ..ListStatusRequest::default()
    };
    assert_eq!(om.refused(list_status(page(100))), Status::InvalidRequest);
    assert_eq!(om.refused(list_status_light(page(100))), Status::InvalidRequest);
    let listed = om.ok(list_status(page(7))).list_status_response.unwrap();
    assert_eq!(listed.statuses.len(), 7);
    let listed = om.ok(list_status_light(page(7))).list_status_light_response.unwrap();
    assert_eq!(listed.statuses.len(), 7);
}

#[test]
fn a_deep_tree_is_taken_apart_under_short_names() {
    let mut om = Om::with_paths();
    for i in 0..20 {
        let chain = vec!["directory"; 100].join("/");
        om.ok(mkdir(args(TREE, &format!("c{i}/{chain}"))));
        if i > 0 {
            let to = format!("c{i}/{chain}/c{}", i - 1);
            om.ok(rename_key(args(TREE, &format!("c{}", i - 1)), &to));
        }
    }
    om.ok(delete_key(KeyArgs { recursive: Some(true), ..args(TREE, "c19") }));
    let mut levels = 0;
    while purge_all_directories(&mut om, 10) > 0 {
        levels += 1;
        for row in om.rows(Table::DeletedDirectoryTable) {
            let deleted: KeyInfo = om.row(Table::DeletedDirectoryTable, &row).unwrap();
            assert!(deleted.key_name.len() <= 4_096, "{} bytes", deleted.key_name.len());
        }
    }
    assert_eq!((levels, om.used_in(TREE).1), (20 * 101, 0));
    assert!(om.rows(Table::DirectoryTable).is_empty());
}
