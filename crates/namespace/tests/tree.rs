//! Keys of FILE_SYSTEM_OPTIMIZED buckets.

use namespace::{Table, name_in_deleted};
use proto::ozone::ozone_obj::{ObjectType, StoreType};
use proto::ozone::*;

use crate::harness::*;

fn id(n: u64) -> i64 {
    ((2u64 << 62) | (n << 8)) as i64
}

fn tree(key: &str) -> KeyArgs {
    args(TREE, key)
}

/// The rows of a table without the ids of volume and bucket.
fn rows(om: &Om, table: Table) -> Vec<String> {
    let bucket = om.bucket(TREE).object_id.unwrap() as i64;
    let prefix = format!("/{}/{bucket}/", id(1));
    om.rows(table)
        .into_iter()
        .map(|row| {
            row.strip_prefix(&prefix)
                .map_or(row.clone(), |row| row.replace(&bucket.to_string(), "B"))
        })
        .collect()
}

fn is_directory(om: &mut Om, path: &str) -> Option<bool> {
    let r = om.submit(file_status(tree(path)));
    match status(&r) {
        Status::Ok => r.get_file_status_response.unwrap().status.is_directory,
        Status::FileNotFound => None,
        other => panic!("{other:?}"),
    }
}

/// One run of the deleting service.
pub fn purge_all_directories(om: &mut Om, most: usize) -> usize {
    let mut done = 0;
    for row in om.rows(Table::DeletedDirectoryTable) {
        let directory: KeyInfo = om.row(Table::DeletedDirectoryTable, &row).unwrap();
        let mut ids = row[1..].split('/').map(|id| id.parse::<i64>().unwrap_or_default() as u64);
        let (volume_id, bucket_id) = (ids.next().unwrap(), ids.next().unwrap());
        let parent = directory.object_id.unwrap();
        let below = format!("/{}/{}/{}/", volume_id as i64, bucket_id as i64, parent as i64);
        let child = |name: &str, object_id, is_file| KeyInfo {
            volume_name: directory.volume_name.clone(),
            bucket_name: directory.bucket_name.clone(),
            key_name: name_in_deleted(&directory.key_name, name),
            parent_id: Some(parent),
            object_id: Some(object_id),
            is_file: Some(is_file),
            ..KeyInfo::default()
        };
        let mut dirs = Vec::new();
        for row in om.rows(Table::DirectoryTable).iter().filter(|r| r.starts_with(&below)) {
            let info: DirectoryInfo = om.row(Table::DirectoryTable, row).unwrap();
            dirs.push(child(&info.name, info.object_id, false));
        }
        let mut files = Vec::new();
        for row in om.rows(Table::FileTable).iter().filter(|r| r.starts_with(&below)) {
            let info: KeyInfo = om.row(Table::FileTable, row).unwrap();
            files.push(child(&info.key_name, info.object_id.unwrap(), true));
        }
        let all = dirs.len() + files.len();
        dirs.truncate(most);
        files.truncate(most - dirs.len());
        let whole = dirs.len() + files.len() == all;
        om.ok(purge_directories(PurgeDirectoriesRequest {
            deleted_path: vec![PurgePathRequest {
                volume_id,
                bucket_id,
                deleted_dir: whole.then_some(row),
                deleted_sub_files: files,
                mark_deleted_sub_dirs: dirs,
            }],
            bucket_name_infos: vec![BucketNameInfo {
                volume_id: Some(volume_id),
                bucket_id: Some(bucket_id),
                volume_name: Some(directory.volume_name.clone()),
                bucket_name: Some(directory.bucket_name.clone()),
            }],
            ..PurgeDirectoriesRequest::default()
        }));
        done += 1;
    }
    done
}

