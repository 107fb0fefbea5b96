//! Multipart uploads.

use namespace::Table;
use proto::ozone::*;

use crate::harness::*;

const MB: u64 = 1 << 20;

pub fn start(om: &mut Om, key: &str) -> String {
    let r = om.ok(initiate(KeyArgs { metadata: vec![entry("m", "1")], ..args(BUCKET, key) }));
    r.initiate_multi_part_upload_response.unwrap().multipart_upload_id
}

pub fn of_upload(key: &str, upload: &str) -> KeyArgs {
    KeyArgs { multipart_upload_id: Some(upload.to_owned()), ..args(BUCKET, key) }
}

fn of_part(key: &str, upload: &str, number: u32) -> KeyArgs {
    KeyArgs {
        is_multipart_key: Some(true),
        multipart_number: Some(number),
        ..of_upload(key, upload)
    }
}

/// Writes a part of one block, but for the commit.
fn write(om: &mut Om, key: &str, upload: &str, number: u32, size: u64) -> (KeyArgs, u64) {
    let created = om.ok(create_key(of_part(key, upload, number))).create_key_response.unwrap();
    assert!(created.key_info.unwrap().key_location_list[0].key_locations.is_empty());
    let id = created.id.unwrap();
    let block = om.ok(allocate_block(of_part(key, upload, number), id));
    let block = block.allocate_block_response.unwrap().key_location.unwrap();
    let args = KeyArgs {
        data_size: Some(size),
        key_locations: vec![KeyLocation { length: size, ..block }],
        metadata: vec![entry("ETag", &format!("etag-{number}-{size}"))],
        ..of_part(key, upload, number)
    };
    (args, id)
}

pub fn put_part(om: &mut Om, key: &str, upload: &str, number: u32, size: u64) -> Part {
    let (args, id) = write(om, key, upload, number, size);
    let r = om.ok(commit_part(args, id)).commit_multi_part_upload_response.unwrap();
    assert_eq!(r.part_name.unwrap(), format!("/vol1/bucket1/{key}-{upload}-{number}"));
    Part { part_number: number, part_name: r.e_tag.clone().unwrap(), e_tag: r.e_tag }
}

#[test]
fn parts_become_one_key_in_their_order() {
    let mut om = Om::new();
    let upload = start(&mut om, "k");
    assert_eq!(om.rows(Table::MultipartInfoTable), [format!("/vol1/bucket1/k/{upload}")]);
    assert_eq!(om.rows(Table::OpenKeyTable), [format!("/vol1/bucket1/k/{upload}")]);
    let second = put_part(&mut om, "k", &upload, 2, 7);
    let first = put_part(&mut om, "k", &upload, 1, 5 * MB);
    let unused = put_part(&mut om, "k", &upload, 9, 11);
    assert_eq!(om.used(), (3 * (5 * MB + 7 + 11), 0, 0, 0));
    let done = KeyArgs { metadata: vec![entry("late", "2")], ..of_upload("k", &upload) };
    let r = om.ok(complete(done, vec![first, second]));
    let r = r.complete_multi_part_upload_response.unwrap();
    assert_eq!(r.key.as_deref(), Some("k"));

    let key = om.key("k").unwrap();
    assert_eq!(key.data_size, 5 * MB + 7);
    let list = &key.key_location_list[0];
    assert_eq!(list.is_multipart_key, Some(true));
    let blocks: Vec<_> = list.key_locations.iter().map(|l| (l.part_number, l.length)).collect();
    assert_eq!(blocks, [(Some(1), 5 * MB), (Some(2), 7)]);
    let e_tag = entry("ETag", r.hash.as_deref().unwrap());
    assert_eq!(key.metadata, [entry("m", "1"), entry("late", "2"), e_tag]);
    assert!(r.hash.unwrap().ends_with("-2"));
    assert_eq!(om.used(), (3 * (5 * MB + 7), 1, 0, 0));
    for table in [Table::MultipartInfoTable, Table::MultipartPartsTable, Table::OpenKeyTable] {
        assert!(om.rows(table).is_empty(), "{table:?}");
    }
    assert_eq!(om.deleted().len(), 1, "the unused part {unused:?}");

    // One part of it can be read alone.
    let part = KeyArgs { multipart_number: Some(2), ..args(BUCKET, "k") };
    let r = om.ok(get_key_info(part, false)).get_key_info_response.unwrap().key_info.unwrap();
    assert_eq!((r.data_size, r.key_location_list[0].key_locations.len()), (7, 1));
}

