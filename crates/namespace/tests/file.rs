//! File system commands: the same on a tree and on a LEGACY bucket.

use namespace::Table;
use proto::ozone::*;

use crate::harness::*;

fn touch(om: &mut Om, bucket: &str, path: &str) {
    let r = om.ok(create_file(args(bucket, path), true, true)).create_file_response.unwrap();
    assert_eq!(r.key_info.unwrap().key_name, path);
    om.ok(commit(bucket, path, r.id.unwrap(), 0, vec![]));
}

fn page(bucket: &str, path: &str, start: &str, most: u64) -> ListStatusRequest {
    ListStatusRequest {
        key_args: args(bucket, path),
        recursive: false,
        start_key: start.to_owned(),
        num_entries: most,
        allow_partial_prefix: None,
    }
}

/// Names of a list, directories with a slash; the light form has the same.
fn names(om: &mut Om, request: ListStatusRequest) -> Vec<String> {
    let light = om.ok(list_status_light(request.clone())).list_status_light_response.unwrap();
    let full = om.ok(list_status(request)).list_status_response.unwrap();
    let name = |name: &str, is_directory: bool| {
        format!("{}{}", name.trim_end_matches('/'), if is_directory { "/" } else { "" })
    };
    let full: Vec<String> = full
        .statuses
        .into_iter()
        .map(|s| name(&s.key_info.unwrap().key_name, s.is_directory.unwrap()))
        .collect();
    let light: Vec<String> = light
        .statuses
        .into_iter()
        .map(|s| {
            let is_directory = s.is_directory.unwrap();
            name(&s.basic_key_info.unwrap().key_name.unwrap(), is_directory)
        })
        .collect();
    assert_eq!(light, full);
    full
}

#[test]
fn a_directory_lists_what_is_in_it_and_no_more() {
    for bucket in [TREE, LEGACY] {
        let mut om = Om::with_paths();
        for path in ["d/f1", "d/sub/f", "d/sub-x", "d/z", "top"] {
            touch(&mut om, bucket, path);
        }
        om.ok(mkdir(args(bucket, "d/empty")));
        assert_eq!(names(&mut om, page(bucket, "", "", 10)), ["d/", "top"], "{bucket}");
        let all = ["d/empty/", "d/f1", "d/sub/", "d/sub-x", "d/z"];
        let mut listed = names(&mut om, page(bucket, "d", "", 10));
        listed.sort_by_key(|name| name.trim_end_matches('/').to_owned());
        assert_eq!(listed, all, "{bucket}");
        assert_eq!(names(&mut om, page(bucket, "d/", "d/f1", 1)), ["d/f1"]);
        assert_eq!(names(&mut om, page(bucket, "d/empty", "", 10)), [""; 0]);
        assert_eq!(names(&mut om, page(bucket, "d/z", "", 10)), ["d/z"], "a file lists itself");
        let r = om.refused(list_status(page(bucket, "d/nothing", "", 10)));
        assert_eq!(r, Status::FileNotFound);
        // As clients page: from the last name on, which comes again.
        for most in 2..5 {
            let (mut paged, mut start) = (Vec::new(), String::new());
            loop {
                let mut next = names(&mut om, page(bucket, "d", &start, most));
                let full = next.len() as u64 == most;
                if next.first() == paged.last() {
                    next.remove(0);
                }
                paged.extend(next);
                start = paged.last().unwrap().trim_end_matches('/').to_owned();
                if !full {
                    break;
                }
            }
            paged.sort_by_key(|name| name.trim_end_matches('/').to_owned());
            assert_eq!(paged, all, "{bucket} in pages of {most}");
        }
        let partial = |path: &str| ListStatusRequest {
            allow_partial_prefix: Some(true),
            ..page(bucket, path, "", 10)
        };
        let mut beginning = names(&mut om, partial("d/su"));
        beginning.sort_by_key(|name| name.trim_end_matches('/').to_owned());
        assert_eq!(beginning, ["d/sub/", "d/sub-x"]);
        assert_eq!(names(&mut om, partial("d/sub")), ["d/sub/f"], "a directory is listed itself");
    }
}