#[test]
fn a_key_makes_the_directories_it_needs() {
    let mut om = Om::with_paths();
    let (session, blocks) = om.open(TREE, "/a//b/f", 300);
    let tx = om.log.len() as u64;
    assert_eq!(rows(&om, Table::DirectoryTable), [format!("{}/b", id(tx) + 1), "B/a".to_owned(),]);
    let open = format!("{}/f/{session}", id(tx) + 2);
    assert_eq!(rows(&om, Table::OpenFileTable), [open]);
    assert_eq!(om.used_in(TREE), (0, 2, 0, 0), "directories count as names");
    om.ok(commit(TREE, "a/b/f", session, 300, used(blocks, 300)));
    assert_eq!(rows(&om, Table::FileTable), [format!("{}/f", id(tx) + 2)]);
    assert!(rows(&om, Table::OpenFileTable).is_empty());
    assert_eq!(om.used_in(TREE), (900, 3, 0, 0));

    let row = om.rows(Table::FileTable).remove(0);
    let stored: KeyInfo = om.row(Table::FileTable, &row).unwrap();
    assert_eq!((stored.key_name.as_str(), stored.parent_id), ("f", Some((id(tx) + 2) as u64)));
    let found = om.ok(lookup_key(tree("a/b/f"))).lookup_key_response.unwrap().key_info.unwrap();
    assert_eq!((found.key_name.as_str(), found.data_size), ("a/b/f", 300));
    let info = om.ok(get_key_info(tree("a/b"), false)).get_key_info_response.unwrap();
    let info = info.key_info.unwrap();
    assert_eq!((info.key_name.as_str(), info.is_file), ("a/b/", Some(false)));
    assert_eq!(info.key_location_list.len(), 1, "Java's client needs a version, even an empty one");
    assert_eq!(om.refused(lookup_key(tree("a/x/f"))), Status::KeyNotFound);
    assert_eq!(om.refused(lookup_file(tree("a/b"))), Status::NotAFile);
    assert_eq!(om.refused(lookup_file(tree("a/c"))), Status::FileNotFound);
}

#[test]
fn a_name_is_a_file_or_a_directory() {
    let mut om = Om::with_paths();
    om.put_in(TREE, "d/f", 1);
    let cases = [
        (create_file(tree("d"), true, true), Status::NotAFile),
        (create_file(tree("d/f/g"), true, true), Status::NotAFile),
        (create_file(tree("d/f"), true, false), Status::FileAlreadyExists),
        (create_file(tree("x/y"), false, true), Status::DirectoryNotFound),
        (create_file(tree(""), true, true), Status::NotAFile),
        (create_file(tree("a/../b"), true, true), Status::InvalidKeyName),
        (create_key(tree("d")), Status::NotAFile),
        (create_key(tree("d/f/g/h")), Status::NotAFile),
        (mkdir(tree("d/f")), Status::FileAlreadyExists),
        (mkdir(tree("d/f/g")), Status::FileAlreadyExists),
        (mkdir(tree("/")), Status::CannotCreateDirectoryAtRoot),
    ];
    for (request, expected) in cases {
        assert_eq!(om.refused(request.clone()), expected, "{request:?}");
    }
    let r = om.submit(mkdir(tree("d")));
    assert_eq!((status(&r), r.success), (Status::DirectoryAlreadyExists, Some(true)));

    // A directory made while a file of its name is written: the file comes too late.
    let (session, blocks) = om.open(TREE, "late", 1);
    om.ok(mkdir(tree("late")));
    assert_eq!(om.refused(commit(TREE, "late", session, 1, used(blocks, 1))), Status::NotAFile);
    // The directory of an open file is deleted: so is the file.
    let (session, blocks) = om.open(TREE, "gone/f", 1);
    om.ok(delete_key(KeyArgs { recursive: Some(true), ..tree("gone") }));
    let r = om.refused(commit(TREE, "gone/f", session, 1, used(blocks, 1)));
    assert_eq!(r, Status::DirectoryNotFound);
}

#[test]
fn too_many_directories_for_one_transaction_are_refused() {
    let mut om = Om::with_paths();
    let deep = |n: usize| vec!["d"; n].join("/");
    assert_eq!(om.refused(mkdir(tree(&deep(257)))), Status::InvalidKeyName);
    om.ok(mkdir(tree(&deep(256))));
    assert_eq!(om.used_in(TREE).1, 256);
    assert_eq!(om.refused(mkdir(args(LEGACY, &deep(257)))), Status::InvalidKeyName);
    om.ok(mkdir(args(LEGACY, &deep(256))));
    assert_eq!(om.used_in(LEGACY).1, 256);
}

