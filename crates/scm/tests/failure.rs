//! An SCM whose Raft group fails.

use testkit::until;

use crate::harness::{Harness, THREE};

#[tokio::test(flavor = "multi_thread")]
async fn an_scm_whose_group_panics_comes_back_and_forgets_nothing() {
    let h = Harness::start().await;
    let _nodes = h.datanodes(3).await;
    h.scm.ready_for(THREE).await;
    let mut containers = std::collections::BTreeSet::new();
    let mut locals = std::collections::BTreeSet::new();
    for _ in 0..3 {
        for block in h.allocate(700).await {
            let id = block.container_block_id.unwrap();
            assert!(locals.insert(id.local_id), "block id {} again", id.local_id);
            containers.insert(id.container_id);
        }
        let (raft, mut failures) = (h.scm.raft(), h.scm.raft().groups()[0].failures());
        raft.panic_group(raft.groups()[0].id());
        failures.wait_for(Option::is_some).await.unwrap();
        failures.wait_for(Option::is_none).await.unwrap();
        h.scm.ready_for(THREE).await;
        until("it leads", async || h.scm.leads()).await;
    }
    for id in containers {
        assert!(h.container(id).await.is_some(), "container {id} is lost");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_scm_whose_group_panics_again_and_again_stops_and_says_why() {
    let h = Harness::start().await;
    assert!(h.http_get("/health").await.starts_with("HTTP/1.1 200"));
    let raft = h.scm.raft().clone();
    let id = raft.groups()[0].id();
    let panics = async {
        loop {
            raft.panic_group(id);
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    let why = tokio::select! {
        why = h.scm.stopped() => why,
        () = panics => unreachable!(),
    };
    assert!(why.contains("failed permanently") && why.contains("a test asked for it"), "{why}");
    let health = h.http_get("/health").await;
    assert!(health.starts_with("HTTP/1.1 503") && health.contains(&why), "{health}");
}