/// An upload with parts whose ETags are these.
fn tagged(om: &mut Om, key: &str, tags: &[&str]) -> (String, Vec<Part>) {
    let upload = start(om, key);
    let mut parts = Vec::new();
    for (number, tag) in (1..).zip(tags) {
        let (args, id) = write(om, key, &upload, number, 5 * MB);
        om.ok(commit_part(KeyArgs { metadata: vec![entry("ETag", tag)], ..args }, id));
        let e_tag = Some((*tag).to_owned());
        parts.push(Part { part_number: number, part_name: String::new(), e_tag });
    }
    (upload, parts)
}

#[test]
fn the_etag_of_a_multipart_key_is_made_of_digests_and_that_of_earlier_entries_of_their_text() {
    // MD5 of `a` and `b`; MD5 of both digests, of both texts.
    let tags = ["0cc175b9c0f1b6a831c399e269772661", "92eb5ffee6ae2fec3ad71c777531578f"];
    let (of_digests, of_text) =
        ("96e024ba2074fe77e8e965ba43a704be-2", "3bc22fb7aaebe9c8c5d7de312b876bb8-2");
    let mut om = Om::new();
    let (upload, parts) = tagged(&mut om, "k", &tags);
    let r = om.ok(complete(of_upload("k", &upload), parts));
    let told = r.complete_multi_part_upload_response.unwrap().hash;
    assert_eq!(told.as_deref(), Some(of_digests));
    assert!(om.key("k").unwrap().metadata.contains(&entry("ETag", of_digests)));

    // An entry of an earlier release does not specify how it is made.
    let (upload, parts) = tagged(&mut om, "before", &tags);
    let mut logged = om.prepared(complete(of_upload("before", &upload), parts)).unwrap();
    let request = logged.complete_multi_part_upload_request.as_mut().unwrap();
    request.e_tag_of_digests = None;
    let r = om.log_and_apply(logged);
    assert_eq!(r.complete_multi_part_upload_response.unwrap().hash.as_deref(), Some(of_text));

    // Ozone's clients may name parts otherwise; no client decides how the ETag is made.
    let (upload, parts) = tagged(&mut om, "other", &["etag1", "etag2"]);
    let mut request = complete(of_upload("other", &upload), parts);
    request.complete_multi_part_upload_request.as_mut().unwrap().e_tag_of_digests = Some(true);
    let r = om.ok(request).complete_multi_part_upload_response.unwrap();
    assert_eq!(r.hash.as_deref(), Some("3bc49bce88662304522584447d5520a1-2"));
}

#[test]
fn a_completed_upload_replaces_the_key() {
    let mut om = Om::new();
    om.put("k", 10);
    let old = om.key("k").unwrap();
    let upload = start(&mut om, "k");
    let part = put_part(&mut om, "k", &upload, 1, 4);
    om.ok(complete(of_upload("k", &upload), vec![part]));
    assert_eq!(om.key("k").unwrap().object_id, old.object_id);
    assert_eq!(om.used(), (12, 1, 30, 1));
    assert_eq!(om.deleted().remove(0).1, local_ids(&old));
    om.ok(purge(om.rows(Table::DeletedTable)));
    assert_eq!(om.used(), (12, 1, 0, 0));
}

