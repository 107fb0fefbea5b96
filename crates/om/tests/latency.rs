//! Time of requests by stage, as OM reports it.

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::Message;
use proto::method;
use proto::om_admin::{OmAdminCall, OmLatencyRequest, OmLatencyResponse, VerbLatency};

use crate::support::requests::*;
use crate::support::{TIMEOUT, TestOm, World};

async fn latencies(om: &TestOm, reset: bool) -> BTreeMap<String, VerbLatency> {
    let call = OmAdminCall {
        method: "latency".to_owned(),
        user: "ann".to_owned(),
        body: Bytes::from(OmLatencyRequest { reset: Some(reset) }.encode_to_vec()),
    };
    let call = Bytes::from(call.encode_to_vec());
    let reply = om.client.call(method::OM_ADMIN, call, Bytes::new(), TIMEOUT).await.unwrap();
    let answer = OmLatencyResponse::decode(reply.header).unwrap();
    answer.verbs.into_iter().map(|verb| (verb.verb.clone(), verb)).collect()
}

fn stages(verb: &VerbLatency) -> Vec<&str> {
    verb.stages.iter().map(|stage| stage.stage.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stages_of_each_verb_add_up_to_its_time() {
    let world = World::new().await.with("ozone.acl.enabled", true);
    let world = world.with("ozone.administrators", "ann");
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    for n in 0..5 {
        om.put("vol", "bkt", &format!("k{n}"), 10).await;
    }
    om.ask(list_keys("vol", "bkt", "", "", 1_000)).await;
    let told = latencies(&om, false).await;
    let create = &told["CreateKey"];
    assert_eq!(create.total.buckets.iter().sum::<u64>(), 5);
    assert_eq!(stages(create), ["queue", "auth", "prepare", "scm", "replicate", "apply", "answer"]);
    assert_eq!(
        stages(&told["CommitKey"]),
        ["queue", "auth", "prepare", "replicate", "apply", "answer"]
    );
    assert_eq!(stages(&told["GetKeyInfo"]), ["queue", "auth", "prepare", "scm", "answer"]);
    for verb in told.values() {
        let parts: u64 = verb.stages.iter().map(|stage| stage.sum_nanos).sum();
        assert_eq!(parts, verb.total.sum_nanos, "{}", verb.verb);
        assert!(verb.total.longest_nanos > 0 && verb.total.longest_nanos <= parts);
    }
    let text = om.handle.metrics().encode();
    let apply = "om_request_stage_seconds_count{verb=\"CreateKey\",stage=\"apply\"} 5";
    assert!(text.contains(apply), "no {apply} in {text}");
    let at_once = "om_admission_at_once_total{kind=\"write\"}";
    assert!(text.contains(at_once), "no {at_once} in {text}");
    latencies(&om, true).await;
    assert!(!latencies(&om, false).await.contains_key("CreateKey"), "a new period began");
    assert!(om.handle.metrics().encode().contains(apply), "the counters of Prometheus continue");
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stages_of_what_is_refused_and_of_oms_own_work_are_told() {
    let world = World::new().await;
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    om.refused(delete_key("vol", "bkt", "missing")).await;
    om.put("vol", "bkt", "k", 10).await;
    om.ok(delete_key("vol", "bkt", "k")).await;
    testkit::until("the key is purged", async || {
        om.handle.metrics().encode().contains("verb=\"PurgeKeys\",stage=\"apply\"")
    })
    .await;
    let told = latencies(&om, false).await;
    assert_eq!(told["DeleteKey"].total.buckets.iter().sum::<u64>(), 2);
    assert!(!stages(&told["DeleteKey"]).contains(&"auth"), "rights were not checked");
    om.handle.shutdown().await;
}
