//! Counters of buckets, and their repair.

use std::sync::Arc;

use proto::ozone::*;

use crate::multipart::{initiate, part, upload_args};
use crate::support::requests::*;
use crate::support::{TestOm, World};

/// A generator of numbers that are the same in every run (splitmix64).
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % bound
    }
}

/// Repairs, and returns the differences.
async fn repair(om: &TestOm, buckets: &[&str]) -> serde_json::Value {
    let buckets = buckets.iter().map(|b| (*b).to_owned()).collect();
    let start = StartQuotaRepairRequest { buckets };
    om.ok(OmRequest {
        start_quota_repair_request: Some(Box::new(start)),
        ..request(Type::StartQuotaRepair)
    })
    .await;
    loop {
        let asked = OmRequest {
            get_quota_repair_status_request: Some(Box::default()),
            ..request(Type::GetQuotaRepairStatus)
        };
        let status = om.ok(asked).await.get_quota_repair_status_response.unwrap().status.unwrap();
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        if status["lastRunFinishedTime"] != "" {
            return status;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

async fn change(om: &TestOm, numbers: &mut Numbers) {
    let name = format!("k{}", numbers.below(12));
    let other = format!("k{}", numbers.below(12));
    match numbers.below(7) {
        // Others may have taken the key away meanwhile: refusals are fine, counters must be too.
        0..=2 => {
            om.put_any("vol", "bkt", &name, numbers.below(5_000)).await;
        }
        3 => {
            om.ask(delete_key("vol", "bkt", &name)).await;
        }
        4 => {
            om.ask(rename_key("vol", "bkt", &name, &other)).await;
        }
        5 => {
            let upload = initiate(om, &name).await;
            let part = part(om, &name, &upload, 1, numbers.below(5_000)).await;
            let complete = MultipartUploadCompleteRequest {
                key_args: upload_args(&name, &upload),
                parts_list: vec![part],
                ..Default::default()
            };
            om.ask(OmRequest {
                complete_multi_part_upload_request: Some(Box::new(complete)),
                ..request(Type::CompleteMultiPartUpload)
            })
            .await;
        }
        _ => {
            let upload = initiate(om, &name).await;
            part(om, &name, &upload, 1, numbers.below(5_000)).await;
            if numbers.below(2) == 0 {
                let abort = MultipartUploadAbortRequest { key_args: upload_args(&name, &upload) };
                om.ask(OmRequest {
                    abort_multi_part_upload_request: Some(Box::new(abort)),
                    ..request(Type::AbortMultiPartUpload)
                })
                .await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn counters_are_what_a_recount_says_after_and_amid_concurrent_changes() {
    let world = World::new().await;
    let om = Arc::new(world.start().await);
    om.bucket("vol", "bkt").await;
    let writers: Vec<_> = (0..6)
        .map(|seed| {
            let om = Arc::clone(&om);
            tokio::spawn(async move {
                let mut numbers = Numbers(seed);
                for _ in 0..60 {
                    change(&om, &mut numbers).await;
                }
            })
        })
        .collect();
    let amid = repair(&om, &["/vol/bkt"]).await;
    for writer in writers {
        writer.await.unwrap();
    }
    let after = repair(&om, &[]).await;
    for status in [amid, after] {
        assert_eq!(status["errorMsg"], "");
        assert_eq!(status["bucketCountDiffMap"], serde_json::json!({}), "nothing was wrong");
    }
    let bucket = om.bucket_info("vol", "bkt").await;
    let names = om.names("vol", "bkt", "").await;
    assert_eq!(bucket.used_namespace, Some(names.len() as u64));
    assert!(bucket.used_bytes.unwrap() > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repair_of_what_is_not_there_says_so() {
    let world = World::new().await;
    let om = world.start().await;
    let status = repair(&om, &["/vol/bkt"]).await;
    assert_eq!(status["errorMsg"], "/vol/bkt: Bucket not found: vol/bkt");
    om.handle.shutdown().await;
}
