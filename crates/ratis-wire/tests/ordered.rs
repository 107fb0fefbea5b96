//! Streams of ordered requests.

use std::sync::atomic::Ordering;
use std::time::Duration;

use ratis_wire::common::raft_client_reply_proto::ExceptionDetails;
use ratis_wire::{Done, Refusal};
use tonic::Code;
use uuid::Uuid;

use crate::support::{
    ALL_COMMITTED, CLIENT, GROUP, ME, Stream, first, in_group, start, start_with, text, watch,
    write,
};

#[tokio::test]
async fn a_connection_begins_with_a_watch_and_replies_name_everybody() {
    let (address, _group) = start().await;
    let mut stream = Stream::open(&address).await;
    stream.send(first(watch(1, 1, 0, 0))).await;
    let reply = stream.reply().await;
    let rpc = reply.rpc_reply.clone().unwrap();
    assert!(rpc.success);
    assert_eq!(rpc.requestor_id[..], *CLIENT.as_bytes());
    assert_eq!(rpc.reply_id, ME.to_string());
    assert_eq!(rpc.raft_group_id.unwrap().id[..], *GROUP.as_bytes());
    assert_eq!((rpc.call_id, reply.log_index), (1, 4));
    let servers: Vec<_> = reply.commit_infos.iter().map(|i| i.server.clone().unwrap().id).collect();
    assert_eq!(servers[2], Uuid::from_u128(3).to_string());
    stream.send(write(2, 2, "a")).await;
    let reply = stream.reply().await;
    assert_eq!((text(&reply), reply.log_index), ((2, "a".into()), 1));
}

#[tokio::test]
async fn requests_are_carried_out_and_answered_in_the_order_of_their_numbers() {
    let (address, group) = start().await;
    let mut stream = Stream::open(&address).await;
    stream.send(first(write(11, 5, "hold"))).await;
    for (call, seq) in [(14, 8), (13, 7), (13, 7), (12, 6), (11, 5)] {
        stream.send(write(call, seq, &format!("n{seq}"))).await;
    }
    stream.half_close();
    group.held(1).await;
    let held = group.held.lock().remove(0);
    held.send(Ok(Done { index: 1, message: "held".into() })).unwrap();
    let mut got = Vec::new();
    while let Some(reply) = stream.end().await.unwrap() {
        got.push(text(&reply));
    }
    let expected = [(11, "held"), (12, "n6"), (13, "n7"), (14, "n8")];
    assert_eq!(got, expected.map(|(call, text)| (call, text.to_owned())));
    assert_eq!(group.contents(), ["hold", "n6", "n7", "n8"]);
}

#[tokio::test]
async fn a_request_sent_again_on_another_stream_is_carried_out_once() {
    let (address, group) = start().await;
    let lost = Stream::open(&address).await;
    lost.send(first(write(1, 1, "hold"))).await;
    lost.send(write(2, 2, "b")).await;
    group.held(1).await;
    drop(lost);
    let mut stream = Stream::open(&address).await;
    stream.send(first(write(1, 1, "hold"))).await;
    stream.send(write(2, 2, "b")).await;
    stream.send(write(3, 3, "c")).await;
    let held = group.held.lock().remove(0);
    held.send(Ok(Done { index: 1, message: "once".into() })).unwrap();
    for expected in ["once", "b", "c"] {
        assert_eq!(text(&stream.reply().await).1, expected);
    }
    assert_eq!(group.contents().iter().filter(|c| *c == "hold").count(), 1);
    assert_eq!(group.contents().iter().filter(|c| *c == "b").count(), 1);
}

#[tokio::test]
async fn a_member_that_does_not_lead_names_the_leader() {
    let (address, group) = start().await;
    group.leads.store(false, Ordering::Relaxed);
    let mut stream = Stream::open(&address).await;
    stream.send(first(watch(1, 1, 0, 0))).await;
    stream.send(write(2, 2, "a")).await;
    for _ in 0..2 {
        let reply = stream.reply().await;
        assert!(!reply.rpc_reply.unwrap().success);
        let Some(ExceptionDetails::NotLeaderException(e)) = reply.exception_details else {
            panic!("wrong exception")
        };
        assert_eq!(e.suggested_leader.unwrap().id, Uuid::from_u128(2).to_string());
        assert_eq!(e.peers_in_conf[0].client_address, "h:2");
        assert_eq!(reply.commit_infos.len(), 3);
    }
    // The same call is executed again when this member is leader again.
    group.leads.store(true, Ordering::Relaxed);
    let mut stream = Stream::open(&address).await;
    stream.send(first(write(2, 2, "a"))).await;
    assert_eq!(text(&stream.reply().await), (2, "a".into()));
}

