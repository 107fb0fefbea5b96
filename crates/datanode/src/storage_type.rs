//! Storage type of the disks for an erasure-coded container.
//!
//! Replicas of a Raft pipeline are created on the pipeline's disk. Those of an erasure-coded group
//! are created with the first write, and published clients do not send the storage type: SCM has
//! it. A node whose disks are all of one type need not ask.

use std::sync::Arc;
use std::time::Duration;

use framed::{CallError, Client, ClientOptions, ClientPool};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use proto::scm_datanode as wire;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use types::{ContainerId, StorageType, WireError};

use crate::session_table::SessionTable;

/// Timeout of an SCM; the client that writes waits meanwhile.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Requests in flight at a time: any client can write to containers that do not exist.
const AT_A_TIME: usize = 16;

/// Requests storage types from the SCMs.
pub(crate) struct ContainerTypes {
    scms: Arc<SessionTable>,
    clients: ClientPool,
    asking: Semaphore,
    timeout: Duration,
}

impl ContainerTypes {
    pub fn new(scms: Arc<SessionTable>) -> Self {
        let clients = ClientPool::new(ClientOptions { connections: 1, ..ClientOptions::default() });
        Self { scms, clients, asking: Semaphore::new(AT_A_TIME), timeout: TIMEOUT }
    }

    /// Returns the storage type of the disks that a container belongs on; `None` if no SCM returns
    /// it in time. Any disk is better than none then.
    pub async fn of(&self, container: ContainerId) -> Option<StorageType> {
        // Never closed. Requests for containers that do not exist delay others only briefly.
        let Ok(_one) = timeout(self.timeout, self.asking.acquire()).await else { return None };
        let clients = self.scms.addresses().into_iter().map(|address| self.clients.get(&address));
        let mut answers: FuturesUnordered<_> =
            clients.map(|client| ask(client, container, self.timeout)).collect();
        while let Some(answer) = answers.next().await {
            match answer {
                Ok(found) => return Some(found),
                Err(error) => {
                    tracing::debug!(%container, %error, "SCM did not return a storage type");
                }
            }
        }
        tracing::warn!(%container, "no SCM returned the storage type of a container: using any disk");
        None
    }
}

/// Errors of a request to an SCM.
#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("it responded: {0}")]
    Refused(String),
    #[error(transparent)]
    Nonsense(#[from] WireError),
}

async fn ask(
    client: Client,
    container: ContainerId,
    timeout: Duration,
) -> Result<StorageType, AskError> {
    let kind = wire::Type::GetContainerStorageType;
    let request = wire::ScmDatanodeRequest {
        cmd_type: kind as i32,
        get_container_storage_type_request: Some(wire::GetContainerStorageTypeRequestProto {
            container_id: container.to_wire(),
        }),
        ..Default::default()
    };
    let call = framed::message::call(&client, proto::method::SCM_DATANODE, &request, timeout);
    let answer: wire::ScmDatanodeResponse = call.await?;
    let Some(found) = answer.get_container_storage_type_response else {
        return Err(AskError::Refused(answer.message.unwrap_or_default()));
    };
    Ok(StorageType::from_wire(found.storage_type)?)
}

#[cfg(test)]
mod tests {
    use config::HostPort;
    use service::Shutdown;

    use super::*;

    #[tokio::test]
    async fn an_scm_that_is_silent_keeps_no_write_waiting_for_ever() {
        // It takes connections, and answers nothing.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = HostPort::new("127.0.0.1", listener.local_addr().unwrap().port());
        let scms = SessionTable::default();
        scms.set(0, &[address], |_| (Shutdown::new(), tokio::spawn(async {})));
        let types = ContainerTypes::new(Arc::new(scms));
        let types = ContainerTypes { timeout: Duration::from_millis(20), ..types };
        // More than the limit of concurrent requests: some fail to get a permit.
        let many = (1..=3 * AT_A_TIME as u64).map(|id| types.of(ContainerId(id)));
        let answers = futures::future::join_all(many).await;
        assert!(answers.iter().all(Option::is_none));
    }
}