#[test]
fn a_directory_is_renamed_with_all_that_is_in_it_by_one_row() {
    let mut om = Om::with_paths();
    om.put_in(TREE, "a/b/f", 10);
    om.put_in(TREE, "a/b/g", 10);
    om.ok(mkdir(tree("c")));
    om.ok(rename_key(tree("a/b"), "c/d"));
    assert!(om.effects.len() <= 4, "{:?}", om.effects);
    assert_eq!(is_directory(&mut om, "a/b"), None);
    assert_eq!(is_directory(&mut om, "c/d"), Some(true));
    assert_eq!(is_directory(&mut om, "c/d/f"), Some(false));
    let now = om.now;
    let r = om.ok(file_status(tree("c"))).get_file_status_response.unwrap();
    assert!(now - r.status.key_info.unwrap().modification_time <= 4, "its parents are modified");

    om.put_in(TREE, "file", 10);
    let cases = [
        ("c", "c/d/e", Status::KeyRenameError),
        ("c", "c/e", Status::KeyRenameError),
        ("c", "c", Status::KeyAlreadyExists),
        ("c/d", "file", Status::KeyAlreadyExists),
        ("file", "x/file", Status::KeyRenameError),
        ("c/d", "file/d", Status::KeyRenameError),
        ("nothing", "x", Status::KeyNotFound),
        ("a/nothing", "x", Status::KeyNotFound),
        ("", "x", Status::InvalidKeyName),
        ("file", "", Status::InvalidKeyName),
    ];
    for (from, to, expected) in cases {
        assert_eq!(om.refused(rename_key(tree(from), to)), expected, "{from} to {to}");
    }
    om.ok(rename_key(tree("file"), "a/file2"));
    // Into a directory that is there, once.
    om.put_in(TREE, "other/file2", 10);
    let r = om.refused(rename_key(tree("other/file2"), "a"));
    assert_eq!(r, Status::KeyAlreadyExists);
    om.ok(rename_key(tree("other"), "a"));
    assert_eq!(is_directory(&mut om, "a/other/file2"), Some(false));
    let r = om.refused(rename_key(tree("a"), "a/other"));
    assert_eq!(r, Status::KeyRenameError);
    assert_eq!(is_directory(&mut om, "a/file2"), Some(false));
    // A name of which another is the beginning is not within it.
    om.ok(rename_key(tree("c"), "c2"));
    assert_eq!(is_directory(&mut om, "c2/d/g"), Some(false));
    assert_eq!(om.used_in(TREE), (120, 8, 0, 0));
}

#[test]
fn many_renames_see_each_other() {
    let mut om = Om::with_paths();
    om.put_in(TREE, "a/f", 1);
    let map = |from: &str, to: &str| RenameKeysMap {
        from_key_name: from.to_owned(),
        to_key_name: to.to_owned(),
    };
    let r = om.submit(OmRequest {
        rename_keys_request: Some(Box::new(RenameKeysRequest {
            rename_keys_args: RenameKeysArgs {
                volume_name: VOL.to_owned(),
                bucket_name: TREE.to_owned(),
                rename_keys_map: vec![map("a", "b"), map("a/f", "g"), map("b/f", "g")],
                refused: Vec::new(),
            },
        })),
        ..request(Type::RenameKeys)
    });
    assert_eq!(status(&r), Status::PartialRename);
    assert_eq!(r.rename_keys_response.unwrap().un_renamed_keys, [map("a/f", "g")]);
    assert_eq!(is_directory(&mut om, "g"), Some(false));
    assert_eq!(is_directory(&mut om, "b"), Some(true));
}

#[test]
fn a_deleted_directory_is_taken_apart_in_portions() {
    let mut om = Om::with_paths();
    for path in ["d/e/f", "d/e/g", "d/h", "keep"] {
        om.put_in(TREE, path, 10);
    }
    om.put_in(TREE, "d/empty", 0);
    assert_eq!(om.used_in(TREE), (120, 7, 0, 0));
    assert_eq!(om.refused(delete_key(tree("d"))), Status::DirectoryNotEmpty);
    om.ok(delete_key(KeyArgs { recursive: Some(true), ..tree("d") }));
    assert_eq!(om.effects.len(), 3, "two rows and the bucket");
    assert_eq!(is_directory(&mut om, "d"), None);
    assert_eq!(is_directory(&mut om, "d/e/f"), None);
    assert_eq!(om.used_in(TREE), (120, 6, 0, 0), "its children still count");
    assert_eq!(om.refused(delete_bucket(TREE)), Status::BucketNotEmpty, "there is `keep`");
    while purge_all_directories(&mut om, 1) > 0 {}
    assert_eq!(om.used_in(TREE), (30, 1, 90, 3));
    assert_eq!(rows(&om, Table::FileTable).len(), 1);
    assert!(rows(&om, Table::DirectoryTable).is_empty());
    let deleted: Vec<String> = om.deleted().into_iter().map(|(row, _)| row).collect();
    for path in ["d/e/f", "d/e/g", "d/h"] {
        let named = format!("/{VOL}/{TREE}/{path}/");
        assert!(deleted.iter().any(|row| row.starts_with(&named)), "{path} in {deleted:?}");
    }
    let all = om.rows(Table::DeletedTable);
    om.ok(purge(all));
    assert_eq!(om.used_in(TREE), (30, 1, 0, 0));
    om.ok(delete_key(tree("keep")));
    om.ok(delete_bucket(TREE));
}

