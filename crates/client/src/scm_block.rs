//! Block allocation from SCM, as by OM, for load generators of SCM.

use bytes::Bytes;
use config::Configuration;
use futures::future::BoxFuture;
use prost::Message;
use proto::block_location::{
    AllocateBlockResponse, AllocateScmBlockRequestProto, ScmBlockLocationRequest,
    ScmBlockLocationResponse, Status, Type,
};
use types::ReplicationConfig;

use crate::om::transport::Transport;
use crate::{ClientOptions, Error, ErrorKind, Result};

/// A client for OM's requests to SCM. Clones share connections.
#[derive(Clone)]
pub struct ScmBlockClient {
    transport: Transport,
}

impl ScmBlockClient {
    /// A client of the cluster in `conf`.
    pub fn connect(conf: &Configuration) -> Self {
        let options = ClientOptions::from_configuration(conf);
        // Each endpoint of SCM serves the requests of all of them.
        let transport = Transport::scm_block(&options.scm_addresses, options.retry_policy());
        Self { transport }
    }

    /// Allocates `count` blocks of `size` bytes; returns their locations. Unwritten blocks cost
    /// nothing.
    ///
    /// # Errors
    /// SCM's error, or a failure to reach it.
    pub fn allocate<'a>(
        &'a self,
        replication: &'a ReplicationConfig,
        count: u32,
        size: u64,
        owner: &'a str,
    ) -> BoxFuture<'a, Result<Vec<AllocateBlockResponse>>> {
        Box::pin(async move {
            let request = ScmBlockLocationRequest {
                cmd_type: Type::AllocateScmBlock as i32,
                trace_id: telemetry::current_trace_id(),
                allocate_scm_block_request: Some(AllocateScmBlockRequestProto {
                    size,
                    num_blocks: count,
                    r#type: replication.wire_type() as i32,
                    factor: replication.wire_factor().map(|factor| factor as i32),
                    owner: owner.to_owned(),
                    exclude_list: None,
                    ec_replication_config: replication.wire_ec(),
                    client: None,
                    storage_type: Vec::new(),
                }),
                ..Default::default()
            };
            let answer = self.transport.call(Bytes::from(request.encode_to_vec())).await?;
            let response = ScmBlockLocationResponse::decode(answer.bytes)
                .map_err(|e| Error::protocol("scm", e.to_string()))?;
            if response.status() != Status::Ok || !response.success() {
                let kind = match response.status() {
                    Status::SafeModeException => ErrorKind::SafeMode,
                    Status::ScmNotLeader => ErrorKind::Unavailable,
                    _ => ErrorKind::Internal,
                };
                let name = response.status().as_str_name().to_owned();
                let message = response.message.filter(|said| !said.is_empty()).unwrap_or(name);
                return Err(Error::Scm { kind, message });
            }
            let blocks = response.allocate_scm_block_response.map(|allocated| allocated.blocks);
            blocks.ok_or_else(|| Error::protocol("scm", "no blocks in AllocateScmBlock"))
        })
    }
}
