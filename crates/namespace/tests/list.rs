//! Lists of keys against a model, and the quick reader of rows against the full decoder.

use std::collections::BTreeSet;

use namespace::Table;
use proptest::prelude::*;
use proto::hdds::{EcReplicationConfig, KeyValue};
use proto::ozone::*;

use crate::harness::*;

fn list(start: &str, prefix: &str, count: i32) -> ListKeysRequest {
    ListKeysRequest {
        volume_name: VOL.to_owned(),
        bucket_name: BUCKET.to_owned(),
        start_key: Some(start.to_owned()),
        prefix: Some(prefix.to_owned()),
        count: Some(count),
    }
}

/// Names on a page, and `true` if there are more; both commands must agree.
fn page(om: &mut Om, r: ListKeysRequest) -> (Vec<String>, bool) {
    let light = om.ok(list_keys_light(r.clone())).list_keys_light_response.unwrap();
    let full = om.ok(list_keys(r)).list_keys_response.unwrap();
    assert_eq!(light.is_truncated, full.is_truncated);
    let names: Vec<String> = full.key_info.into_iter().map(|k| k.key_name).collect();
    let light_names: Vec<String> =
        light.basic_key_info.into_iter().map(|k| k.key_name.unwrap()).collect();
    assert_eq!(light_names, names);
    (names, light.is_truncated.unwrap())
}

#[test]
fn a_page_starts_after_its_start_key() {
    let mut om = Om::new();
    for key in ["a", "b", "c", "dir/x", "dir/y"] {
        om.put(key, 1);
    }
    om.ok(create_bucket(VOL, "bucket0"));
    om.ok(create_bucket(VOL, "bucket10"));
    om.put_in("bucket0", "z", 1);
    om.put_in("bucket10", "z", 1);
    let cases: [(&str, &str, i32, &[&str], bool); 8] = [
        ("", "", 10, &["a", "b", "c", "dir/x", "dir/y"], false),
        ("", "", 2, &["a", "b"], true),
        ("b", "", 2, &["c", "dir/x"], true),
        ("bb", "", 2, &["c", "dir/x"], true),
        ("dir/x", "", 2, &["dir/y"], false),
        ("", "dir/", 2, &["dir/x", "dir/y"], false),
        ("zzz", "", 2, &[], false),
        ("a", "dir/", 1, &["dir/x"], true),
    ];
    for (start, prefix, count, names, truncated) in cases {
        let got = page(&mut om, list(start, prefix, count));
        assert_eq!(got, (names.iter().map(|n| (*n).to_owned()).collect(), truncated));
    }
    om.settings.list_max_size = 3;
    assert_eq!(page(&mut om, list("", "", 0)).0.len(), 3, "no count: the server's most");
    assert_eq!(page(&mut om, list("", "", 1000)).0.len(), 3);
    let nowhere = ListKeysRequest { bucket_name: "none".to_owned(), ..list("", "", 1) };
    assert_eq!(om.refused(list_keys_light(nowhere)), Status::BucketNotFound);
}

#[test]
fn an_entry_says_what_its_key_says() {
    let mut om = Om::new();
    let (id, blocks) = om.open(BUCKET, "k", 10);
    let args = KeyArgs {
        data_size: Some(10),
        key_locations: used(blocks, 10),
        metadata: vec![entry("x", "y"), entry("ETag", "abc")],
        ..args(BUCKET, "k")
    };
    om.ok(commit_key(args, id, false));
    let r = om.ok(list_keys_light(list("", "", 1))).list_keys_light_response.unwrap();
    let key = om.key("k").unwrap();
    assert_eq!(r.basic_key_info, [basic(&key)]);
    assert_eq!(r.basic_key_info[0].e_tag.as_deref(), Some("abc"));
    assert_eq!(r.basic_key_info[0].data_size, Some(10));
}

/// The entry of a list by the full decoder.
fn basic(key: &KeyInfo) -> BasicKeyInfo {
    BasicKeyInfo {
        storage_policy: None,
        key_name: Some(key.key_name.clone()),
        data_size: Some(key.data_size),
        creation_time: Some(key.creation_time),
        modification_time: Some(key.modification_time),
        r#type: Some(key.r#type),
        factor: key.factor,
        ec_replication_config: key.ec_replication_config.clone(),
        e_tag: key
            .metadata
            .iter()
            .find(|e| e.key == "ETag")
            .map(|e| e.value.clone().unwrap_or_default()),
        owner_name: key.owner_name.clone(),
        is_encrypted: Some(key.file_encryption_info.is_some()),
        is_file: key.is_file,
    }
}