#[test]
fn a_bucket_whose_directories_are_deleted_is_empty() {
    let mut om = Om::with_paths();
    for path in ["d/e/f", "d/g", "h/i"] {
        om.put_in(TREE, path, 10);
    }
    let of = |path: &str| KeyArgs { recursive: Some(true), ..tree(path) };
    om.ok(delete_key(of("d")));
    assert_eq!(om.refused(delete_bucket(TREE)), Status::BucketNotEmpty, "there is h");
    om.ok(delete_key(of("h")));
    let (open, _) = om.open(TREE, "j", 10);
    om.ok(delete_bucket(TREE));
    // Made again, it sees nothing of the old one, and loses nothing to it.
    om.ok(make_bucket(BucketInfo {
        bucket_layout: Some(BucketLayoutProto::FileSystemOptimized as i32),
        ..bucket_info(VOL, TREE)
    }));
    om.put_in(TREE, "d/e/f", 5);
    assert_eq!(om.refused(commit(TREE, "j", open, 0, Vec::new())), Status::KeyNotFound);
    while purge_all_directories(&mut om, 1) > 0 {}
    give_up_open_files(&mut om);
    for table in [Table::DeletedDirectoryTable, Table::OpenFileTable] {
        assert!(om.rows(table).is_empty());
    }
    assert_eq!(rows(&om, Table::FileTable).len(), 1, "of the new bucket");
    assert_eq!(rows(&om, Table::DirectoryTable).len(), 2);
    // Every block of the old one is garbage.
    let deleted = om.deleted();
    assert_eq!(deleted.iter().map(|(_, blocks)| blocks.len()).sum::<usize>(), 4);
    assert_eq!(om.used_in(TREE), (15, 3, 0, 0));
    let all = om.rows(Table::DeletedTable);
    om.ok(purge(all));
    assert_eq!(om.used_in(TREE), (15, 3, 0, 0));
    assert_eq!(is_directory(&mut om, "d/e/f"), Some(false));
}

#[test]
fn many_deletions_name_what_is_not_there() {
    let mut om = Om::with_paths();
    for path in ["a/f", "a/g", "b/f"] {
        om.put_in(TREE, path, 10);
    }
    let mut r = delete_keys(&["a/f", "a/f", "b", "x/y", "a/g"]);
    let names = &mut r.delete_keys_request.as_mut().unwrap().delete_keys;
    names.as_mut().unwrap().bucket_name = TREE.to_owned();
    let r = om.submit(r);
    assert_eq!(status(&r), Status::PartialDelete);
    let undeleted = r.delete_keys_response.unwrap().un_deleted_keys.unwrap().keys;
    assert_eq!(undeleted, ["a/f", "x/y"]);
    assert_eq!(om.used_in(TREE), (30, 2, 60, 2), "directory a and the file in the deleted b");
}

#[test]
fn a_synced_file_is_committed_and_open() {
    let mut om = Om::with_paths();
    let (session, blocks) = om.open(TREE, "d/f", 20);
    let sync =
        KeyArgs { data_size: Some(5), key_locations: used(blocks.clone(), 5), ..tree("d/f") };
    om.ok(commit_key(sync, session, true));
    assert_eq!(om.used_in(TREE), (15, 2, 0, 0));
    assert_eq!(om.refused(rename_key(tree("d/f"), "d/g")), Status::RenameOpenFile);
    om.ok(delete_key(tree("d/f")));
    let r = om.refused(commit(TREE, "d/f", session, 20, used(blocks, 20)));
    assert_eq!(r, Status::KeyNotFound, "it was deleted under its writer");
    assert_eq!(om.used_in(TREE), (0, 1, 15, 1));
}