#[test]
fn a_list_of_a_tree_that_went_deeper_than_its_directory_is_over() {
    let mut om = Om::with_paths();
    touch(&mut om, TREE, "d/e/f");
    assert_eq!(names(&mut om, page(TREE, "", "d", 10)), ["d/"]);
    assert_eq!(names(&mut om, page(TREE, "", "d/e", 10)), [""; 0]);
    assert_eq!(names(&mut om, page(TREE, "d", "d/e", 10)), ["d/e/"]);
    assert_eq!(names(&mut om, page(TREE, "d", "d/e/f", 10)), [""; 0]);
}

#[test]
fn statuses_tell_files_from_directories() {
    for bucket in [TREE, LEGACY] {
        let mut om = Om::with_paths();
        touch(&mut om, bucket, "d/e/f");
        for (path, directory) in
            [("", true), ("/", true), ("d", true), ("d/e/", true), ("d/e/f", false)]
        {
            let r = om.ok(file_status(args(bucket, path))).get_file_status_response.unwrap();
            assert_eq!(r.status.is_directory, Some(directory), "{bucket} {path}");
            assert_eq!(r.status.block_size, Some(256 << 20));
        }
        assert_eq!(om.refused(file_status(args(bucket, "d/x"))), Status::FileNotFound);
        assert_eq!(om.refused(lookup_file(args(bucket, "d"))), Status::NotAFile);
        om.ok(lookup_file(args(bucket, "d/e/f")));
        assert_eq!(om.used_in(bucket), (0, 3, 0, 0));
    }
}

#[test]
fn a_legacy_directory_is_a_key_with_a_slash() {
    let mut om = Om::with_paths();
    touch(&mut om, LEGACY, "a/b/f");
    let key = |name: &str| format!("/{VOL}/{LEGACY}/{name}");
    assert_eq!(om.rows(Table::KeyTable), [key("a/"), key("a/b/"), key("a/b/f")]);
    let cases = [
        (create_file(args(LEGACY, "a"), true, true), Status::NotAFile),
        (create_file(args(LEGACY, "a/b/f/g"), true, true), Status::NotAFile),
        (create_file(args(LEGACY, "a/b/f"), true, false), Status::FileAlreadyExists),
        (create_file(args(LEGACY, "x/y"), false, true), Status::DirectoryNotFound),
        (mkdir(args(LEGACY, "a/b/f")), Status::FileAlreadyExists),
        (mkdir(args(LEGACY, "a/b/f/g")), Status::FileAlreadyExists),
    ];
    for (request, expected) in cases {
        assert_eq!(om.refused(request.clone()), expected, "{request:?}");
    }
    assert_eq!(status(&om.submit(mkdir(args(LEGACY, "a/b")))), Status::DirectoryAlreadyExists);

    // Ordinary keys make no directories, unless the cluster is configured so.
    om.put_in(LEGACY, "k//l", 1);
    assert!(om.rows(Table::KeyTable).contains(&key("k//l")));
    om.settings.filesystem_paths = true;
    om.put_in(LEGACY, "p//q/r", 1);
    let rows = om.rows(Table::KeyTable);
    for name in ["p/", "p/q/", "p/q/r"] {
        assert!(rows.contains(&key(name)), "{name} in {rows:?}");
    }
    assert_eq!(om.refused(create_key(args(LEGACY, "p/q"))), Status::NotAFile);
}

#[test]
fn a_legacy_path_is_a_directory_when_keys_are_below_it() {
    let mut om = Om::with_paths();
    om.put_in(LEGACY, "x/y/z", 1);
    let r = om.ok(file_status(args(LEGACY, "x/y"))).get_file_status_response.unwrap();
    assert_eq!(r.status.is_directory, Some(true));
    assert_eq!(names(&mut om, page(LEGACY, "x", "", 10)), ["x/y/"]);
    assert_eq!(names(&mut om, page(LEGACY, "x", "x/y", 10)), ["x/y/"]);
}
