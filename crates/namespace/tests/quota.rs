//! Recounts and repairs of a bucket's counters.

use namespace::{Bucket, Effect, recount};
use proto::ozone::*;

use crate::harness::*;

fn repair(count: BucketQuotaCount) -> OmRequest {
    let r = QuotaRepairRequest { bucket_count: vec![count], support_volume_old_quota: false };
    OmRequest { quota_repair_request: Some(Box::new(r)), ..request(Type::QuotaRepair) }
}

/// With keys, an upload under way, and an open key that counts nothing.
fn filled() -> Om {
    let mut om = Om::new();
    om.put("a", 10);
    om.put("b/c", 20);
    om.put("a", 15);
    om.put_in(BUCKET, "empty", 0);
    om.open(BUCKET, "open", 99);
    let upload = om.ok(initiate(args(BUCKET, "big")));
    let upload_id = upload.initiate_multi_part_upload_response.unwrap().multipart_upload_id;
    let part = KeyArgs {
        is_multipart_key: Some(true),
        multipart_upload_id: Some(upload_id),
        multipart_number: Some(1),
        ..args(BUCKET, "big")
    };
    let id = om.ok(create_key(part.clone())).create_key_response.unwrap().id.unwrap();
    let given = om.ok(allocate_block(part.clone(), id)).allocate_block_response.unwrap();
    let key_locations = used(vec![given.key_location.unwrap()], 7);
    om.ok(commit_part(KeyArgs { data_size: Some(7), key_locations, ..part }, id));
    om
}

#[test]
fn a_recount_finds_nothing_where_nothing_is_wrong() {
    let om = filled();
    assert_eq!((om.used().0, om.used().1), (3 * (15 + 20 + 7), 3));
    let count = recount(&om.tables, VOL, BUCKET).unwrap().unwrap();
    assert_eq!((count.diff_used_bytes, count.diff_used_namespace), (0, 0));
}

#[test]
fn wrong_counters_are_put_right_with_what_happened_meanwhile() {
    let mut om = filled();
    let right = om.used();
    for (bytes, names) in [(0, 0), (1_000_000, 77)] {
        let mut bucket = Bucket::new(om.bucket(BUCKET));
        (bucket.used_bytes, bucket.used_namespace) = (bytes, names);
        om.tables.apply(Effect::PutBucket { key: b"/vol1/bucket1".to_vec(), bucket });
        let count = recount(&om.tables, VOL, BUCKET).unwrap().unwrap();
        om.put("meanwhile", 1);
        om.ok(repair(count));
        om.ok(delete_key(args(BUCKET, "meanwhile")));
        assert_eq!((om.used().0, om.used().1), (right.0, right.1));
    }
}

#[test]
fn links_have_no_counters_and_what_is_gone_is_not_repaired() {
    let mut om = Om::new();
    let mut link = bucket_info(VOL, "link");
    link.source_volume = Some(VOL.to_owned());
    link.source_bucket = Some(BUCKET.to_owned());
    om.ok(make_bucket(link));
    assert!(recount(&om.tables, VOL, "link").unwrap().is_none());
    assert!(recount(&om.tables, VOL, "none").is_err());
    let gone = BucketQuotaCount {
        vol_name: VOL.to_owned(),
        bucket_name: "none".to_owned(),
        diff_used_bytes: 5,
        diff_used_namespace: 5,
        support_old_quota: false,
    };
    om.ok(repair(gone));
    assert!(om.rows(namespace::Table::BucketTable).iter().all(|row| !row.ends_with("/none")));
}
