//! Requests authorized by user, over the endpoints.

use bytes::Bytes;
use hadoop_rpc::{Client, ClientOptions, Identity};
use prost::Message;
use proto::ozone::*;

use crate::support::requests::*;
use crate::support::{TIMEOUT, TestOm, World};

const PROTOCOL: &str = "org.apache.hadoop.ozone.om.protocol.OzoneManagerProtocol";

async fn ask_as(om: &TestOm, user: &str, request: &OmRequest) -> OmResponse {
    let (address, options) = (om.handle.addresses().framed, ClientOptions::default());
    let identity = Identity::random();
    let client = Client::new(address.to_string(), (PROTOCOL, 1), user, identity, options);
    let request = Bytes::from(request.encode_to_vec());
    let answer = client.call("submitRequest", request, TIMEOUT).await.unwrap();
    OmResponse::decode(answer).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_of_a_connection_is_judged() {
    let world = World::new().await.with("ozone.acl.enabled", true);
    let world = world.with("ozone.administrators", "ann");
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    let key = key_args("vol", "bkt", "k", 1);
    let refused = ask_as(&om, "alice", &create_key(key.clone())).await;
    assert_eq!(refused.status(), Status::PermissionDenied);
    let text =
        "User alice doesn't have READ permission to access VOLUME Volume:vol Bucket:bkt Key:k";
    assert_eq!(refused.message.as_deref(), Some(text));
    assert_eq!(ask_as(&om, "ann", &create_key(key)).await.status(), Status::Ok);
    let info = ask_as(&om, "alice", &info_bucket("vol", "bkt")).await;
    assert_eq!(info.status(), Status::PermissionDenied, "reads are judged too");
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn safe_mode_is_changed_by_administrators_only() {
    let world = World::new().await.with("ozone.acl.enabled", true);
    let world = world.with("ozone.administrators", "ann");
    let om = world.start().await;
    let safe_mode = |wish: SafeMode| {
        let wish = Some(Box::new(SetSafeModeRequest { safe_mode: wish as i32 }));
        OmRequest { set_safe_mode_request: wish, ..request(Type::SetSafeMode) }
    };
    assert_eq!(ask_as(&om, "alice", &safe_mode(SafeMode::Get)).await.status(), Status::Ok);
    for wish in [SafeMode::Leave, SafeMode::ForceExit, SafeMode::Enter] {
        let refused = ask_as(&om, "alice", &safe_mode(wish)).await;
        assert_eq!(refused.status(), Status::PermissionDenied);
    }
    assert_eq!(ask_as(&om, "ann", &safe_mode(SafeMode::Leave)).await.status(), Status::Ok);
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_root_key_pair_stands_for_the_user_of_the_server() {
    let world = World::new().await.with("ozone.acl.enabled", true);
    let om = world.start().await;
    let as_s3 = |access_id: &str| OmRequest {
        s3_authentication: Some(Box::new(S3Authentication {
            access_id: Some(access_id.to_owned()),
            ..S3Authentication::default()
        })),
        ..create_bucket("s3v", "bkt")
    };
    assert_eq!(om.refused(as_s3("someone")).await, Status::PermissionDenied);
    om.ok(as_s3(&om.handle.root_credentials().unwrap().access_key)).await;
    om.handle.shutdown().await;
}