fn names() -> impl Strategy<Value = String> {
    // Few letters, so that prefixes and neighbours are met often; a slash and what sorts
    // around it; text beyond ASCII.
    proptest::collection::vec(prop_oneof!["a", "b", "/", "!", "0", "\u{ff}", "\u{10ffff}"], 1..6)
        .prop_map(|letters| letters.concat())
}

fn metadata() -> impl Strategy<Value = Vec<KeyValue>> {
    let entry = ("(ETag|a|b)", proptest::option::of("[a-f0-9]{0,34}"))
        .prop_map(|(key, value)| KeyValue { key, value });
    proptest::collection::vec(entry, 0..4)
}

fn keys() -> impl Strategy<Value = KeyInfo> {
    let numbers = (any::<u64>(), any::<u64>(), any::<u64>(), 1..=4i32);
    let options = (
        proptest::option::of(prop_oneof![Just(0), Just(1), Just(3)]),
        proptest::option::of(any::<bool>()),
        proptest::option::of("[a-z]{0,8}"),
        any::<bool>(),
        proptest::option::of(1..9i32),
    );
    (names(), numbers, options, metadata(), 0..3usize).prop_map(
        |(
            key_name,
            (data_size, creation_time, modification_time, kind),
            options,
            metadata,
            blocks,
        )| {
            let (factor, is_file, owner_name, encrypted, ec) = options;
            KeyInfo {
                volume_name: VOL.to_owned(),
                bucket_name: BUCKET.to_owned(),
                key_name,
                data_size,
                r#type: kind,
                factor,
                creation_time,
                modification_time,
                metadata,
                is_file,
                owner_name,
                ec_replication_config: ec.map(|data| EcReplicationConfig {
                    data,
                    parity: 2,
                    codec: "rs".to_owned(),
                    ec_chunk_size: 1 << 20,
                }),
                file_encryption_info: encrypted.then(|| {
                    Box::new(FileEncryptionInfoProto {
                        suite: CipherSuiteProto::AesCtrNopadding as i32,
                        crypto_protocol_version: CryptoProtocolVersionProto::EncryptionZones as i32,
                        ..Default::default()
                    })
                }),
                key_location_list: (0..blocks)
                    .map(|n| KeyLocationList {
                        key_locations: vec![location(n as i64, 5)],
                        ..Default::default()
                    })
                    .collect(),
                ..KeyInfo::default()
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn the_quick_reader_reads_what_the_full_decoder_reads(keys in proptest::collection::vec(keys(), 1..8)) {
        let mut om = Om::new();
        let mut rows: std::collections::BTreeMap<String, KeyInfo> = Default::default();
        for key in keys {
            om.tables.apply(namespace::Effect::Put {
                table: Table::KeyTable,
                key: format!("/{VOL}/{BUCKET}/{}", key.key_name).into_bytes(),
                value: prost::Message::encode_to_vec(&key).into(),
            });
            rows.insert(key.key_name.clone(), key);
        }
        // The harness compares the encoded form with the messages.
        let r = om.ok(list_keys_light(list("", "", 100))).list_keys_light_response.unwrap();
        let expected: Vec<BasicKeyInfo> = rows.values().map(basic).collect();
        prop_assert_eq!(r.basic_key_info, expected);
    }

    #[test]
    fn pages_put_together_are_the_sorted_keys_with_the_prefix(
        keys in proptest::collection::btree_set(names(), 0..40),
        prefix in prop_oneof![Just(String::new()), names()],
        start in prop_oneof![Just(String::new()), names()],
        count in 1..7i32,
    ) {
        let mut om = Om::new();
        for key in &keys {
            om.put(key, 1);
        }
        let expected: Vec<String> = keys
            .iter()
            .filter(|k| k.starts_with(&prefix) && k.as_str() > start.as_str())
            .cloned()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let mut seen = Vec::new();
        let mut after = start.clone();
        loop {
            let (names, truncated) = page(&mut om, list(&after, &prefix, count));
            prop_assert!(names.len() <= count as usize);
            prop_assert!(!truncated || names.len() == count as usize);
            after = names.last().cloned().unwrap_or(after);
            seen.extend(names);
            prop_assert!(seen.len() <= expected.len(), "a page repeats another");
            if !truncated {
                break;
            }
        }
        prop_assert_eq!(seen, expected);
    }
}

#[test]
fn a_damaged_row_is_an_error_and_not_a_gap() {
    let mut om = Om::new();
    om.tables.apply(namespace::Effect::Put {
        table: Table::KeyTable,
        key: b"/vol1/bucket1/k".to_vec(),
        value: vec![0x1a, 0x7f, 1].into(),
    });
    assert_eq!(om.refused(list_keys_light(list("", "", 1))), Status::InternalError);
    assert_eq!(om.refused(list_keys(list("", "", 1))), Status::InternalError);
}