#[test]
fn a_part_sent_again_replaces_the_first() {
    let mut om = Om::new();
    let upload = start(&mut om, "k");
    let first = put_part(&mut om, "k", &upload, 1, 10);
    let second = put_part(&mut om, "k", &upload, 1, 20);
    assert_eq!(om.used(), (60, 0, 0, 0));
    assert_eq!(om.deleted().len(), 1);
    let late = complete(of_upload("k", &upload), vec![first]);
    assert_eq!(om.refused(late), Status::InvalidPart);
    om.ok(complete(of_upload("k", &upload), vec![second]));
    assert_eq!(om.used(), (60, 1, 0, 0));
}

#[test]
fn completions_are_refused_by_the_rules() {
    let mut om = Om::new();
    let upload = start(&mut om, "k");
    let small = put_part(&mut om, "k", &upload, 1, 5 * MB - 1);
    let last = put_part(&mut om, "k", &upload, 2, 1);
    let wrong = Part { e_tag: Some("wrong".to_owned()), ..small.clone() };
    let absent = Part { part_number: 3, ..last.clone() };
    let before = om.tables.clone();
    for (parts, expected) in [
        (vec![], Status::InvalidRequest),
        (vec![last.clone(), small.clone()], Status::InvalidPartOrder),
        (vec![small.clone(), small.clone()], Status::InvalidPartOrder),
        (vec![wrong], Status::InvalidPart),
        (vec![small.clone(), absent], Status::InvalidPart),
        (vec![small.clone(), last.clone()], Status::EntityTooSmall),
    ] {
        assert_eq!(om.refused(complete(of_upload("k", &upload), parts)), expected);
    }
    let nowhere = complete(of_upload("k", "none"), vec![last.clone()]);
    assert_eq!(om.refused(nowhere), Status::NoSuchMultipartUploadError);
    assert_eq!(om.tables, before);
    om.settings.min_multipart_part_size = 0;
    om.ok(complete(of_upload("k", &upload), vec![small, last]));
}

#[test]
fn parts_are_named_by_part_name_too() {
    let mut om = Om::new();
    let upload = start(&mut om, "k");
    put_part(&mut om, "k", &upload, 1, 1);
    let named =
        Part { part_number: 1, part_name: format!("/vol1/bucket1/k-{upload}-1"), e_tag: None };
    om.ok(complete(of_upload("k", &upload), vec![named]));
}

#[test]
fn completions_can_be_conditional() {
    let mut om = Om::new();
    om.put("k", 1);
    let upload = start(&mut om, "k");
    let part = put_part(&mut om, "k", &upload, 1, 1);
    let new = KeyArgs { expected_data_generation: Some(0), ..of_upload("k", &upload) };
    assert_eq!(om.refused(complete(new.clone(), vec![part.clone()])), Status::KeyAlreadyExists);
    om.ok(delete_key(args(BUCKET, "k")));
    om.ok(complete(new, vec![part]));
}

#[test]
fn an_aborted_upload_gives_everything_back() {
    let mut om = Om::new();
    let upload = start(&mut om, "k");
    put_part(&mut om, "k", &upload, 1, 10);
    put_part(&mut om, "k", &upload, 2, 20);
    om.ok(abort(of_upload("k", &upload)));
    assert_eq!(om.used(), (0, 0, 0, 0));
    assert_eq!(om.deleted().len(), 2);
    for table in [Table::MultipartInfoTable, Table::MultipartPartsTable, Table::OpenKeyTable] {
        assert!(om.rows(table).is_empty(), "{table:?}");
    }
    let gone = Status::NoSuchMultipartUploadError;
    assert_eq!(om.refused(abort(of_upload("k", &upload))), gone);
    assert_eq!(om.refused(create_key(of_part("k", &upload, 1))), gone);
}

