//! Unordered requests.

use ratis_wire::Done;
use ratis_wire::common::ReadRequestTypeProto;
use ratis_wire::common::raft_client_request_proto::Type;

use crate::support::{ALL_COMMITTED, Stream, request, start, text, watch, write};

#[tokio::test]
async fn each_is_answered_when_it_is_done() {
    let (address, group) = start().await;
    let mut stream = Stream::open_as(&address, false).await;
    stream.send(write(1, 0, "hold")).await;
    stream.send(watch(2, 0, 5, ALL_COMMITTED)).await;
    stream.send(request(3, 0, Type::Read(ReadRequestTypeProto::default()), "x")).await;
    assert_eq!(text(&stream.reply().await), (3, "read x".into()));
    group.reach([5, 5, 5]);
    assert_eq!(text(&stream.reply().await).0, 2);
    group.held(1).await;
    let held = group.held.lock().remove(0);
    held.send(Ok(Done { index: 6, message: "late".into() })).unwrap();
    stream.half_close();
    assert_eq!(text(&stream.reply().await), (1, "late".into()));
    assert!(stream.end().await.unwrap().is_none());
}
