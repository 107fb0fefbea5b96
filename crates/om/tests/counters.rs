//! Counters of buckets equal the sums of their rows after any failure of OMs.

use std::sync::Arc;

use client::Client;
use proto::hdds::TransferLeadershipRequestProto;
use proto::ozone::*;

use crate::quota::Numbers;
use crate::support::requests::*;
use crate::support::service::{NODES, Service, ok};
use crate::support::{World, copy};

/// Bytes that the plain bucket may hold, over all replicas: fewer than its keys would have.
const QUOTA: i64 = 60_000;
/// Buckets: one whose keys are counted here, too, and one with uploads.
const BUCKETS: [&str; 2] = ["plain", "bkt"];

/// The answer when it is a success. Another OM may lead in the middle of a call, and other writers
/// take keys away.
async fn done(client: &Client, request: OmRequest) -> Option<OmResponse> {
    let answer = client.submit(request).await.ok()?;
    (answer.status() == Status::Ok).then_some(answer)
}

/// Opens a key or part, and gives it all of its bytes.
async fn open(client: &Client, mut args: KeyArgs) -> Option<(u64, KeyArgs)> {
    let created = done(client, create_key(args.clone())).await?.create_key_response?;
    let (session, size) = (created.id?, args.data_size?);
    if args.is_multipart_key == Some(true) {
        let allocated = done(client, allocate_block(args.clone(), session, None)).await?;
        let location = allocated.allocate_block_response?.key_location?;
        args.key_locations = vec![location];
    } else {
        let versions = created.key_info?.key_location_list;
        args.key_locations = versions.into_iter().flat_map(|v| v.key_locations).collect();
    }
    for location in &mut args.key_locations {
        location.length = size;
    }
    Some((session, args))
}

async fn put(client: &Client, bucket: &str, name: &str, size: u64) -> Option<()> {
    let (session, args) = open(client, key_args("vol", bucket, name, size)).await?;
    done(client, commit_key(args, session)).await.map(|_| ())
}

/// An upload of one part, which is completed, aborted or left.
async fn upload(client: &Client, name: &str, size: u64, end: u64) -> Option<()> {
    let initiate = MultipartInfoInitiateRequest { key_args: key_args("vol", "bkt", name, 0) };
    let initiate = OmRequest {
        initiate_multi_part_upload_request: Some(Box::new(initiate)),
        ..request(Type::InitiateMultiPartUpload)
    };
    let begun = done(client, initiate).await?.initiate_multi_part_upload_response?;
    let id = begun.multipart_upload_id;
    let of_upload = KeyArgs { multipart_upload_id: Some(id), ..key_args("vol", "bkt", name, size) };
    let part =
        KeyArgs { is_multipart_key: Some(true), multipart_number: Some(1), ..of_upload.clone() };
    let (session, mut args) = open(client, part).await?;
    let e_tag = proto::hdds::KeyValue { key: "ETag".to_owned(), value: Some("tag".to_owned()) };
    args.metadata.push(e_tag);
    let commit = MultipartCommitUploadPartRequest { key_args: args, client_id: session };
    let commit = OmRequest {
        commit_multi_part_upload_request: Some(Box::new(commit)),
        ..request(Type::CommitMultiPartUpload)
    };
    let part = done(client, commit).await?.commit_multi_part_upload_response?;
    let last = match end {
        0 => OmRequest {
            complete_multi_part_upload_request: Some(Box::new(MultipartUploadCompleteRequest {
                key_args: of_upload,
                parts_list: vec![Part {
                    part_number: 1,
                    part_name: part.part_name?,
                    e_tag: Some("tag".to_owned()),
                }],
                ..Default::default()
            })),
            ..request(Type::CompleteMultiPartUpload)
        },
        1 => OmRequest {
            abort_multi_part_upload_request: Some(Box::new(MultipartUploadAbortRequest {
                key_args: of_upload,
            })),
            ..request(Type::AbortMultiPartUpload)
        },
        _ => return Some(()),
    };
    done(client, last).await.map(|_| ())
}

async fn change(client: &Client, numbers: &mut Numbers) {
    let bucket = BUCKETS[numbers.below(2) as usize];
    let name = format!("k{}", numbers.below(8));
    let other = format!("k{}", numbers.below(8));
    let size = numbers.below(5_000);
    match numbers.below(8) {
        0..=3 => drop(put(client, bucket, &name, size).await),
        4 => drop(done(client, delete_key("vol", bucket, &name)).await),
        5 => drop(done(client, rename_key("vol", bucket, &name, &other)).await),
        _ => drop(upload(client, &name, size, numbers.below(3)).await),
    }
}

