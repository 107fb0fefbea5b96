//! Both endpoints lead to the same dispatcher.

use framed::Code;
use proto::hdds::upgrade_finalization_status;
use proto::ozone::ozone_manager_service_client::OzoneManagerServiceClient;
use proto::ozone::*;

use crate::support::requests::*;
use crate::support::{TIMEOUT, World};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_through_one_endpoint_is_read_through_the_other() {
    let world = World::new().await;
    let om = world.start().await;
    let url = format!("http://{}", om.handle.addresses().grpc.unwrap());
    let mut grpc = OzoneManagerServiceClient::connect(url).await.unwrap();
    let mut ask = async |request: OmRequest| {
        grpc.submit_request(request).await.map(tonic::Response::into_inner)
    };
    for request in [create_volume("vol"), create_bucket("vol", "bkt")] {
        assert_eq!(ask(request).await.unwrap().status(), Status::Ok);
    }
    let key = om.put("vol", "bkt", "k", 10).await;
    let answer = ask(get_key_info(key_args("vol", "bkt", "k", 0))).await.unwrap();
    assert_eq!(answer.get_key_info_response.unwrap().key_info.unwrap(), key);
    let refused = ask(create_volume("vol")).await.unwrap();
    assert_eq!((refused.success, refused.status()), (Some(false), Status::VolumeAlreadyExists));
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_grpc_endpoint_stays_closed_when_switched_off() {
    let world = World::new().await.with("ozone.om.s3.grpc.server_enabled", false);
    let om = world.start().await;
    assert_eq!(om.handle.addresses().grpc, None);
    om.bucket("vol", "bkt").await;
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateways_requests_are_its_users() {
    let world = World::new().await;
    let om = world.start().await;
    let mut create = create_volume("vol");
    create.create_volume_request.as_mut().unwrap().volume_info.owner_name = String::new();
    create.s3_authentication = Some(Box::new(S3Authentication {
        access_id: Some("s3-user".to_owned()),
        ..S3Authentication::default()
    }));
    om.ok(create).await;
    let info = InfoVolumeRequest { volume_name: "vol".to_owned() };
    let info = OmRequest { info_volume_request: Some(Box::new(info)), ..request(Type::InfoVolume) };
    let volume = om.ok(info).await.info_volume_response.unwrap().volume_info.unwrap();
    assert_eq!(volume.owner_name, "s3-user");
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn junk_and_foreign_methods_are_refused_without_harm() {
    let world = World::new().await;
    let om = world.start().await;
    let junk = bytes::Bytes::from_static(&[0xff; 40]);
    let empty = bytes::Bytes::new();
    let e = om.client.call(proto::method::OM, junk, empty.clone(), TIMEOUT).await.unwrap_err();
    assert_eq!(e.code(), Some(Code::Invalid));
    let e =
        om.client.call(proto::method::SCM_BLOCK, empty.clone(), empty, TIMEOUT).await.unwrap_err();
    assert_eq!(e.code(), Some(Code::Unimplemented));
    om.bucket("vol", "bkt").await;
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_list_tells_versions_and_ports() {
    let world = World::new().await;
    let om = world.start().await;
    let ask = OmRequest {
        service_list_request: Some(Box::new(ServiceListRequest {})),
        ..request(Type::ServiceList)
    };
    let services = om.ok(ask).await.service_list_response.unwrap().service_info;
    assert_eq!(services.len(), 2);
    assert_eq!(services[0].om_version, Some(12));
    assert_eq!(services[0].om_role.as_ref().unwrap().server_role, "LEADER");
    let addresses = om.handle.addresses();
    let ports: Vec<u32> = services[0].service_ports.iter().map(|p| p.value).collect();
    let http = addresses.http.unwrap().port();
    assert_eq!(ports, [u32::from(addresses.framed.port()), u32::from(http)]);
    assert_eq!(services[1].service_ports[0].value, u32::from(world.scm_server.local_addr().port()));
    om.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_is_finalized() {
    let world = World::new().await;
    let om = world.start().await;
    let upgrade_client_id = "admin".to_owned();
    let body = FinalizeUpgradeRequest { upgrade_client_id };
    let ask = OmRequest {
        finalize_upgrade_request: Some(Box::new(body)),
        ..request(Type::FinalizeUpgrade)
    };
    let status = om.ok(ask).await.finalize_upgrade_response.unwrap().status;
    assert_eq!(status.status(), upgrade_finalization_status::Status::AlreadyFinalized);
    om.handle.shutdown().await;
}
