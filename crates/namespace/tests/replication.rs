//! Replications that users may ask for.

use namespace::AllowedReplications;
use proto::hdds::{
    DefaultReplicationConfig, EcReplicationConfig, ReplicationFactor, ReplicationType,
};
use proto::ozone::*;

use crate::harness::*;

fn coding(data: i32, parity: i32) -> EcReplicationConfig {
    EcReplicationConfig { data, parity, codec: "rs".to_owned(), ec_chunk_size: 1 << 20 }
}

fn coded(bucket: &str, key: &str, coding: EcReplicationConfig) -> KeyArgs {
    KeyArgs {
        r#type: Some(ReplicationType::Ec as i32),
        ec_replication_config: Some(coding),
        ..args(bucket, key)
    }
}

fn default_of(coding: EcReplicationConfig) -> Option<DefaultReplicationConfig> {
    let kind = ReplicationType::Ec as i32;
    Some(DefaultReplicationConfig {
        r#type: kind,
        factor: None,
        ec_replication_config: Some(coding),
    })
}

fn bucket_of(name: &str, coding: EcReplicationConfig) -> OmRequest {
    let default_replication_config = default_of(coding);
    make_bucket(BucketInfo { default_replication_config, ..bucket_info(VOL, name) })
}

fn change(coding: EcReplicationConfig) -> OmRequest {
    set_bucket(BucketArgs {
        volume_name: VOL.to_owned(),
        bucket_name: BUCKET.to_owned(),
        default_replication_config: default_of(coding),
        ..BucketArgs::default()
    })
}

/// Whatever the client checked, OM decides.
#[test]
fn what_is_not_allowed_is_refused_wherever_it_is_asked_for() {
    let asking = |coding: EcReplicationConfig| {
        [
            bucket_of("coded", coding.clone()),
            change(coding.clone()),
            create_key(coded(BUCKET, "k", coding.clone())),
            create_file(coded(TREE, "d/f", coding.clone()), true, true),
            initiate(coded(BUCKET, "upload", coding)),
        ]
    };
    let mut om = Om::with_paths();
    for request in asking(coding(2, 1)) {
        let response = om.submit(request.clone());
        assert_eq!(status(&response), Status::InvalidRequest, "{:?}", request.cmd_type);
        let text = response.message.unwrap();
        assert!(text.starts_with("Invalid replication config: EC/2-1-1024k"), "{text}");
    }
    assert_eq!(om.refused(info_bucket("coded")), Status::BucketNotFound);
    assert_eq!(om.bucket(BUCKET).default_replication_config, None);
    for request in asking(coding(3, 2)) {
        om.ok(request);
    }
    let mut om = Om::with_paths();
    om.settings.allowed_replications = AllowedReplications::new(".*").unwrap();
    for request in asking(coding(2, 1)) {
        om.ok(request);
    }
}

/// A replication that was allowed at the creation of the bucket stays valid for its keys;
/// directories take no space.
#[test]
fn keys_that_ask_for_nothing_get_what_their_bucket_has() {
    let mut om = Om::with_paths();
    om.settings.allowed_replications = AllowedReplications::new(".*").unwrap();
    om.ok(bucket_of("coded", coding(2, 1)));
    om.settings.allowed_replications = AllowedReplications::new("RATIS/THREE").unwrap();
    let prepared = om.prepared(create_key(args("coded", "k"))).unwrap();
    let got = prepared.create_key_request.unwrap().key_args;
    assert_eq!(got.ec_replication_config, Some(coding(2, 1)));
    // A client that names it, and a rewrite of a key, ask for no other.
    om.ok(create_key(coded("coded", "named", coding(2, 1))));
    assert_eq!(om.refused(create_key(coded("coded", "k", coding(3, 2)))), Status::InvalidRequest);
    let one = |bucket, key| KeyArgs {
        r#type: Some(ReplicationType::Ratis as i32),
        factor: Some(ReplicationFactor::One as i32),
        ..args(bucket, key)
    };
    assert_eq!(om.refused(create_key(one(BUCKET, "k"))), Status::InvalidRequest);
    for bucket in [TREE, LEGACY] {
        om.ok(mkdir(one(bucket, "d")));
    }
}

/// A mover rewrites keys as they are; earlier keys keep their replication after a change of the
/// setting.
#[test]
fn a_rewrite_keeps_the_replication_that_its_key_has() {
    for bucket in [BUCKET, TREE] {
        let mut om = Om::with_paths();
        om.settings.allowed_replications = AllowedReplications::new(".*").unwrap();
        let opened = om.ok(create_key(coded(bucket, "k", coding(2, 1)))).create_key_response;
        om.ok(commit(bucket, "k", opened.unwrap().id.unwrap(), 0, vec![]));
        om.settings.allowed_replications = AllowedReplications::new("RATIS/THREE").unwrap();
        let found = om.ok(get_key_info(args(bucket, "k"), false)).get_key_info_response.unwrap();
        let generation = found.key_info.unwrap().update_id.unwrap();
        let rewrite = |key, generation, coding| {
            create_key(KeyArgs {
                expected_data_generation: Some(generation),
                ..coded(bucket, key, coding)
            })
        };
        om.ok(rewrite("k", generation, coding(2, 1)));
        for (key, generation, coding) in [
            ("k", generation, coding(3, 2)),
            ("k", generation + 1, coding(2, 1)),
            ("k", 0, coding(2, 1)),
            ("other", generation, coding(2, 1)),
            ("none/other", generation, coding(2, 1)),
        ] {
            let refused = om.refused(rewrite(key, generation, coding));
            assert_eq!(refused, Status::InvalidRequest, "{bucket} {key} {generation}");
        }
    }
}