#[test]
fn a_part_committed_after_the_abort_leaves_only_garbage() {
    let mut om = Om::new();
    let upload = start(&mut om, "k");
    let (args, id) = write(&mut om, "k", &upload, 1, 10);
    om.ok(abort(of_upload("k", &upload)));
    let r = om.submit(commit_part(args, id));
    assert_eq!(status(&r), Status::NoSuchMultipartUploadError);
    assert_eq!(om.deleted().len(), 1);
    assert!(om.rows(Table::OpenKeyTable).is_empty());
    assert_eq!(om.used(), (0, 0, 0, 0));
}

#[test]
fn expired_uploads_are_aborted_once() {
    let mut om = Om::new();
    let uploads: Vec<String> = ["a", "b/c"].iter().map(|key| start(&mut om, key)).collect();
    put_part(&mut om, "a", &uploads[0], 1, 10);
    put_part(&mut om, "b/c", &uploads[1], 1, 10);
    let mut names = om.rows(Table::MultipartInfoTable);
    names.push(names[0].clone());
    names.push("/vol1/bucket1/gone/1".to_owned());
    let multipart_uploads =
        names.into_iter().map(|name| ExpiredMultipartUploadInfo { name }).collect();
    om.ok(OmRequest {
        multipart_uploads_expired_abort_request: Some(Box::new(
            MultipartUploadsExpiredAbortRequest {
                expired_multipart_uploads_per_bucket: vec![ExpiredMultipartUploadsBucket {
                    volume_name: VOL.to_owned(),
                    bucket_name: BUCKET.to_owned(),
                    multipart_uploads,
                }],
            },
        )),
        ..request(Type::AbortExpiredMultiPartUploads)
    });
    assert_eq!(om.used(), (0, 0, 0, 0));
    assert_eq!(om.deleted().len(), 2);
    assert!(om.rows(Table::MultipartInfoTable).is_empty());
}

/// A list of at most `max` parts with numbers above `marker`.
pub fn list_parts(key: &str, upload: &str, marker: u32, max: u32) -> OmRequest {
    OmRequest {
        list_multipart_upload_parts_request: Some(Box::new(MultipartUploadListPartsRequest {
            volume: VOL.to_owned(),
            bucket: BUCKET.to_owned(),
            key: key.to_owned(),
            upload_id: upload.to_owned(),
            part_numbermarker: Some(marker),
            max_parts: Some(max),
        })),
        ..request(Type::ListMultiPartUploadParts)
    }
}

#[test]
fn what_is_known_of_checksums_is_told_with_the_parts() {
    let mut om = Om::new();
    let (agreed, lie) = ("CRC32:FULL_OBJECT", "SHA1:COMPOSITE");
    let noted = |text| vec![entry("s3:upload-checksum", text)];
    let r = om.ok(initiate(KeyArgs { metadata: noted(agreed), ..args(BUCKET, "k") }));
    let upload = r.initiate_multi_part_upload_response.unwrap().multipart_upload_id;
    // The writer of a part gets the settings of the upload.
    let of_part = KeyArgs { metadata: noted(lie), ..of_part("k", &upload, 9) };
    let opened = om.ok(create_key(of_part)).create_key_response.unwrap();
    assert_eq!(opened.key_info.unwrap().metadata, noted(agreed));
    let long = format!("CRC32:{}", "A".repeat(1000));
    for (number, checksum) in [(1, Some("CRC32:y/Q5Jg==")), (2, None), (3, Some(&*long))] {
        let (mut args, id) = write(&mut om, "k", &upload, number, 1);
        args.metadata.extend(checksum.map(|checksum| entry("s3:checksum", checksum)));
        om.ok(commit_part(args, id));
    }
    let listed = om.ok(list_parts("k", &upload, 0, 10));
    let listed = listed.list_multipart_upload_parts_response.unwrap();
    assert_eq!(listed.checksum.as_deref(), Some(agreed));
    let told: Vec<_> = listed.parts_list.iter().map(|part| part.checksum.as_deref()).collect();
    assert_eq!(told, [Some("CRC32:y/Q5Jg=="), Some(""), Some("")]);

    let upload = start(&mut om, "without");
    let listed = om.ok(list_parts("without", &upload, 0, 10));
    assert_eq!(listed.list_multipart_upload_parts_response.unwrap().checksum, None);
}

