//! Detection of hung DataNodes as opposed to slow ones. A request may take long on a busy disk; a
//! ping is answered without disk access, over a connection without other traffic.

use std::time::Duration;

use bytes::Bytes;
use framed::{CallError, Client};
use proto::method;
use types::{DatanodeDetails, PortName};

use super::{Datanodes, Failure};

impl Datanodes {
    /// Waits for a call to `node`, unless the DataNode gives no sign of life for
    /// [`crate::ClientOptions::silence`].
    pub(crate) fn watched<T, F>(
        &self,
        node: &DatanodeDetails,
        call: F,
    ) -> impl Future<Output = Result<T, Failure>> + Send + use<T, F>
    where
        F: Future<Output = Result<T, Failure>> + Send,
    {
        let client = node.address(&PortName::Native).map(|address| self.pulse.get(&address));
        let third = self.silence / 3;
        async move {
            let Some(client) = client else { return call.await };
            tokio::select! {
                biased;
                answer = call => answer,
                reason = silent(&client, third) => Err(Failure::Unreachable(reason)),
            }
        }
    }

    /// Returns `true` if a DataNode answers a ping.
    pub(crate) async fn is_there(&self, node: &DatanodeDetails) -> bool {
        let Some(address) = node.address(&PortName::Native) else { return false };
        let client = self.pulse.get(&address);
        let answer = client.call(method::ALIVE, Bytes::new(), Bytes::new(), ALIVE_TIMEOUT).await;
        matches!(answer, Ok(_) | Err(CallError::Status { .. } | CallError::Decode { .. }))
    }
}

/// Timeout of a ping to a DataNode that is reported to have recovered: a caller waits for it, and
/// asks again soon.
const ALIVE_TIMEOUT: Duration = Duration::from_millis(200);

/// Waits until a DataNode gives no sign of life, and returns the reason. It is pinged after a third
/// of the time, and again if there is no answer within another third, because this process itself
/// may have stalled.
async fn silent(client: &Client, third: Duration) -> String {
    let mut missed = false;
    loop {
        if !missed {
            tokio::time::sleep(third).await;
        }
        match client.call(method::ALIVE, Bytes::new(), Bytes::new(), third).await {
            // A DataNode without the method is alive, too.
            Ok(_) | Err(CallError::Status { .. } | CallError::Decode { .. }) => missed = false,
            Err(CallError::Timeout { .. }) if !missed => missed = true,
            Err(error @ (CallError::Timeout { .. } | CallError::Transport { .. })) => {
                return format!("no sign of life: {error}");
            }
        }
    }
}
