//! Answers about features that this OM does not have.

use bytes::Bytes;
use hadoop_rpc::{Client, ClientOptions, Identity};
use prost::Message;
use proto::om_admin::*;
use proto::ozone::*;

use crate::support::requests::*;
use crate::support::{TIMEOUT, World};

#[tokio::test(flavor = "multi_thread")]
async fn commands_of_absent_features_get_ozones_answer_for_them() {
    let world = World::new().await;
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    let cases = [
        (Type::CreateTenant, Status::FeatureNotEnabled, "S3 multi-tenancy feature is not enabled."),
        (
            Type::RenewDelegationToken,
            Status::TokenErrorOther,
            "there are no delegation tokens: security is off",
        ),
        (Type::ListTrash, Status::NotSupportedOperation, "ListTrash is not supported"),
    ];
    for (command, status, message) in cases {
        let answer = om.ask(request(command)).await;
        assert_eq!((answer.status(), answer.success), (status, Some(false)), "{command:?}");
        assert_eq!(answer.message.as_deref(), Some(message));
    }
    let unknown = OmRequest { cmd_type: 9_999, ..request(Type::ServiceList) };
    assert_eq!(om.ask(unknown).await.status(), Status::NotSupportedOperation);

    let token = om.ok(request(Type::GetDelegationToken)).await;
    assert!(token.get_delegation_token_response.unwrap().response.is_none());
    let finalized = om.ok(request(Type::FinalizeUpgrade)).await;
    let already = proto::hdds::upgrade_finalization_status::Status::AlreadyFinalized;
    assert_eq!(finalized.finalize_upgrade_response.unwrap().status.status(), already);
    let progress = om.ok(request(Type::FinalizeUpgradeProgress)).await;
    assert_eq!(progress.finalize_upgrade_progress_response.unwrap().status.status(), already);
    let prepared = om.ok(request(Type::PrepareStatus)).await.prepare_status_response.unwrap();
    assert_eq!(prepared.status(), prepare_status_response::PrepareStatus::NotPrepared);
    assert!(prepared.current_txn_index.unwrap() > 0);
    om.ok(request(Type::CancelPrepare)).await;
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_ask_one_om() {
    const PROTOCOL: &str = "org.apache.hadoop.ozone.om.protocol.OMAdminProtocol";
    let world = World::new().await.with("ozone.acl.enabled", true);
    let world = world.with("ozone.administrators", "root");
    let om = world.start().await;
    let address = om.handle.addresses().framed;
    let client = |protocol, user| {
        let (options, identity) = (ClientOptions::default(), Identity::random());
        Client::new(address.to_string(), (protocol, 1), user, identity, options)
    };
    let root = client(PROTOCOL, "root");
    let call = async |method, body: Vec<u8>| root.call(method, Bytes::from(body), TIMEOUT).await;

    let known = call("getOMConfiguration", Vec::new()).await.unwrap();
    let known = OmConfigurationResponse::decode(known).unwrap();
    assert!(known.success);
    assert_eq!(known.nodes_in_memory[0].rpc_port, u32::from(address.port()));
    let compact =
        |family: &str| CompactRequest { column_family: family.to_owned() }.encode_to_vec();
    let done = call("compactDB", compact("keyTable")).await.unwrap();
    assert!(CompactResponse::decode(done).unwrap().success);
    let done = CompactResponse::decode(call("compactDB", compact("none")).await.unwrap()).unwrap();
    assert_eq!(done.error_msg.as_deref(), Some("Column family none does not exist"));
    let leave = DecommissionOmRequest { node_id: "om1".to_owned(), node_address: String::new() };
    let left = call("decommission", leave.encode_to_vec()).await.unwrap();
    assert!(!DecommissionOmResponse::decode(left).unwrap().success);

    let class = |e: hadoop_rpc::CallError| e.fault().unwrap().exception.full_name("-");
    let unknown = call("bootstrap", Vec::new()).await.unwrap_err();
    assert_eq!(class(unknown), "org.apache.hadoop.ipc_.RpcNoSuchMethodException");
    let alice = client(PROTOCOL, "alice").call("getOMConfiguration", Bytes::new(), TIMEOUT).await;
    let refused = alice.unwrap_err();
    assert_eq!(class(refused), "org.apache.hadoop.security.AccessControlException");
    let between = "org.apache.hadoop.ozone.om.protocol.OMInterServiceProtocol";
    let unknown = client(between, "root").call("bootstrap", Bytes::new(), TIMEOUT).await;
    let unknown = unknown.unwrap_err();
    assert_eq!(class(unknown), "org.apache.hadoop.ipc_.RpcNoSuchProtocolException");
    om.handle.shutdown().await;
}