/// Compares the counters with a recount by OM itself, which must find nothing, and with the keys of
/// the plain bucket.
async fn check(client: &Client, when: &str) {
    let start = StartQuotaRepairRequest { buckets: Vec::new() };
    let start = OmRequest {
        start_quota_repair_request: Some(Box::new(start)),
        ..request(Type::StartQuotaRepair)
    };
    ok(client, start).await;
    let status = loop {
        let asked = OmRequest {
            get_quota_repair_status_request: Some(Box::default()),
            ..request(Type::GetQuotaRepairStatus)
        };
        let answer = ok(client, asked).await.get_quota_repair_status_response.unwrap();
        let status: serde_json::Value = serde_json::from_str(&answer.status.unwrap()).unwrap();
        if status["lastRunFinishedTime"] != "" {
            break status;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    };
    assert_eq!(status["errorMsg"], "", "{when}");
    assert_eq!(status["bucketCountDiffMap"], serde_json::json!({}), "{when}");

    let listed = ok(client, list_keys("vol", "plain", "", "", 1_000)).await;
    let keys = listed.list_keys_light_response.unwrap().basic_key_info;
    let bytes: u64 = keys.iter().map(|key| 3 * key.data_size.unwrap()).sum();
    let bucket = ok(client, info_bucket("vol", "plain")).await;
    let bucket = bucket.info_bucket_response.unwrap().bucket_info.unwrap();
    assert_eq!(bucket.used_namespace, Some(keys.len() as u64), "{when}");
    assert_eq!(bucket.used_bytes, Some(bytes), "{when}");
    assert!(bytes <= QUOTA as u64, "{when}: {bytes}");
}

async fn hand_over(service: &Service, n: usize) {
    let asked = TransferLeadershipRequestProto { new_leader_id: NODES[n].to_owned() };
    let transfer = OmRequest {
        transfer_om_leadership_request: Some(Box::new(asked)),
        ..request(Type::TransferLeadership)
    };
    let client = service.client();
    testkit::until("it takes over", async || {
        let _ = client.submit(transfer.clone()).await;
        service.om(n).is_leader()
    })
    .await;
}

/// Everything ends at once: only the current contents of files survive, of tables that were not
/// flushed for it, and the logs.
async fn end_all(service: &mut Service) {
    let images: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    for (n, image) in images.iter().enumerate() {
        copy(&service.dir(n), image.path());
    }
    for n in 0..3 {
        service.kill(n).await;
    }
    for (n, image) in images.iter().enumerate() {
        std::fs::remove_dir_all(service.dir(n)).unwrap();
        copy(image.path(), &service.dir(n));
        service.revive(n).await;
    }
    service.settled().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn counters_are_what_a_recount_says_after_crashes_and_changes_of_leader() {
    let mut service = Service::start(World::new().await).await;
    let client = Arc::new(service.client());
    ok(&client, create_volume("vol")).await;
    for bucket in BUCKETS {
        let mut create = create_bucket("vol", bucket);
        if bucket == "plain" {
            let info = &mut create.create_bucket_request.as_mut().unwrap().bucket_info;
            info.quota_in_bytes = Some(QUOTA);
        }
        ok(&client, create).await;
    }
    for round in 0..4_u64 {
        let writers: Vec<_> = (0..5)
            .map(|writer| {
                let client = Arc::clone(&client);
                tokio::spawn(async move {
                    let mut numbers = Numbers(100 * round + writer);
                    for _ in 0..25 {
                        change(&client, &mut numbers).await;
                    }
                })
            })
            .collect();
        // In the middle of it.
        let leader = service.leader().await;
        if round % 2 == 0 {
            service.kill(leader).await;
            service.leader().await;
            service.revive(leader).await;
        } else {
            hand_over(&service, (leader + 1) % 3).await;
        }
        for writer in writers {
            writer.await.unwrap();
        }
        service.settled().await;
        check(&client, &format!("round {round}, another OM leads")).await;
        end_all(&mut service).await;
        check(&client, &format!("round {round}, after the end of all")).await;
    }
    for (n, node) in NODES.iter().enumerate() {
        hand_over(&service, n).await;
        check(&client, node).await;
    }
    service.stop().await;
}
