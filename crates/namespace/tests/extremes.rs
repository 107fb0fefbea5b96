//! Requests with every number at its limits, fields that are missing and enum values that do not
//! exist: none of them panics, in `prepare`, in `apply` or in `read`, and behind any of them the
//! tables are read and written as before. The commands are all that the protocol has, so that a new
//! one is covered when it is declared.

use namespace::{Route, Table, View, route};
use proptest::prelude::*;
use prost::Message;
use proto::ozone::*;
use testkit::{Extremes, Field, Kind, Known, Schema};

use crate::harness::*;
use crate::multipart::{of_upload, put_part, start};

/// Numbers of all commands.
fn commands() -> &'static [i32] {
    Schema::get().values(".hadoop.ozone.Type")
}

fn plain(text: &str) -> String {
    text.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect()
}

/// The command's part of the request, by its name; `None` when it has another one.
fn part_of(command: i32) -> Option<u32> {
    let name = plain(&format!("{}Request", Type::try_from(command).ok()?.as_str_name()));
    let fields = Schema::get().message(".hadoop.ozone.OMRequest");
    fields.iter().find(|field| plain(&field.name) == name).map(|field| field.number)
}

/// A request of that command; its other parts are left out if its own one is known.
fn request_of(command: i32, extremes: &mut Extremes) -> OmRequest {
    let own = part_of(command);
    let decide = |field: &Field| match field.kind {
        Kind::Message(_) => Some(own.is_none_or(|own| own == field.number)),
        _ => None,
    };
    let with_parts = extremes.chance(97);
    let encoded = match with_parts {
        true => extremes.message_with(".hadoop.ozone.OMRequest", decide),
        false => Vec::new(),
    };
    let mut request = OmRequest::decode(encoded.as_slice()).unwrap();
    request.cmd_type = command;
    request
}

/// Opens sessions and uploads, and lets the requests to come name them.
fn open_sessions(om: &mut Om, extremes: &mut Extremes) {
    let text = |text: &str| Known::Text(text.to_owned());
    for field in ["volumeName", "volume", "volName"] {
        extremes.know(field, text(VOL));
    }
    for bucket in [BUCKET, TREE, LEGACY] {
        extremes.know("bucketName", text(bucket));
        for key in ["k", "dir/k"] {
            extremes.know("keyName", text(key));
            extremes.know("toKeyName", text(key));
            extremes.know("key", text(key));
            extremes.know("keys", text(key));
            extremes.know("path", text(&format!("/{VOL}/{bucket}/{key}")));
        }
    }
    let bucket = [BUCKET, TREE, LEGACY][extremes.below(3)];
    let key = ["k", "dir/k"][extremes.below(2)];
    let size = [0, 10, 1 << 30][extremes.below(3)];
    let created = om.submit(create_key(KeyArgs { data_size: Some(size), ..args(bucket, key) }));
    if let Some(created) = created.create_key_response {
        extremes.know("clientID", Known::Number(created.id.unwrap()));
        let info = created.key_info.unwrap();
        let mut key_locations = info.key_location_list[0].key_locations.clone();
        for location in &mut key_locations {
            location.length = extremes.number();
            extremes.know("keyLocations", Known::Message(location.encode_to_vec()));
        }
        let data_size = Some(extremes.number());
        let committed = KeyArgs { data_size, key_locations, ..args(bucket, key) };
        extremes.know("keyArgs", Known::Message(committed.encode_to_vec()));
    }
    let initiated = om.submit(initiate(args(bucket, key)));
    if let Some(upload) = initiated.initiate_multi_part_upload_response {
        let id = upload.multipart_upload_id;
        extremes.know("multipartUploadID", text(&id));
        let part = KeyArgs {
            is_multipart_key: Some(true),
            multipart_number: Some(1),
            data_size: Some(extremes.number()),
            bucket_name: bucket.to_owned(),
            ..of_upload(key, &id)
        };
        let opened = om.submit(create_key(part.clone()));
        if let Some(opened) = opened.create_key_response {
            let session = opened.id.unwrap();
            extremes.know("keyArgs", Known::Message(part.encode_to_vec()));
            extremes.know("clientID", Known::Number(session));
            if extremes.chance(50) {
                om.submit(commit_part(part, session));
            }
            let row = om
                .rows(Table::MultipartPartsTable)
                .pop()
                .and_then(|row| om.row::<MultipartPartInfo>(Table::MultipartPartsTable, &row));
            if let Some(part) = row {
                let named = Part {
                    part_number: part.part_number(),
                    part_name: part.part_name().to_owned(),
                    e_tag: part.e_tag,
                };
                extremes.know("partsList", Known::Message(named.encode_to_vec()));
            }
        }
    }
    for row in om.rows(Table::DeletedTable).into_iter().take(2) {
        extremes.know("keys", Known::Text(row));
    }
}

/// The server's way, and the way of an entry that another leader admitted.
fn submit(om: &mut Om, request: OmRequest, admitted: bool) {
    match route(&request) {
        Route::Read => drop(om.read(&request)),
        Route::Write if !admitted => drop(om.submit(request)),
        _ => drop(om.log_and_apply(request)),
    }
}

