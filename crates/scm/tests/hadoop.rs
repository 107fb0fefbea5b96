//! The Hadoop RPC endpoint, on the clients' port.

use std::time::Duration;

use bytes::Bytes;
use hadoop_rpc::{CallError, Client, ClientOptions, Identity};
use prost::Message;
use proto::container_location::*;
use proto::hdds::{ReplicationFactor, ReplicationType};
use testkit::until;

use crate::harness::Harness;

const PROTOCOL: &str = "org.apache.hadoop.hdds.scm.protocol.StorageContainerLocationProtocol";
const TIMEOUT: Duration = testkit::LIMIT;

struct Admin {
    client: Client,
    identity: Identity,
}

impl Admin {
    fn new(h: &Harness) -> Self {
        Self::named(h, "admin")
    }

    fn named(h: &Harness, user: &str) -> Self {
        let identity = Identity::random();
        let (address, options) = (h.scm.addresses().client, ClientOptions::default());
        let address = address.to_string();
        let client = Client::new(address, (PROTOCOL, 1), user, identity.clone(), options);
        Self { client, identity }
    }

    async fn ask(
        &self,
        kind: Type,
        fill: impl FnOnce(&mut ScmContainerLocationRequest),
    ) -> Result<ScmContainerLocationResponse, CallError> {
        let mut request =
            ScmContainerLocationRequest { cmd_type: kind as i32, ..Default::default() };
        fill(&mut request);
        let request = Bytes::from(request.encode_to_vec());
        let answer = self.client.call("submitRequest", request, TIMEOUT).await?;
        Ok(ScmContainerLocationResponse::decode(answer).unwrap())
    }
}

fn class(error: &CallError) -> String {
    error.fault().unwrap().exception.full_name("-")
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_see_what_the_framed_endpoint_shows() {
    let h = Harness::start().await;
    let nodes = h.datanodes(3).await;
    let admin = Admin::new(&h);
    let safe_mode = admin.ask(Type::InSafeMode, |_| ()).await.unwrap();
    assert!(!safe_mode.in_safe_mode_response.unwrap().in_safe_mode);
    let query = |r: &mut ScmContainerLocationRequest| {
        r.node_query_request = Some(Default::default());
    };
    let listed = admin.ask(Type::QueryNode, query).await.unwrap();
    assert_eq!(listed.node_query_response.unwrap().datanodes.len(), nodes.len());
    until("both endpoints list the same pipelines", async || {
        let hadoop = admin.ask(Type::ListPipelines, |_| ()).await.unwrap();
        hadoop == h.location(Type::ListPipelines, |_| ()).await
    })
    .await;
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_exceptions_that_clients_show() {
    let h = Harness::start().await;
    let admin = Admin::new(&h);
    let unknown = |r: &mut ScmContainerLocationRequest| {
        r.get_container_request =
            Some(GetContainerRequestProto { container_id: 999, ..Default::default() });
    };
    let refused = admin.ask(Type::GetContainer, unknown).await.unwrap_err();
    assert_eq!(class(&refused), "org.apache.hadoop.hdds.scm.container.ContainerNotFoundException");
    assert_eq!(refused.fault().unwrap().message, "Container #999 not found");
    for kind in [Type::TransferLeadership, Type::GetContainer] {
        let refused = admin.ask(kind, |_| ()).await.unwrap_err();
        assert_eq!(class(&refused), "org.apache.hadoop.hdds.scm.exceptions.SCMException");
    }
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_that_comes_again_makes_one_thing() {
    let h = Harness::start().await;
    let _nodes = h.datanodes(3).await;
    let admin = Admin::new(&h);
    let request = ScmContainerLocationRequest {
        cmd_type: Type::AllocatePipeline as i32,
        pipeline_request: Some(PipelineRequestProto {
            replication_type: ReplicationType::Ratis as i32,
            replication_factor: ReplicationFactor::One as i32,
            ..Default::default()
        }),
        ..Default::default()
    };
    let request = Bytes::from(request.encode_to_vec());
    let before = h.pipelines().await.len();
    let attempt = admin.identity.attempt();
    let mut answers = Vec::new();
    for attempt in [attempt, attempt.again()] {
        let sent = admin.client.send(attempt, "submitRequest", request.clone(), TIMEOUT).await;
        answers.push(sent.unwrap());
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(h.pipelines().await.len(), before + 1);
    h.scm.shutdown().await;
}

/// The user is the connection's, not the request's.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_that_is_no_administrator_is_told_so_as_ozone_tells() {
    let h = Harness::start_with(|conf| {
        conf.with("ozone.acl.enabled", true).with("ozone.administrators", "ann")
    })
    .await;
    let claims = |r: &mut ScmContainerLocationRequest| r.user = Some("ann".into());
    let bob = Admin::named(&h, "bob");
    let refused = bob.ask(Type::ForceExitSafeMode, claims).await.unwrap_err();
    assert_eq!(class(&refused), "org.apache.hadoop.security.AccessControlException");
    let told = "Access denied for user bob. SCM superuser privilege is required.";
    assert_eq!(refused.fault().unwrap().message, told);
    assert!(bob.ask(Type::ListPipelines, |_| ()).await.is_ok());
    let ann = Admin::named(&h, "ann");
    let left = ann.ask(Type::ForceExitSafeMode, |_| ()).await.unwrap();
    assert!(left.force_exit_safe_mode_response.unwrap().exited_safe_mode);
    h.scm.shutdown().await;
}
