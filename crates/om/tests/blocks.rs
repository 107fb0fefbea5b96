//! Blocks: the pool, exclude lists, places for reads, SCM away or in safe mode.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use proto::hdds;
use proto::ozone::{Status, Type};

use crate::support::requests::*;
use crate::support::{FakeScm, World, blocks};

#[tokio::test(flavor = "multi_thread")]
async fn blocks_come_from_a_pool_and_never_twice() {
    let world = World::new().await;
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    let mut seen = HashSet::new();
    for i in 0..300 {
        let key = om.put("vol", "bkt", &format!("k{i}"), 10).await;
        for block in blocks(&key) {
            assert!(seen.insert(block), "{block:?} was given twice");
        }
    }
    assert_eq!(seen.len(), 300);
    let calls = world.scm.allocate_calls.load(Ordering::Relaxed);
    assert!(calls <= 20, "{calls} calls to SCM for 300 blocks");
    assert_eq!(world.scm.locate_calls.load(Ordering::Relaxed), 0, "locations came with the blocks");
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_are_asked_of_an_scm_that_came_while_om_runs() {
    let world = World::new().await;
    let old = world.scm_server.local_addr();
    let world = world
        .with("ozone.scm.service.ids", "s")
        .with("ozone.scm.nodes.s", "scm1")
        .with("ozone.scm.client.address.s.scm1", old)
        .with("ozone.scm.block.client.address.s.scm1", old)
        .with("trioxide.om.block.pool.size", 1)
        .with("trioxide.om.scm.refresh.interval", "20ms");
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    let new = FakeScm::new("cluster-1");
    let endpoint = new.serve().await;
    let place = hdds::ScmPlaceProto {
        node_id: "scm2".to_owned(),
        client_address: endpoint.local_addr().to_string(),
        block_address: endpoint.local_addr().to_string(),
        datanode_address: "127.0.0.1:1".to_owned(),
    };
    let places = |index, scms| Some(hdds::ScmPlacesProto { index, scms });
    *new.places.lock().unwrap() = places(7, vec![place.clone()]);
    *world.scm.places.lock().unwrap() = places(7, vec![place]);
    let mut keys = 0..;
    testkit::until("a call to the new SCM", async || {
        // As soon as OM has received it.
        om.put("vol", "bkt", &format!("k{}", keys.next().unwrap()), 10).await;
        new.allocate_calls.load(Ordering::Relaxed) > 0
    })
    .await;
    world.scm.hangs.store(true, Ordering::Relaxed);
    for n in 0..20 {
        om.put("vol", "bkt", &format!("later{n}"), 10).await;
    }
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_key_gets_a_block_for_each_part_of_it() {
    let world = World::new().await;
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    let key = om.put("vol", "bkt", "big", 600 << 20).await;
    let lengths: Vec<u64> =
        key.key_location_list[0].key_locations.iter().map(|l| l.length).collect();
    assert_eq!(lengths, [256 << 20, 256 << 20, 88 << 20]);
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_client_excludes_is_neither_given_to_it_nor_kept_for_others() {
    let world = World::new().await;
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    om.put("vol", "bkt", "fills-the-pool", 10).await;
    let bad = world.scm.pipeline_ids()[0];
    let (session, args) = om.open(key_args("vol", "bkt", "k", 10)).await;
    let exclude = hdds::ExcludeListProto {
        pipeline_ids: vec![bad.to_wire()],
        ..hdds::ExcludeListProto::default()
    };
    let answer = om.ok(allocate_block(args, session, Some(exclude.clone()))).await;
    let location = answer.allocate_block_response.unwrap().key_location.unwrap();
    let given = types::PipelineId::from_wire(&location.pipeline.unwrap().id).unwrap();
    assert_ne!(given, bad);
    assert_eq!(world.scm.excludes.lock().unwrap().as_slice(), [exclude]);
    let before = world.scm.allocated.load(Ordering::Relaxed);
    // The rest of the pool avoids the pipeline, too, until OM calls SCM again.
    while world.scm.allocated.load(Ordering::Relaxed) == before {
        let (_, args) = om.open(key_args("vol", "bkt", "other", 10)).await;
        if world.scm.allocated.load(Ordering::Relaxed) > before {
            break;
        }
        let pipeline = args.key_locations[0].pipeline.as_ref().unwrap();
        assert_ne!(types::PipelineId::from_wire(&pipeline.id).unwrap(), bad);
    }
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn places_are_asked_once_and_again_when_the_client_says_so() {
    let world = World::new().await;
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    om.put("vol", "bkt", "k", 10).await;
    om.handle.shutdown().await;
    // A new process has no cached locations.
    let om = world.start().await;
    let asked = || world.scm.locate_calls.load(Ordering::Relaxed);
    om.info("vol", "bkt", "k").await;
    om.info("vol", "bkt", "k").await;
    assert_eq!(asked(), 1);
    let mut args = key_args("vol", "bkt", "k", 0);
    args.force_update_container_cache_from_scm = Some(true);
    om.ok(get_key_info(args)).await;
    assert_eq!(asked(), 2);
    let mut args = key_args("vol", "bkt", "k", 0);
    args.head_op = Some(true);
    args.force_update_container_cache_from_scm = Some(true);
    om.ok(get_key_info(args)).await;
    assert_eq!(asked(), 2, "attributes only need no locations");
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn safe_mode_is_told_as_such() {
    let world = World::new().await;
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    world.scm.safe_mode.store(true, Ordering::Relaxed);
    let create = || create_key(key_args("vol", "bkt", "k", 10));
    assert_eq!(om.refused(create()).await, Status::ScmInSafeMode);
    let mut ask = request(Type::SetSafeMode);
    let get = proto::ozone::SetSafeModeRequest { safe_mode: proto::ozone::SafeMode::Get as i32 };
    ask.set_safe_mode_request = Some(Box::new(get));
    let answer = om.ok(ask).await.set_safe_mode_response.unwrap();
    assert_eq!(answer.response, Some(true));
    world.scm.safe_mode.store(false, Ordering::Relaxed);
    om.ok(create()).await;
    om.handle.shutdown().await;
}

/// Clients try again later: it is no error of OM's.
#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_without_room_is_told_as_such() {
    let world = World::new().await.with("trioxide.om.block.pool.size", "1");
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    world.scm.is_full.store(true, Ordering::Relaxed);
    let create = || create_key(key_args("vol", "bkt", "k", 600 << 20));
    assert_eq!(om.refused(create()).await, Status::ScmGetPipelineException);
    world.scm.is_full.store(false, Ordering::Relaxed);
    om.ok(create()).await;
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_is_served_without_scm() {
    let mut world = World::new().await;
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    om.put("vol", "bkt", "k", 10).await;
    om.handle.shutdown().await;

    let nowhere = World::new().await;
    let old = std::mem::replace(&mut world.scm_server, nowhere.scm_server);
    old.shutdown().await;
    world.settings.push(("trioxide.om.scm.request.timeout", "500ms".to_owned()));
    world.settings.push(("ozone.scm.client.address", "127.0.0.1:1".to_owned()));
    world.settings.push(("ozone.scm.block.client.address", "127.0.0.1:1".to_owned()));
    let om = world.start().await;
    assert_eq!(om.names("vol", "bkt", "").await, ["k"]);
    let mut head = key_args("vol", "bkt", "k", 0);
    head.head_op = Some(true);
    om.ok(get_key_info(head)).await;
    om.put("vol", "bkt", "empty", 0).await;
    om.ok(rename_key("vol", "bkt", "k", "k2")).await;
    let read = get_key_info(key_args("vol", "bkt", "k2", 0));
    assert_eq!(om.refused(read).await, Status::ScmGetPipelineException);
    let write = create_key(key_args("vol", "bkt", "new", 10));
    let answer = om.try_ask(write, testkit::LIMIT).await.unwrap();
    assert_eq!(answer.status(), Status::InternalError);
    assert!(answer.message.unwrap().contains("not reachable"));
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_scm_that_hangs_is_left_as_soon_as_another_one_leads() {
    let world = World::new().await;
    let others = [FakeScm::new("cluster-1"), FakeScm::new("cluster-1")];
    let endpoints = [others[0].serve().await, others[1].serve().await];
    others.iter().for_each(|scm| scm.follows.store(true, Ordering::Relaxed));
    let addresses =
        [world.scm_server.local_addr(), endpoints[0].local_addr(), endpoints[1].local_addr()];
    let mut world = world
        .with("ozone.scm.service.ids", "scms")
        .with("ozone.scm.nodes.scms", "a,b,c")
        .with("trioxide.om.block.pool.size", "1");
    let names = [
        (
            "ozone.scm.address.scms.a",
            "ozone.scm.client.address.scms.a",
            "ozone.scm.block.client.address.scms.a",
        ),
        (
            "ozone.scm.address.scms.b",
            "ozone.scm.client.address.scms.b",
            "ozone.scm.block.client.address.scms.b",
        ),
        (
            "ozone.scm.address.scms.c",
            "ozone.scm.client.address.scms.c",
            "ozone.scm.block.client.address.scms.c",
        ),
    ];
    for ((host, client, block), address) in names.into_iter().zip(addresses) {
        world = world.with(host, "127.0.0.1").with(client, address).with(block, address);
    }
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    om.put("vol", "bkt", "before", 10).await;
    world.scm.hangs.store(true, Ordering::Relaxed);
    let election = async {
        world.scm.called_hanging.notified().await;
        others[1].follows.store(false, Ordering::Relaxed);
    };
    // More than any pool holds.
    let write = async {
        for i in 0..8 {
            om.put("vol", "bkt", &format!("k{i}"), 600 << 20).await;
        }
    };
    tokio::join!(write, election);
    // The first request still hangs.
    assert_eq!(world.scm.left_hanging.load(Ordering::Relaxed), 0);
    om.handle.shutdown().await;
}