/// All commands of clients still work, in buckets without earlier errors.
fn still_works(om: &mut Om) {
    om.be("carol", "carols");
    let volume = "fresh-volume";
    let owned = VolumeInfo {
        admin_name: "carol".to_owned(),
        owner_name: "carol".to_owned(),
        volume: volume.to_owned(),
        ..VolumeInfo::default()
    };
    let create = CreateVolumeRequest { volume_info: owned };
    om.ok(OmRequest {
        create_volume_request: Some(Box::new(create)),
        ..request(Type::CreateVolume)
    });
    let layouts = [
        BucketLayoutProto::ObjectStore,
        BucketLayoutProto::FileSystemOptimized,
        BucketLayoutProto::Legacy,
    ];
    for (n, layout) in layouts.into_iter().enumerate() {
        let bucket = format!("fresh{n}");
        let layout = Some(layout as i32);
        om.ok(make_bucket(BucketInfo { bucket_layout: layout, ..bucket_info(volume, &bucket) }));
        let args = |key: &str, size: Option<u64>| KeyArgs {
            volume_name: volume.to_owned(),
            data_size: size,
            ..args(&bucket, key)
        };
        for size in [10, 20] {
            let created = om.ok(create_key(args("dir/key", Some(size))));
            let created = created.create_key_response.unwrap();
            let blocks = created.key_info.unwrap().key_location_list[0].key_locations.clone();
            let key_locations = used(blocks, size);
            let args = KeyArgs { key_locations, ..args("dir/key", Some(size)) };
            om.ok(commit_key(args, created.id.unwrap(), false));
        }
        let found = om.ok(lookup_key(args("dir/key", None))).lookup_key_response.unwrap();
        assert_eq!(found.key_info.unwrap().data_size, 20);
        let listed = om.ok(list_keys(ListKeysRequest {
            volume_name: volume.to_owned(),
            bucket_name: bucket.clone(),
            count: Some(10),
            ..ListKeysRequest::default()
        }));
        assert!(!listed.list_keys_response.unwrap().key_info.is_empty());
        let row: BucketInfo = om.row(Table::BucketTable, &format!("/{volume}/{bucket}")).unwrap();
        assert_eq!(row.used_bytes, Some(60));
        om.ok(delete_key(args("dir/key", None)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 0, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn no_request_panics_or_spoils_the_tables(seed in any::<u64>()) {
        let mut extremes = Extremes::new(seed);
        let mut om = Om::with_paths();
        for command in commands() {
            for _ in 0..2 {
                if extremes.chance(20) {
                    open_sessions(&mut om, &mut extremes);
                }
                let request = request_of(*command, &mut extremes);
                let admitted = extremes.chance(40);
                submit(&mut om, request, admitted);
            }
        }
        // Commands that this release does not know.
        for number in [-1, 0, 4_711, i32::MIN, i32::MAX] {
            let request = request_of(number, &mut extremes);
            om.log_and_apply(request);
        }
        still_works(&mut om);
    }
}

/// The sizes of every number of a committed key, one by one and together, admitted or not.
#[test]
fn sizes_at_their_limits_do_not_stop_later_commits() {
    for size in [0, 1, i64::MAX as u64, 1 << 63, u64::MAX - 1, u64::MAX] {
        for admitted in [false, true] {
            for bucket in [BUCKET, TREE, LEGACY] {
                let mut om = Om::with_paths();
                let (id, mut blocks) = om.open(bucket, "huge", 10);
                blocks.iter_mut().for_each(|block| block.length = size);
                submit(&mut om, commit(bucket, "huge", id, size, blocks), admitted);
                // Another key next to it, then over it, then all of it removed.
                for key in ["next", "huge", "next"] {
                    let put = om.put_in(bucket, key, 10);
                    assert_eq!(status(&put), Status::Ok, "{size} {admitted} {bucket} {key}");
                }
                om.ok(delete_key(args(bucket, "huge")));
                om.ok(delete_key(args(bucket, "next")));
            }
        }
    }
}

#[test]
fn a_size_that_cannot_be_is_refused_before_it_is_logged() {
    let mut om = Om::with_paths();
    let (id, blocks) = om.open(BUCKET, "huge", 10);
    for size in [1 << 63, u64::MAX] {
        let refused = om.refused(commit(BUCKET, "huge", id, size, used(blocks.clone(), 10)));
        assert_eq!(refused, Status::InvalidRequest);
        let mut long = blocks.clone();
        long.iter_mut().for_each(|block| block.length = size);
        assert_eq!(om.refused(commit(BUCKET, "huge", id, 10, long)), Status::InvalidRequest);
        let announced = KeyArgs { data_size: Some(size), ..args(BUCKET, "k") };
        assert_eq!(om.refused(create_key(announced)), Status::InvalidRequest);
    }
    om.ok(commit(BUCKET, "huge", id, 10, used(blocks, 10)));
}

#[test]
fn parts_whose_sizes_do_not_add_up_stop_no_upload() {
    for admitted in [false, true] {
        let mut om = Om::with_paths();
        let id = start(&mut om, "big");
        let mut parts = Vec::new();
        for number in 1..=3 {
            let part = KeyArgs {
                is_multipart_key: Some(true),
                multipart_number: Some(number),
                ..of_upload("big", &id)
            };
            let opened = om.ok(create_key(part.clone())).create_key_response.unwrap();
            let size = if admitted { u64::MAX } else { i64::MAX as u64 };
            let part = KeyArgs { data_size: Some(size), ..part };
            submit(&mut om, commit_part(part, opened.id.unwrap()), admitted);
            let row = om.rows(Table::MultipartPartsTable).pop().unwrap();
            let row: MultipartPartInfo = om.row(Table::MultipartPartsTable, &row).unwrap();
            let part_name = row.part_name().to_owned();
            parts.push(Part { part_number: number, part_name, e_tag: row.e_tag });
        }
        let _ = om.submit(complete(of_upload("big", &id), parts));
        let id = start(&mut om, "small");
        let part = put_part(&mut om, "small", &id, 1, 10);
        om.ok(complete(of_upload("small", &id), vec![part]));
        assert!(om.tables.get(Table::KeyTable, b"/vol1/bucket1/small").unwrap().is_some());
    }
}