#[test]
fn times_acls_and_tags_are_of_files_and_directories() {
    let mut om = Om::with_paths();
    om.put_in(TREE, "d/f", 1);
    let set = |path: &str, mtime: i64| OmRequest {
        set_times_request: Some(Box::new(SetTimesRequest {
            key_args: tree(path),
            mtime: mtime as u64,
            atime: 0,
        })),
        ..request(Type::SetTimes)
    };
    for path in ["d", "d/f"] {
        om.ok(set(path, 77));
        om.ok(set(path, -1));
        let r = om.ok(file_status(tree(path))).get_file_status_response.unwrap();
        assert_eq!(r.status.key_info.unwrap().modification_time, 77);
        assert_eq!(om.refused(set(path, -5)), Status::InvalidRequest);
    }
    assert_eq!(om.refused(set("d/x", 1)), Status::KeyNotFound);

    let obj = |path: &str| OzoneObj {
        res_type: ObjectType::Key as i32,
        store_type: StoreType::Ozone as i32,
        path: format!("/{VOL}/{TREE}/{path}"),
    };
    let bob = OzoneAclInfo {
        r#type: ozone_acl_info::OzoneAclType::User as i32,
        name: "bob".to_owned(),
        rights: bytes(&[1]),
        acl_scope: ozone_acl_info::OzoneAclScope::Default as i32,
    };
    for path in ["d", "d/f"] {
        om.ok(OmRequest {
            add_acl_request: Some(Box::new(AddAclRequest {
                obj: obj(path),
                acl: bob.clone(),
                modification_time: None,
            })),
            ..request(Type::AddAcl)
        });
        let r = om.ok(OmRequest {
            get_acl_request: Some(Box::new(GetAclRequest { obj: obj(path) })),
            ..request(Type::GetAcl)
        });
        assert!(r.get_acl_response.unwrap().acls.contains(&bob), "{path}");
    }
    // The inherited ACLs of the directory apply to new entries in it.
    om.put_in(TREE, "d/sub/new", 1);
    let acls = |om: &mut Om, path: &str| {
        let r = om.ok(file_status(tree(path))).get_file_status_response.unwrap();
        r.status.key_info.unwrap().acls
    };
    assert!(acls(&mut om, "d/sub").contains(&bob));
    let own = OzoneAclInfo { acl_scope: ozone_acl_info::OzoneAclScope::Access as i32, ..bob };
    assert!(acls(&mut om, "d/sub/new").contains(&own));

    om.ok(OmRequest {
        put_object_tagging_request: Some(Box::new(PutObjectTaggingRequest {
            key_args: KeyArgs { tags: vec![entry("a", "b")], ..tree("d/f") },
        })),
        ..request(Type::PutObjectTagging)
    });
    let key = om.rows(Table::FileTable).into_iter().find(|key| key.ends_with("/f")).unwrap();
    let row: KeyInfo = om.row(Table::FileTable, &key).unwrap();
    assert_eq!((row.tags.len(), row.key_name.as_str()), (1, "f"));
}

fn bytes(bits: &'static [u8]) -> prost::bytes::Bytes {
    prost::bytes::Bytes::from_static(bits)
}