#[tokio::test]
async fn a_refused_command_is_an_exception_that_java_can_read() {
    let (address, group) = start().await;
    let mut stream = Stream::open(&address).await;
    stream.send(first(write(1, 1, "refuse"))).await;
    let Some(ExceptionDetails::StateMachineException(e)) = stream.reply().await.exception_details
    else {
        panic!("wrong exception")
    };
    assert_eq!(e.exception_class_name, "a.b.ContainerIsClosed");
    assert_eq!((e.error_msg.as_str(), e.stacktrace.len()), ("it is closed", 55));
    stream.send(write(2, 2, "hold")).await;
    group.held(1).await;
    let held = group.held.lock().remove(0);
    held.send(Err(Refusal::AlreadyClosed("gone".into()))).unwrap();
    let Some(ExceptionDetails::AlreadyClosedException(e)) = stream.reply().await.exception_details
    else {
        panic!("wrong exception")
    };
    assert_eq!(e.stacktrace.len(), 55);
}

#[tokio::test]
async fn a_group_that_is_not_here_ends_the_stream() {
    let (address, _group) = start().await;
    let mut stream = Stream::open(&address).await;
    stream.send(in_group(first(write(1, 1, "a")), Uuid::from_u128(5))).await;
    let status = stream.end().await.unwrap_err();
    assert_eq!(status.code(), Code::Internal);
    let class = status.metadata().get("exception-type").unwrap().to_str().unwrap();
    assert_eq!(class, "org.apache.ratis.protocol.exceptions.GroupMismatchException");
    // A stream belongs to one group.
    let mut stream = Stream::open(&address).await;
    stream.send(first(write(1, 1, "a"))).await;
    stream.reply().await;
    stream.send(in_group(write(2, 2, "a"), Uuid::from_u128(5))).await;
    assert_eq!(stream.end().await.unwrap_err().code(), Code::Internal);
}

#[tokio::test]
async fn nonsense_ends_the_stream() {
    let (address, group) = start().await;
    let mut no_client = first(write(1, 1, "a"));
    no_client.rpc_request.as_mut().unwrap().requestor_id = vec![0; 16].into();
    let mut no_place = write(1, 1, "a");
    no_place.rpc_request.as_mut().unwrap().sliding_window_entry = None;
    let mut no_type = first(write(1, 1, "a"));
    no_type.r#type = None;
    for nonsense in [no_client, no_place, no_type, Default::default()] {
        let mut stream = Stream::open(&address).await;
        stream.send(nonsense).await;
        assert_eq!(stream.end().await.unwrap_err().code(), Code::InvalidArgument);
    }
    assert!(group.contents().is_empty());
}

#[tokio::test]
async fn a_watch_waits_until_the_entry_has_come_so_far() {
    let (address, group) = start_with(Duration::from_secs(3600)).await;
    let mut stream = Stream::open(&address).await;
    stream.send(first(watch(1, 1, 5, ALL_COMMITTED))).await;
    group.reach([5, 5, 4]);
    group.reach([6, 5, 5]);
    let reply = stream.reply().await;
    assert!(reply.rpc_reply.unwrap().success);
    assert_eq!(reply.log_index, 5);
    assert!(reply.commit_infos.iter().all(|info| info.commit_index >= 5));
}

#[tokio::test]
async fn a_member_that_is_behind_is_named_when_a_watch_takes_too_long() {
    let (address, group) = start().await;
    let mut stream = Stream::open(&address).await;
    group.reach([9, 9, 5]);
    stream.send(first(watch(2, 1, 9, ALL_COMMITTED))).await;
    let reply = stream.reply().await;
    assert!(!reply.rpc_reply.unwrap().success);
    let Some(ExceptionDetails::NotReplicatedException(e)) = reply.exception_details else {
        panic!("wrong exception")
    };
    assert_eq!((e.call_id, e.replication, e.log_index), (2, ALL_COMMITTED, 9));
    let commits: Vec<u64> = reply.commit_infos.iter().map(|info| info.commit_index).collect();
    assert_eq!(commits, [9, 9, 5]);
}

#[tokio::test]
async fn a_server_that_stops_ends_the_streams_that_clients_keep() {
    let (address, group) = start().await;
    let mut stream = Stream::open(&address).await;
    stream.send(first(write(1, 1, "a"))).await;
    stream.send(write(2, 2, "hold")).await;
    assert_eq!(text(&stream.reply().await).0, 1);
    group.held(1).await;
    group.stopped.send_replace(true);
    assert_eq!(stream.end().await.unwrap_err().code(), Code::Unavailable);
}

#[tokio::test]
async fn nobody_waits_for_a_member_that_has_long_been_silent() {
    let (address, group) = start_with(Duration::from_secs(3600)).await;
    let mut stream = Stream::open(&address).await;
    group.reach([9, 9, 5]);
    group.progress.lock()[2].silent = Duration::from_secs(60);
    stream.send(first(watch(1, 1, 9, ALL_COMMITTED))).await;
    let reply = stream.reply().await;
    let Some(ExceptionDetails::NotReplicatedException(_)) = reply.exception_details else {
        panic!("wrong exception: {reply:?}")
    };
    // Reachable members are waited for.
    stream.send(watch(2, 2, 10, ALL_COMMITTED)).await;
    group.reach([10, 9, 5]);
    group.reach([10, 10, 10]);
    assert!(stream.reply().await.rpc_reply.unwrap().success);
}