#[test]
fn parts_are_listed_page_by_page() {
    let mut om = Om::new();
    let upload = start(&mut om, "k");
    for number in [3, 1, 10, 2] {
        put_part(&mut om, "k", &upload, number, u64::from(number));
    }
    let mut list = |marker, max| {
        let r = om.ok(list_parts("k", &upload, marker, max));
        let r = r.list_multipart_upload_parts_response.unwrap();
        let parts: Vec<_> = r.parts_list.iter().map(|p| (p.part_number, p.size)).collect();
        (parts, r.next_part_number_marker, r.is_truncated.unwrap())
    };
    assert_eq!(list(0, 2), (vec![(1, 1), (2, 2)], Some(2), true));
    assert_eq!(list(2, 2), (vec![(3, 3), (10, 10)], Some(10), false));
    assert_eq!(list(10, 2), (vec![], Some(10), false));
    assert_eq!(list(0, 100).0.len(), 4);
}

#[test]
fn a_part_number_outside_of_its_range_is_refused() {
    let mut om = Om::new();
    let upload = start(&mut om, "k");
    for number in [0, 10_001] {
        assert_eq!(om.refused(create_key(of_part("k", &upload, number))), Status::InvalidPart);
    }
}

#[test]
fn uploads_are_listed_by_key_and_not_by_row() {
    let mut om = Om::new();
    let mut expected = Vec::new();
    for key in ["a", "a!", "a/b", "a", "b", "ab", "a!"] {
        let upload = start(&mut om, key);
        expected.push((key.to_owned(), upload));
    }
    expected.sort();
    let mut list = |prefix: &str, key: &str, id: &str, max, paged| {
        let r = om.ok(OmRequest {
            list_multipart_uploads_request: Some(Box::new(ListMultipartUploadsRequest {
                volume: VOL.to_owned(),
                bucket: BUCKET.to_owned(),
                prefix: prefix.to_owned(),
                key_marker: Some(key.to_owned()),
                upload_id_marker: Some(id.to_owned()),
                max_uploads: Some(max),
                with_pagination: Some(paged),
            })),
            ..request(Type::ListMultipartUploads)
        });
        r.list_multipart_uploads_response.unwrap()
    };
    let names = |r: &ListMultipartUploadsResponse| -> Vec<(String, String)> {
        r.uploads_list.iter().map(|u| (u.key_name.clone(), u.upload_id.clone())).collect()
    };
    assert_eq!(names(&list("", "", "", 1, false)), expected, "without paging, all at once");
    for page in 1..=expected.len() {
        let (mut seen, mut key, mut id) = (Vec::new(), String::new(), String::new());
        loop {
            let r = list("", &key, &id, page as i32, true);
            seen.extend(names(&r));
            if r.is_truncated != Some(true) {
                break;
            }
            assert_eq!(r.uploads_list.len(), page);
            (key, id) = (r.next_key_marker.unwrap(), r.next_upload_id_marker.unwrap());
        }
        assert_eq!(seen, expected, "pages of {page}");
    }
    let with_prefix: Vec<_> =
        expected.iter().filter(|(key, _)| key.starts_with("a!")).cloned().collect();
    assert_eq!(names(&list("a!", "", "", 100, true)), with_prefix);
    let after: Vec<_> = expected.iter().filter(|(key, _)| key.as_str() > "a!").cloned().collect();
    assert_eq!(names(&list("", "a!", "", 100, true)), after);
}