#[test]
fn parts_of_an_upload_survive_the_move_of_their_directory() {
    let mut om = Om::with_paths();
    om.settings.min_multipart_part_size = 0;
    let r = om.ok(initiate(tree("d/big"))).initiate_multi_part_upload_response.unwrap();
    let upload = r.multipart_upload_id;
    assert_eq!(om.rows(Table::MultipartInfoTable), [format!("/{VOL}/{TREE}/d/big/{upload}")]);
    assert_eq!(rows(&om, Table::OpenFileTable).len(), 1);
    om.ok(rename_key(tree("d"), "moved"));
    let of_part = |number| KeyArgs {
        is_multipart_key: Some(true),
        multipart_upload_id: Some(upload.clone()),
        multipart_number: Some(number),
        ..tree("d/big")
    };
    let mut parts = Vec::new();
    for number in 1..=2 {
        let created = om.ok(create_key(of_part(number))).create_key_response.unwrap();
        let session = created.id.unwrap();
        let tag = format!("tag{number}");
        let args =
            KeyArgs { data_size: Some(0), metadata: vec![entry("ETag", &tag)], ..of_part(number) };
        let r = om.ok(commit_part(args, session)).commit_multi_part_upload_response.unwrap();
        parts.push(Part { part_number: number, part_name: r.part_name.unwrap(), e_tag: r.e_tag });
    }
    let listed = om.ok(OmRequest {
        list_multipart_uploads_request: Some(Box::new(ListMultipartUploadsRequest {
            volume: VOL.to_owned(),
            bucket: TREE.to_owned(),
            ..Default::default()
        })),
        ..request(Type::ListMultipartUploads)
    });
    let listed = listed.list_multipart_uploads_response.unwrap().uploads_list;
    assert_eq!(listed[0].key_name, "d/big");
    let of_upload = KeyArgs { multipart_upload_id: Some(upload), ..tree("d/big") };
    om.ok(complete(of_upload, parts));
    assert_eq!(is_directory(&mut om, "d/big"), Some(false), "its directory was recreated");
    assert!(om.rows(Table::OpenFileTable).is_empty());
    assert!(om.rows(Table::MultipartInfoTable).is_empty());
    assert_eq!(om.used_in(TREE).1, 3);
    // And an abort leaves nothing.
    let r = om.ok(initiate(tree("x/y"))).initiate_multi_part_upload_response.unwrap();
    let upload = KeyArgs { multipart_upload_id: Some(r.multipart_upload_id), ..tree("x/y") };
    om.ok(abort(upload));
    assert!(om.rows(Table::OpenFileTable).is_empty());
}

fn give_up_open_files(om: &mut Om) {
    let keys =
        om.rows(Table::OpenFileTable).into_iter().map(|name| OpenKey { name, client_id: None });
    let keys = keys.collect();
    om.ok(OmRequest {
        delete_open_keys_request: Some(Box::new(DeleteOpenKeysRequest {
            open_keys_per_bucket: vec![OpenKeyBucket {
                volume_name: VOL.to_owned(),
                bucket_name: TREE.to_owned(),
                keys,
            }],
            bucket_layout: Some(BucketLayoutProto::FileSystemOptimized as i32),
        })),
        ..request(Type::DeleteOpenKeys)
    });
}

#[test]
fn a_synced_file_that_is_given_up_is_closed_as_it_is() {
    let mut om = Om::with_paths();
    let (session, blocks) = om.open(TREE, "d/f", 10);
    let more = om.ok(allocate_block(tree("d/f"), session)).allocate_block_response.unwrap();
    let synced = used(blocks.clone(), 4);
    om.ok(commit_key(
        KeyArgs { data_size: Some(4), key_locations: synced, ..tree("d/f") },
        session,
        true,
    ));
    om.ok(rename_key(tree("d"), "moved"));
    let used = om.used_in(TREE);
    give_up_open_files(&mut om);
    assert!(om.rows(Table::OpenFileTable).is_empty());
    let row = om.rows(Table::FileTable).remove(0);
    let file: KeyInfo = om.row(Table::FileTable, &row).unwrap();
    assert_eq!((file.data_size, file.metadata.len()), (4, 0));
    assert_eq!(local_ids(&file), [location_id(&blocks[0])]);
    let left_over = location_id(&more.key_location.unwrap());
    assert_eq!(om.deleted().into_iter().flat_map(|(_, ids)| ids).collect::<Vec<_>>(), [left_over]);
    assert_eq!(om.used_in(TREE), used);
}

fn location_id(location: &KeyLocation) -> i64 {
    location.block_id.container_block_id.local_id
}

#[test]
fn open_files_that_nobody_commits_are_given_up() {
    let mut om = Om::with_paths();
    om.open(TREE, "d/f", 10);
    om.ok(initiate(tree("d/upload")));
    give_up_open_files(&mut om);
    assert_eq!(om.rows(Table::OpenFileTable).len(), 1, "the upload's own row stays");
    assert_eq!(om.deleted().len(), 1);
}

#[test]
fn an_object_store_bucket_has_no_directories() {
    let mut om = Om::with_paths();
    let list = ListStatusRequest {
        key_args: args(BUCKET, ""),
        num_entries: 10,
        ..ListStatusRequest::default()
    };
    for request in [
        mkdir(args(BUCKET, "d")),
        create_file(args(BUCKET, "f"), true, true),
        file_status(args(BUCKET, "f")),
        lookup_file(args(BUCKET, "f")),
        list_status(list.clone()),
        list_status_light(list),
    ] {
        assert_eq!(om.refused(request), Status::NotSupportedOperation);
    }
}
