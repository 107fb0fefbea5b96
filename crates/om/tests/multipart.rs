//! A multipart upload from its beginning to its key.

use proto::ozone::*;
use testkit::until;

use crate::support::requests::*;
use crate::support::{TestOm, World, blocks};

pub async fn initiate(om: &TestOm, key: &str) -> String {
    let initiate = MultipartInfoInitiateRequest { key_args: key_args("vol", "bkt", key, 0) };
    let answer = om
        .ok(OmRequest {
            initiate_multi_part_upload_request: Some(Box::new(initiate)),
            ..request(Type::InitiateMultiPartUpload)
        })
        .await;
    answer.initiate_multi_part_upload_response.unwrap().multipart_upload_id
}

/// Writes one part; its name and ETag.
pub async fn part(om: &TestOm, key: &str, upload: &str, number: u32, size: u64) -> Part {
    let mut args = key_args("vol", "bkt", key, size);
    args.is_multipart_key = Some(true);
    args.multipart_upload_id = Some(upload.to_owned());
    args.multipart_number = Some(number);
    let (session, mut args) = om.open(args).await;
    assert!(args.key_locations.is_empty(), "a part asks for its blocks");
    let allocated = om.ok(allocate_block(args.clone(), session, None)).await;
    let mut location = allocated.allocate_block_response.unwrap().key_location.unwrap();
    location.length = size;
    args.key_locations.push(location);
    let e_tag = format!("etag-{number}");
    args.metadata
        .push(proto::hdds::KeyValue { key: "ETag".to_owned(), value: Some(e_tag.clone()) });
    let commit = MultipartCommitUploadPartRequest { key_args: args, client_id: session };
    let answer = om
        .ok(OmRequest {
            commit_multi_part_upload_request: Some(Box::new(commit)),
            ..request(Type::CommitMultiPartUpload)
        })
        .await;
    let answer = answer.commit_multi_part_upload_response.unwrap();
    Part { part_number: number, part_name: answer.part_name.unwrap(), e_tag: Some(e_tag) }
}

pub fn upload_args(key: &str, upload: &str) -> KeyArgs {
    KeyArgs { multipart_upload_id: Some(upload.to_owned()), ..key_args("vol", "bkt", key, 0) }
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_become_one_key_in_their_order() {
    let world = World::new().await;
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    let upload = initiate(&om, "big").await;
    let second = part(&om, "big", &upload, 2, 7).await;
    let first = part(&om, "big", &upload, 1, 5 << 20).await;
    let listed = om.ok(list_parts("vol", "bkt", "big", &upload)).await;
    let listed = listed.list_multipart_upload_parts_response.unwrap().parts_list;
    assert_eq!(listed.iter().map(|p| p.part_number).collect::<Vec<_>>(), [1, 2]);
    let complete = MultipartUploadCompleteRequest {
        key_args: upload_args("big", &upload),
        parts_list: vec![first, second],
        ..Default::default()
    };
    om.ok(OmRequest {
        complete_multi_part_upload_request: Some(Box::new(complete)),
        ..request(Type::CompleteMultiPartUpload)
    })
    .await;
    let key = om.info("vol", "bkt", "big").await;
    assert_eq!(key.data_size, (5 << 20) + 7);
    let parts: Vec<(i32, u64)> = key.key_location_list[0]
        .key_locations
        .iter()
        .map(|l| (l.part_number(), l.length))
        .collect();
    assert_eq!(parts, [(1, 5 << 20), (2, 7)]);
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_of_an_aborted_upload_are_deleted() {
    let world = World::new().await;
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    let kept = om.put("vol", "bkt", "kept", 1).await;
    let upload = initiate(&om, "big").await;
    part(&om, "big", &upload, 1, 10).await;
    part(&om, "big", &upload, 2, 10).await;
    let abort = MultipartUploadAbortRequest { key_args: upload_args("big", &upload) };
    om.ok(OmRequest {
        abort_multi_part_upload_request: Some(Box::new(abort)),
        ..request(Type::AbortMultiPartUpload)
    })
    .await;
    until("both blocks are at SCM", async || world.scm.deleted_blocks.lock().unwrap().len() == 2)
        .await;
    assert!(!world.scm.deleted_blocks.lock().unwrap().contains(&blocks(&kept)[0]));
    assert_eq!(om.bucket_info("vol", "bkt").await.used_bytes, Some(3));
    om.handle.shutdown().await;
}
