//! The Hadoop RPC endpoint, on the port of the framed one.

use bytes::Bytes;
use hadoop_rpc::{Attempt, Client, ClientOptions, ErrorCode, Identity};
use prost::Message;
use proto::ozone::*;

use crate::support::requests::*;
use crate::support::{TIMEOUT, TestOm, World};

const PROTOCOL: &str = "org.apache.hadoop.ozone.om.protocol.OzoneManagerProtocol";

fn client(om: &TestOm, identity: &Identity) -> Client {
    let (address, options) = (om.handle.addresses().framed, ClientOptions::default());
    Client::new(address.to_string(), (PROTOCOL, 1), "alice", identity.clone(), options)
}

async fn send(client: &Client, attempt: Attempt, request: &OmRequest) -> OmResponse {
    let request = Bytes::from(request.encode_to_vec());
    let answer = client.send(attempt, "submitRequest", request, TIMEOUT).await.unwrap();
    OmResponse::decode(answer).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_those_of_the_connections_user() {
    let world = World::new().await;
    let om = world.start().await;
    let identity = Identity::random();
    let hadoop = client(&om, &identity);
    let mut create = create_volume("vol");
    create.create_volume_request.as_mut().unwrap().volume_info.owner_name = String::new();
    assert_eq!(send(&hadoop, identity.attempt(), &create).await.status(), Status::Ok);
    let info = InfoVolumeRequest { volume_name: "vol".to_owned() };
    let info = OmRequest { info_volume_request: Some(Box::new(info)), ..request(Type::InfoVolume) };
    let framed = om.ok(info.clone()).await;
    assert_eq!(
        framed,
        send(&hadoop, identity.attempt(), &info).await,
        "both endpoints, one dispatcher"
    );
    assert_eq!(framed.info_volume_response.unwrap().volume_info.unwrap().owner_name, "alice");
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_comes_again_is_answered_and_not_repeated() {
    let world = World::new().await;
    let om = world.start().await;
    let identity = Identity::random();
    let create = create_volume("vol");
    let attempt = identity.attempt();
    let first = send(&client(&om, &identity), attempt, &create).await;
    let again = send(&client(&om, &identity), attempt.again(), &create).await;
    assert_eq!((first.status(), &again), (Status::Ok, &first));
    let another = send(&client(&om, &identity), identity.attempt(), &create).await;
    assert_eq!(another.status(), Status::VolumeAlreadyExists);
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_comes_again_after_a_crash_gets_the_first_answer() {
    let world = World::new().await;
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    let identity = Identity::random();
    let create = create_key(key_args("vol", "bkt", "k", 10));
    let (opened, deleted) = (identity.attempt(), identity.attempt());
    let first = send(&client(&om, &identity), opened, &create).await;
    assert_eq!(first.status(), Status::Ok);
    om.put("vol", "bkt", "gone", 1).await;
    let delete = delete_key("vol", "bkt", "gone");
    assert_eq!(send(&client(&om, &identity), deleted, &delete).await.status(), Status::Ok);
    let image = world.crash_image();
    om.handle.shutdown().await;

    let om = world.start_in(image.path()).await;
    let hadoop = client(&om, &identity);
    // The same session and blocks, with where they are; deleted, and not "no such key".
    let mut again = send(&hadoop, opened.again(), &create).await;
    assert!(again.written_at >= first.written_at, "a reader from there sees the write");
    again.written_at = first.written_at;
    assert_eq!(again, first);
    assert_eq!(send(&hadoop, deleted.again(), &delete).await.status(), Status::Ok);
    assert_eq!(send(&hadoop, identity.attempt(), &delete).await.status(), Status::KeyNotFound);
    let stranger = Identity::random();
    let other = send(&client(&om, &stranger), stranger.attempt(), &create).await;
    assert_ne!(other.create_key_response.unwrap().id, first.create_key_response.unwrap().id);
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_answered_is_an_exception_that_clients_know() {
    let world = World::new().await;
    let om = world.start().await;
    let hadoop = client(&om, &Identity::random());
    let junk = Bytes::from_static(&[0xff; 40]);
    let refused = hadoop.call("submitRequest", junk, TIMEOUT).await.unwrap_err();
    let class = refused.fault().unwrap().exception.full_name("-");
    assert_eq!(class, "com.google.protobuf.InvalidProtocolBufferException");
    let refused = hadoop.call("bootstrap", Bytes::new(), TIMEOUT).await.unwrap_err();
    let fault = refused.fault().unwrap();
    assert_eq!(fault.code, ErrorCode::NoSuchMethod);
    let class = fault.exception.full_name("-");
    assert_eq!(class, "org.apache.hadoop.ipc_.RpcNoSuchMethodException");
    om.bucket("vol", "bkt").await;
    om.handle.shutdown().await;
}
