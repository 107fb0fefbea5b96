//! Group information.

use ratis_wire::common::role_info_proto::PeerInfo;
use ratis_wire::common::{GroupInfoRequestProto, GroupListRequestProto, RaftGroupIdProto};
use ratis_wire::grpc::admin_protocol_service_client::AdminProtocolServiceClient;

use crate::support::{GROUP, start, write};

#[tokio::test]
async fn groups_are_listed_and_described() {
    let (address, _group) = start().await;
    let mut client = AdminProtocolServiceClient::connect(address).await.unwrap();
    let rpc_request = write(1, 1, "").rpc_request;
    let list = GroupListRequestProto { rpc_request: rpc_request.clone() };
    let listed = client.group_list(list).await.unwrap().into_inner();
    assert_eq!(listed.group_id[0].id[..], *GROUP.as_bytes());
    let ask = |id: &[u8]| GroupInfoRequestProto {
        rpc_request: rpc_request.clone(),
        group_id: Some(RaftGroupIdProto { id: id.to_vec().into() }),
    };
    let info = client.group_info(ask(GROUP.as_bytes())).await.unwrap().into_inner();
    assert_eq!(info.group.unwrap().peers.len(), 3);
    assert_eq!(info.log_info.unwrap().committed.unwrap().index, 8);
    let Some(PeerInfo::LeaderInfo(leader)) = info.role.unwrap().peer_info else {
        panic!("not a leader")
    };
    assert_eq!((leader.follower_info.len(), leader.term), (2, 3));
    assert!(client.group_info(ask(&[7; 16])).await.is_err());
    assert!(client.group_info(ask(&[7; 3])).await.is_err());
}
