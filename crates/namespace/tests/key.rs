//! The life of a key: create, allocate, commit, look up, overwrite, delete, purge.

use namespace::{Effect, Table, View};
use proto::hdds::{ExcludeListProto, ReplicationFactor, ReplicationType};
use proto::ozone::*;

use crate::harness::*;

const MB: u64 = 1 << 20;
const BLOCK: u64 = 256 * MB;

#[test]
fn a_key_lives_from_create_to_commit() {
    let mut om = Om::new();
    let created = om
        .ok(create_key(KeyArgs {
            data_size: Some(10),
            metadata: vec![entry("a", "1"), entry("a", "2")],
            tags: vec![entry("t", "x")],
            ..args(BUCKET, "dir/key")
        }))
        .create_key_response
        .unwrap();
    let id = created.id.unwrap();
    assert_eq!(created.open_version, Some(0));
    assert_eq!(om.rows(Table::OpenKeyTable), [format!("/vol1/bucket1/dir/key/{id}")]);
    assert!(om.rows(Table::KeyTable).is_empty());
    let info = created.key_info.unwrap();
    let blocks = &info.key_location_list[0].key_locations;
    assert_eq!((blocks.len(), blocks[0].length, blocks[0].offset), (1, BLOCK, 0));
    assert!(blocks[0].pipeline.is_none(), "pipelines are not for the log or the tables");
    assert_eq!(info.r#type, ReplicationType::Ratis as i32);
    assert_eq!(info.factor, Some(ReplicationFactor::Three as i32));

    om.ok(commit(BUCKET, "dir/key", id, 10, used(blocks.clone(), 10)));
    assert!(om.rows(Table::OpenKeyTable).is_empty());
    assert!(om.rows(Table::DeletedTable).is_empty());
    let key = om.key("dir/key").unwrap();
    assert_eq!((key.data_size, key.key_name.as_str()), (10, "dir/key"));
    assert_eq!((key.object_id, key.update_id), (Some((2 << 62) | (3 << 8)), Some(4)));
    assert_eq!(key.metadata, [entry("a", "2")]);
    assert_eq!(key.tags, [entry("t", "x")]);
    assert_eq!(key.owner_name.as_deref(), Some(USER));
    assert_eq!(key.acls.len(), 2);
    assert_eq!(key.key_location_list.len(), 1);
    let block = &key.key_location_list[0].key_locations[0];
    assert_eq!((block.length, block.part_number), (10, Some(0)));
    assert_eq!(block.block_id.block_commit_sequence_id, Some(7));
    assert_eq!(om.used(), (30, 1, 0, 0));
}

#[test]
fn pipelines_that_a_client_sends_back_reach_neither_log_nor_tables() {
    let mut om = Om::new();
    let (id, _) = om.open(BUCKET, "k", 0);
    let block = om.ok(allocate_block(args(BUCKET, "k"), id));
    let mut block = block.allocate_block_response.unwrap().key_location.unwrap();
    block.pipeline = om.block(1).pipeline;
    block.token = Some(Box::default());
    block.length = 10;
    om.ok(commit(BUCKET, "k", id, 10, vec![block]));
    let logged = om.log.last().unwrap().1.commit_key_request.as_ref().unwrap();
    let stored = om.key("k").unwrap();
    for location in
        [&logged.key_args.key_locations[0], &stored.key_location_list[0].key_locations[0]]
    {
        assert!(location.pipeline.is_none() && location.token.is_none());
    }
}

#[test]
fn blocks_are_preallocated_by_size() {
    let mut om = Om::new();
    for (size, blocks) in
        [(0, 0), (1, 1), (BLOCK, 1), (BLOCK + 1, 2), (10 * BLOCK, 10), (1000 * BLOCK, 64)]
    {
        assert_eq!(om.open(BUCKET, "k", size).1.len(), blocks, "{size} bytes");
    }
}

#[test]
fn replication_is_the_keys_or_the_buckets_or_the_servers() {
    let mut om = Om::new();
    let one = KeyArgs {
        r#type: Some(ReplicationType::Ratis as i32),
        factor: Some(ReplicationFactor::One as i32),
        data_size: Some(5),
        ..args(BUCKET, "one")
    };
    let prepared = om.prepared(create_key(one.clone())).unwrap();
    assert_eq!(prepared.create_key_request.unwrap().key_args.factor, Some(1));
    let bad = KeyArgs { factor: Some(0), ..one };
    assert_eq!(om.refused(create_key(bad)), Status::InvalidRequest);
    let unset = KeyArgs { r#type: Some(ReplicationType::None as i32), ..args(BUCKET, "unset") };
    let prepared = om.prepared(create_key(unset)).unwrap();
    assert_eq!(prepared.create_key_request.unwrap().key_args.factor, Some(3));
}

#[test]
fn more_blocks_are_allocated_to_an_open_key() {
    let mut om = Om::new();
    let (id, first) = om.open(BUCKET, "k", 10);
    let mut request = allocate_block(args(BUCKET, "k"), id);
    let exclude = ExcludeListProto { container_ids: vec![9], ..Default::default() };
    request.allocate_block_request.as_mut().unwrap().exclude_list = Some(exclude);
    let prepared = om.prepared(request.clone()).unwrap();
    assert!(prepared.allocate_block_request.unwrap().exclude_list.is_none());
    let second = om.ok(request).allocate_block_response.unwrap().key_location.unwrap();
    assert_eq!(second.length, BLOCK);
    let blocks = vec![first[0].clone(), KeyLocation { length: 5, ..second }];
    om.ok(commit(BUCKET, "k", id, BLOCK + 5, blocks));
    assert_eq!(om.key("k").unwrap().key_location_list[0].key_locations.len(), 2);
    assert_eq!(om.refused(allocate_block(args(BUCKET, "k"), id)), Status::KeyNotFound);
}

#[test]
fn blocks_that_are_not_committed_go_to_the_deleted_table() {
    let mut om = Om::new();
    let (id, blocks) = om.open(BUCKET, "k", 3 * BLOCK);
    let ids: Vec<i64> = blocks.iter().map(|b| b.block_id.container_block_id.local_id).collect();
    om.ok(commit(BUCKET, "k", id, 10, used(blocks, 10)));
    let index = om.log.len() as i64;
    let row = format!("/vol1/bucket1/k/{}", i64::MIN | (index << 8));
    assert_eq!(om.deleted(), [(row.clone(), ids[1..].to_vec())]);
    let deleted: RepeatedKeyInfo = om.row(Table::DeletedTable, &row).unwrap();
    assert_eq!(deleted.bucket_id, om.bucket(BUCKET).object_id);
    assert!(deleted.key_info[0].metadata.is_empty(), "not a deleted key: nothing was used");
    assert_eq!(om.used(), (30, 1, 0, 0));
}

#[test]
fn a_foreign_block_is_refused() {
    let mut om = Om::new();
    let (id, _) = om.open(BUCKET, "k", 10);
    let foreign = vec![location(4711, 10)];
    assert_eq!(om.refused(commit(BUCKET, "k", id, 10, foreign)), Status::InvalidRequest);
    assert!(om.effects.is_empty());
}

#[test]
fn an_overwrite_keeps_the_object_and_discards_the_old_blocks() {
    let mut om = Om::new();
    om.put("k", 10);
    let old = om.key("k").unwrap();
    om.put("k", 20);
    let new = om.key("k").unwrap();
    assert_eq!(new.object_id, old.object_id);
    assert_eq!(new.creation_time, old.creation_time);
    assert!(new.modification_time > old.modification_time);
    assert_ne!(local_ids(&new), local_ids(&old));
    let row = format!("/vol1/bucket1/k/{}", i64::MIN | ((om.log.len() as i64) << 8));
    assert_eq!(om.deleted(), [(row.clone(), local_ids(&old))]);
    let deleted: RepeatedKeyInfo = om.row(Table::DeletedTable, &row).unwrap();
    assert_eq!(deleted.key_info[0].metadata, [entry("CKDEL", "true")]);
    assert_eq!(om.used(), (60, 1, 30, 1));
    om.ok(purge(om.rows(Table::DeletedTable)));
    assert_eq!(om.used(), (60, 1, 0, 0));
}

#[test]
fn a_deleted_key_waits_in_the_deleted_table_until_it_is_purged() {
    let mut om = Om::new();
    om.put("k", 10);
    om.put("empty", 0);
    let key = om.key("k").unwrap();
    om.ok(delete_key(args(BUCKET, "k")));
    let row = format!("/vol1/bucket1/k/{}", key.object_id.unwrap() as i64);
    assert_eq!(om.deleted(), [(row.clone(), local_ids(&key))]);
    assert_eq!(om.used(), (0, 1, 30, 1));
    om.ok(delete_key(args(BUCKET, "empty")));
    assert_eq!(om.rows(Table::DeletedTable), std::slice::from_ref(&row), "no blocks, no row");
    assert_eq!(om.used(), (0, 0, 30, 1));
    assert_eq!(om.refused(delete_key(args(BUCKET, "k"))), Status::KeyNotFound);
    om.ok(purge(vec![row]));
    assert!(om.rows(Table::DeletedTable).is_empty());
    assert_eq!(om.used(), (0, 0, 0, 0));
}

#[test]
fn a_purge_of_part_of_a_row_frees_that_part() {
    let mut om = Om::new();
    om.put("k", 10);
    om.ok(delete_key(args(BUCKET, "k")));
    let key = om.rows(Table::DeletedTable).remove(0);
    let row: RepeatedKeyInfo = om.row(Table::DeletedTable, &key).unwrap();
    let mut request = purge(vec![]);
    request.purge_keys_request.as_mut().unwrap().keys_to_update.push(SnapshotMoveKeyInfos {
        key: Some(key.clone()),
        key_infos: row.key_info.clone(),
        bucket_id: row.bucket_id,
    });
    om.ok(request);
    assert_eq!(om.used(), (0, 0, 30, 1), "nothing was taken out");
    assert_eq!(om.row::<RepeatedKeyInfo>(Table::DeletedTable, &key).unwrap(), row);
}

#[test]
fn a_purge_does_not_touch_the_counters_of_a_bucket_made_anew() {
    let mut om = Om::new();
    om.put("k", 10);
    om.ok(delete_key(args(BUCKET, "k")));
    om.ok(delete_bucket(BUCKET));
    om.ok(create_bucket(VOL, BUCKET));
    om.put("j", 10);
    om.ok(delete_key(args(BUCKET, "j")));
    let rows = om.rows(Table::DeletedTable);
    om.ok(purge(vec![rows.iter().find(|r| r.contains("/k/")).unwrap().clone()]));
    assert_eq!(om.used(), (0, 0, 30, 1));
}

#[test]
fn keys_are_looked_up() {
    let mut om = Om::new();
    om.put("k", 10);
    let looked = om.ok(lookup_key(args(BUCKET, "k"))).lookup_key_response.unwrap();
    assert_eq!(looked.key_info, om.key("k"));
    let got = om.ok(get_key_info(args(BUCKET, "k"), false)).get_key_info_response.unwrap();
    assert_eq!(got.key_info, om.key("k"));
    assert!(got.volume_info.is_none());
    assert_eq!(om.refused(lookup_key(args(BUCKET, "none"))), Status::KeyNotFound);
    assert_eq!(om.refused(lookup_key(args(BUCKET, ""))), Status::InvalidKeyName);
    assert_eq!(om.refused(lookup_key(args("none", "k"))), Status::BucketNotFound);
    let mut elsewhere = args(BUCKET, "k");
    elsewhere.volume_name = "none".to_owned();
    assert_eq!(om.refused(get_key_info(elsewhere.clone(), false)), Status::VolumeNotFound);

    om.settings.s3_volume = VOL.to_owned();
    let got = om.ok(get_key_info(elsewhere, true)).get_key_info_response.unwrap();
    assert_eq!(got.volume_info.unwrap().volume, VOL);
    assert_eq!(got.user_principal.as_deref(), Some(USER));
    assert_eq!(got.key_info, om.key("k"));
}

#[test]
fn commits_need_a_session_and_a_bucket() {
    let mut om = Om::new();
    assert_eq!(om.refused(commit(BUCKET, "k", 1, 0, vec![])), Status::KeyNotFound);
    assert_eq!(om.refused(create_key(args(BUCKET, ""))), Status::InvalidKeyName);
    assert_eq!(om.refused(create_key(args(BUCKET, ".snapshot/x"))), Status::InvalidKeyName);
    assert_eq!(om.refused(create_key(args("none", "k"))), Status::BucketNotFound);
    let (id, blocks) = om.open(BUCKET, "k", 1);
    om.ok(commit(BUCKET, "k", id, 1, used(blocks.clone(), 1)));
    let again = commit(BUCKET, "k", id, 1, used(blocks, 1));
    assert_eq!(om.refused(again), Status::KeyNotFound, "a session commits once");
}

#[test]
fn a_bucket_deleted_between_create_and_commit_refuses_the_commit() {
    let mut om = Om::new();
    let (id, blocks) = om.open(BUCKET, "k", 1);
    let entry = om.prepared(commit(BUCKET, "k", id, 1, used(blocks, 1))).unwrap();
    om.ok(delete_bucket(BUCKET));
    let r = om.log_and_apply(entry);
    assert_eq!(status(&r), Status::BucketNotFound);
    assert!(om.effects.is_empty());
}

#[test]
fn expected_generations_make_writes_conditional() {
    let mut om = Om::new();
    let expecting = |key: &str, generation| KeyArgs {
        expected_data_generation: Some(generation),
        ..args(BUCKET, key)
    };
    let open = |om: &mut Om, args: KeyArgs| {
        om.ok(create_key(args)).create_key_response.unwrap().id.unwrap()
    };
    // 0: there must be no such key, at the create and at the commit.
    let id = open(&mut om, expecting("k", 0));
    let other = open(&mut om, expecting("k", 0));
    om.ok(commit(BUCKET, "k", id, 0, vec![]));
    assert_eq!(om.refused(commit(BUCKET, "k", other, 0, vec![])), Status::KeyAlreadyExists);
    assert_eq!(om.refused(create_key(expecting("k", 0))), Status::KeyAlreadyExists);
    assert_eq!(om.key("k").unwrap().expected_data_generation, None);

    // n: the key must be the one that was read.
    let generation = om.key("k").unwrap().update_id.unwrap();
    assert_eq!(om.refused(create_key(expecting("k", generation + 1))), Status::KeyNotFound);
    assert_eq!(om.refused(create_key(expecting("none", generation))), Status::KeyNotFound);
    let first = open(&mut om, expecting("k", generation));
    let second = open(&mut om, expecting("k", generation));
    om.ok(commit(BUCKET, "k", first, 0, vec![]));
    assert_eq!(om.refused(commit(BUCKET, "k", second, 0, vec![])), Status::KeyNotFound);
}

#[test]
fn expected_etags_make_writes_and_deletes_conditional() {
    let mut om = Om::new();
    om.put("plain", 1);
    let (id, _) = om.open(BUCKET, "k", 0);
    let etag = KeyArgs { metadata: vec![entry("ETag", "abc")], ..args(BUCKET, "k") };
    om.ok(commit_key(etag, id, false));
    let expecting = |key: &str, tag: &str| KeyArgs {
        expected_e_tag: Some(tag.to_owned()),
        ..args(BUCKET, key)
    };
    assert_eq!(om.refused(create_key(expecting("k", "xyz"))), Status::EtagMismatch);
    assert_eq!(om.refused(create_key(expecting("plain", "xyz"))), Status::EtagNotAvailable);
    assert_eq!(om.refused(create_key(expecting("none", "xyz"))), Status::KeyNotFound);
    let first = om.ok(create_key(expecting("k", "abc"))).create_key_response.unwrap();
    let generation = om.key("k").unwrap().update_id;
    assert_eq!(first.key_info.unwrap().expected_data_generation, generation);
    om.put("k", 1);
    let late = commit(BUCKET, "k", first.id.unwrap(), 0, vec![]);
    assert_eq!(om.refused(late), Status::KeyNotFound, "the key was replaced meanwhile");

    let (id, _) = om.open(BUCKET, "k", 0);
    let etag = KeyArgs { metadata: vec![entry("ETag", "abc")], ..args(BUCKET, "k") };
    om.ok(commit_key(etag, id, false));
    assert_eq!(om.refused(delete_key(expecting("k", "xyz"))), Status::EtagMismatch);
    om.ok(delete_key(expecting("k", "abc")));
}

#[test]
fn a_space_quota_is_enforced_at_create_and_commit() {
    let mut om = Om::bare();
    om.settings.block_size = 100;
    om.ok(create_volume(VOL));
    om.ok(make_bucket(BucketInfo { quota_in_bytes: Some(300), ..bucket_info(VOL, BUCKET) }));
    let big = KeyArgs { data_size: Some(101), ..args(BUCKET, "k") };
    assert_eq!(om.refused(create_key(big)), Status::QuotaExceeded);
    // Announced small, grown too big.
    let (id, blocks) = om.open(BUCKET, "k", 50);
    let grown = commit(BUCKET, "k", id, 101, used(blocks.clone(), 101));
    assert_eq!(om.refused(grown), Status::QuotaExceeded);
    om.ok(commit(BUCKET, "k", id, 100, used(blocks, 100)));
    assert_eq!(om.used().0, 300);
    let one_more = allocate_block(args(BUCKET, "j"), 1);
    assert_eq!(om.refused(one_more), Status::KeyNotFound, "refused before any block is requested");
    assert_eq!(
        om.refused(create_key(KeyArgs { data_size: Some(1), ..args(BUCKET, "j") })),
        Status::QuotaExceeded
    );
    // Deleted bytes count until they are purged.
    om.ok(delete_key(args(BUCKET, "k")));
    assert_eq!(
        om.refused(create_key(KeyArgs { data_size: Some(1), ..args(BUCKET, "j") })),
        Status::QuotaExceeded
    );
    om.ok(purge(om.rows(Table::DeletedTable)));
    assert_eq!(status(&om.put("j", 100)), Status::Ok);
}

#[test]
fn a_full_namespace_quota_takes_neither_new_keys_nor_overwrites() {
    let mut om = Om::bare();
    om.ok(create_volume(VOL));
    om.ok(make_bucket(BucketInfo { quota_in_namespace: Some(1), ..bucket_info(VOL, BUCKET) }));
    let late = om.open(BUCKET, "late", 0).0;
    om.put("k", 0);
    assert_eq!(om.refused(create_key(args(BUCKET, "j"))), Status::QuotaExceeded);
    assert_eq!(om.refused(commit(BUCKET, "late", late, 0, vec![])), Status::QuotaExceeded);
    // As in Ozone: the old key would count in addition to the new one until it is purged.
    assert_eq!(om.refused(create_key(args(BUCKET, "k"))), Status::QuotaExceeded);
}

#[test]
fn a_synced_key_is_there_while_its_writer_goes_on() {
    let mut om = Om::new();
    let (id, blocks) = om.open(BUCKET, "k", 2 * BLOCK);
    let sync = |size: u64, blocks: Vec<KeyLocation>| {
        let args = KeyArgs { data_size: Some(size), key_locations: blocks, ..args(BUCKET, "k") };
        commit_key(args, id, true)
    };
    om.ok(sync(10, used(blocks.clone(), 10)));
    let synced = om.key("k").unwrap();
    assert_eq!(synced.metadata, [entry("hsyncClientId", &id.to_string())]);
    assert_eq!(om.rows(Table::OpenKeyTable).len(), 1);
    assert_eq!(om.used(), (30, 1, 0, 0));
    om.ok(sync(20, used(blocks.clone(), 20)));
    assert_eq!(om.used(), (60, 1, 0, 0));
    assert_eq!(om.refused(rename_key(args(BUCKET, "k"), "j")), Status::RenameOpenFile);
    om.ok(commit(BUCKET, "k", id, 30, used(blocks.clone(), 30)));
    assert!(om.key("k").unwrap().metadata.is_empty());
    assert!(om.rows(Table::OpenKeyTable).is_empty());
    assert_eq!(om.used(), (90, 1, 0, 0));
    let second = blocks[1].block_id.container_block_id.local_id;
    assert_eq!(om.deleted()[0].1, [second], "the block that was never used");
}

#[test]
fn a_writer_whose_synced_key_is_gone_cannot_commit() {
    for overwrite in [false, true] {
        let mut om = Om::new();
        let (id, blocks) = om.open(BUCKET, "k", 1);
        let key_locations = used(blocks.clone(), 1);
        let synced = KeyArgs { data_size: Some(1), key_locations, ..args(BUCKET, "k") };
        om.ok(commit_key(synced, id, true));
        if overwrite {
            om.put("k", 5);
        } else {
            om.ok(delete_key(args(BUCKET, "k")));
        }
        let late = commit(BUCKET, "k", id, 1, used(blocks, 1));
        assert_eq!(om.refused(late), Status::KeyNotFound);
    }
}

#[test]
fn abandoned_sessions_leave_only_their_blocks() {
    let mut om = Om::new();
    let (id, blocks) = om.open(BUCKET, "k", 1);
    om.open(BUCKET, "empty", 0);
    let sync_blocks = om.open(BUCKET, "synced", 2 * BLOCK);
    let key_locations = used(sync_blocks.1.clone(), 1);
    let synced = KeyArgs { data_size: Some(1), key_locations, ..args(BUCKET, "synced") };
    om.ok(commit_key(synced, sync_blocks.0, true));
    let keys = om.rows(Table::OpenKeyTable);
    let delete = OmRequest {
        delete_open_keys_request: Some(Box::new(DeleteOpenKeysRequest {
            open_keys_per_bucket: vec![OpenKeyBucket {
                volume_name: VOL.to_owned(),
                bucket_name: BUCKET.to_owned(),
                keys: keys
                    .into_iter()
                    .chain(["/vol1/bucket1/gone/1".to_owned()])
                    .map(|name| OpenKey { name, client_id: None })
                    .collect(),
            }],
            bucket_layout: None,
        })),
        ..request(Type::DeleteOpenKeys)
    };
    om.ok(delete);
    assert!(om.rows(Table::OpenKeyTable).is_empty());
    let deleted: Vec<Vec<i64>> = om.deleted().into_iter().map(|(_, blocks)| blocks).collect();
    let local = |b: &KeyLocation| b.block_id.container_block_id.local_id;
    assert_eq!(deleted, [vec![local(&blocks[0])], vec![local(&sync_blocks.1[1])]]);
    assert!(om.rows(Table::DeletedTable)[0].starts_with(&format!("/vol1/bucket1/k/{id}/-")));
    assert_eq!(om.used(), (3, 1, 0, 0));
}

/// Bytes that other readers of `om.db` see. A change here is a change of the format on disk.
#[test]
fn a_row_is_ozones_message() {
    let mut om = Om::new();
    om.put("k", 10);
    let row = om.tables.get(Table::KeyTable, b"/vol1/bucket1/k").unwrap().unwrap();
    let expected = [
        "0a04766f6c31",                     // 1 volumeName
        "12076275636b657431",               // 2 bucketName
        "1a016b",                           // 3 keyName
        "200a",                             // 4 dataSize
        "2801",                             // 5 type RATIS
        "3003",                             // 6 factor THREE
        "3a160800",                         // 7 keyLocationList: 1 version
        "1212",                             //   2 keyLocations
        "0a080a0408011001", //     1 blockID: 1 containerBlockID{1 containerID, 2 localID}
        "1007",             //              2 blockCommitSequenceId
        "1800200a28004800", //     3 offset, 4 length, 5 createVersion, 9 partNumber
        "40eb07",           // 8 creationTime
        "48ec07",           // 9 modificationTime
        "5000",             // 10 latestVersion
        "6a0c08011203616e6e1a01802000", // 13 acls: USER ann ALL ACCESS
        "6a0e0802120573746166661a01092000", // GROUP staff READ LIST ACCESS
        "7080868080808080808001", // 14 objectID
        "7804",             // 15 updateID
        "980101",           // 19 isFile
        "a20103616e6e",     // 20 ownerName
    ];
    assert_eq!(hex::encode(row), expected.concat());
}

#[test]
fn a_refused_write_has_no_effects() {
    let mut om = Om::new();
    let before = om.tables.clone();
    for request in [
        delete_key(args(BUCKET, "none")),
        rename_key(args(BUCKET, "none"), "x"),
        commit(BUCKET, "none", 3, 0, vec![]),
        delete_volume(VOL),
    ] {
        om.refused(request);
    }
    assert_eq!(om.tables, before);
    assert!(om.effects.iter().all(|e: &Effect| e.key().is_empty()));
}