#[test]
fn a_writer_whose_synced_key_an_upload_replaced_cannot_bring_it_back() {
    let mut om = Om::new();
    let (id, blocks) = om.open(BUCKET, "k", 1);
    let synced =
        KeyArgs { data_size: Some(1), key_locations: used(blocks.clone(), 1), ..args(BUCKET, "k") };
    om.ok(commit_key(synced, id, true));
    let upload = start(&mut om, "k");
    let part = put_part(&mut om, "k", &upload, 1, 7);
    om.ok(complete(of_upload("k", &upload), vec![part]));
    let late = commit(BUCKET, "k", id, 1, used(blocks, 1));
    assert_eq!(om.refused(late), Status::KeyNotFound);
    assert_eq!(om.key("k").map(|key| key.data_size), Some(7));
}

#[test]
fn an_upload_id_with_a_slash_names_no_upload_of_another_key() {
    let mut om = Om::new();
    let upload = start(&mut om, "a/b");
    let part = put_part(&mut om, "a/b", &upload, 1, 7);
    let alias = format!("b/{upload}");
    let before = om.tables.clone();
    let list = OmRequest {
        list_multipart_upload_parts_request: Some(Box::new(MultipartUploadListPartsRequest {
            volume: VOL.to_owned(),
            bucket: BUCKET.to_owned(),
            key: "a".to_owned(),
            upload_id: alias.clone(),
            part_numbermarker: None,
            max_parts: None,
        })),
        ..request(Type::ListMultiPartUploadParts)
    };
    for request in [
        create_key(of_part("a", &alias, 2)),
        commit_part(of_part("a", &alias, 1), 1),
        list,
        complete(of_upload("a", &alias), vec![part]),
        abort(of_upload("a", &alias)),
    ] {
        let command = request.cmd_type();
        assert_eq!(om.refused(request), Status::NoSuchMultipartUploadError, "{command:?}");
        assert!(om.tables == before, "{command:?} changes nothing");
    }
}

/// The completion makes directories again that went meanwhile, and counts them, only if it is done.
#[test]
fn a_completion_in_a_tree_that_fails_counts_nothing() {
    let mut om = Om::with_paths();
    let in_tree = |args: KeyArgs| KeyArgs { bucket_name: TREE.to_owned(), ..args };
    let begun = om.ok(initiate(args(TREE, "d/e/k"))).initiate_multi_part_upload_response;
    let upload = begun.unwrap().multipart_upload_id;
    let put = |om: &mut Om, number: u32, size: u64| {
        let of_part = in_tree(of_part("d/e/k", &upload, number));
        let id = om.ok(create_key(of_part.clone())).create_key_response.unwrap().id.unwrap();
        let block = om.ok(allocate_block(of_part.clone(), id)).allocate_block_response.unwrap();
        let args = KeyArgs {
            data_size: Some(size),
            key_locations: vec![KeyLocation { length: size, ..block.key_location.unwrap() }],
            metadata: vec![entry("ETag", &format!("etag-{number}-{size}"))],
            ..of_part
        };
        let r = om.ok(commit_part(args, id)).commit_multi_part_upload_response.unwrap();
        Part { part_number: number, part_name: r.e_tag.clone().unwrap(), e_tag: r.e_tag }
    };
    let old = put(&mut om, 1, 7);
    let of_upload = in_tree(of_upload("d/e/k", &upload));
    // The leader finds nothing wrong with it. Then the part is sent again, and the directories go.
    let prepared = om.prepared(complete(of_upload.clone(), vec![old])).unwrap();
    let new = put(&mut om, 1, 9);
    om.ok(delete_key(KeyArgs { recursive: Some(true), ..args(TREE, "d") }));
    assert!(om.rows(Table::DirectoryTable).iter().all(|row| !row.ends_with("/d")));
    let (tables, used) = (om.tables.clone(), om.used_in(TREE));
    for _ in 0..3 {
        let response = om.log_and_apply(prepared.clone());
        assert_eq!(status(&response), Status::InvalidPart);
        assert!(om.tables == tables, "nothing is changed");
        assert_eq!(om.used_in(TREE), used);
    }
    om.ok(complete(of_upload, vec![new]));
    assert_eq!(om.used_in(TREE).1, used.1 + 3, "two directories and the key");
}
