//! The first start of one of several SCMs: which cluster is it of?
//!
//! Whoever has a cluster's directory already tells the others. When nobody has, the primordial SCM makes a cluster, and
//! the others wait for it. An SCM that lost its disk learns its cluster like a new one.

use std::time::Duration;

use framed::{Client, ClientOptions};
use proto::block_location::{ScmBlockLocationRequest, ScmBlockLocationResponse, Type};
use proto::method;
use uuid::Uuid;

use crate::members::Members;

/// Patience with one SCM.
const ASK: Duration = Duration::from_secs(2);

/// Pause after all others were asked in vain.
const PAUSE: Duration = Duration::from_millis(300);

/// The cluster's id. Waits, without an end, for an SCM that knows it.
pub async fn cluster_id(members: &Members) -> String {
    let mut told = false;
    loop {
        let asked = members.others().map(|other| ask(other.node.block.connect().to_string()));
        let answers = futures::future::join_all(asked).await;
        if let Some(id) = answers.into_iter().flatten().next() {
            tracing::info!(cluster = id, "joining the cluster of the other SCMs");
            return id;
        }
        if members.primordial {
            return format!("CID-{}", Uuid::new_v4());
        }
        if !std::mem::replace(&mut told, true) {
            tracing::info!("first start: waiting for another SCM to tell the cluster id");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn ask(address: String) -> Option<String> {
    let options = ClientOptions { connections: 1, ..ClientOptions::default() };
    let client = Client::new(address, options);
    let request = ScmBlockLocationRequest {
        cmd_type: Type::GetScmInfo as i32,
        get_scm_info_request: Some(Default::default()),
        ..Default::default()
    };
    let response: ScmBlockLocationResponse =
        framed::message::call(&client, method::SCM_BLOCK, &request, ASK).await.ok()?;
    Some(response.get_scm_info_response?.cluster_id)
}
