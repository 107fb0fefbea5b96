//! Lists of all keys of a tree come in the order of their paths, however they are paged.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proto::ozone::*;

use crate::harness::*;

fn list(om: &mut Om, prefix: &str, after: &str, count: i32) -> (Vec<String>, bool) {
    let request = ListKeysRequest {
        volume_name: VOL.to_owned(),
        bucket_name: TREE.to_owned(),
        start_key: Some(after.to_owned()),
        prefix: Some(prefix.to_owned()),
        count: Some(count),
    };
    let full = om.ok(list_keys(request.clone())).list_keys_response.unwrap();
    let light = om.ok(list_keys_light(request)).list_keys_light_response.unwrap();
    let names: Vec<String> = full.key_info.into_iter().map(|key| key.key_name).collect();
    let light_names: Vec<String> =
        light.basic_key_info.into_iter().map(|key| key.key_name.unwrap()).collect();
    assert_eq!(names, light_names);
    (names, full.is_truncated.unwrap())
}

fn name() -> impl Strategy<Value = String> {
    // Bytes on both sides of the slash.
    proptest::string::string_regex("[a!.-]{1,3}|ab|b").unwrap()
}

#[test]
fn a_directory_whose_name_is_too_short_for_the_prefix_is_not_held_back() {
    let mut om = Om::with_paths();
    for path in ["!/a", "!!/ab/a"] {
        om.put_in(TREE, path, 0);
    }
    let (page, truncated) = list(&mut om, "!!", "!!/ab/", 10);
    assert_eq!((page, truncated), (vec!["!!/ab/a".to_owned()], false));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn pages_of_any_tree_are_its_paths_in_order(
        paths in proptest::collection::vec(proptest::collection::vec(name(), 1..4), 1..16),
        prefix in proptest::string::string_regex("[a!./-]{0,4}").unwrap(),
        count in 1..6i32,
    ) {
        let mut om = Om::with_paths();
        let mut expected = BTreeSet::new();
        for path in paths {
            let path = path.join("/");
            // A name that is a directory already, or that has a file in its path, is refused.
            let r = om.submit(create_key(args(TREE, &path)));
            if status(&r) != Status::Ok {
                continue;
            }
            om.ok(commit(TREE, &path, r.create_key_response.unwrap().id.unwrap(), 0, vec![]));
            expected.extend(path.match_indices('/').map(|(at, _)| path[..=at].to_owned()));
            expected.insert(path);
        }
        let all: Vec<String> = expected.into_iter().collect();
        prop_assert_eq!(&list(&mut om, "", "", 1000).0, &all);
        let wanted: Vec<&String> = all.iter().filter(|path| path.starts_with(&prefix)).collect();
        let (mut paged, mut after) = (Vec::new(), String::new());
        loop {
            let (page, truncated) = list(&mut om, &prefix, &after, count);
            prop_assert!(!truncated || page.len() == count as usize);
            paged.extend(page);
            match paged.last() {
                Some(last) if truncated => after.clone_from(last),
                _ => break,
            }
        }
        prop_assert_eq!(paged.iter().collect::<Vec<_>>(), wanted);
    }
}
