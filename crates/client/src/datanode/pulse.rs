//! Telling a DataNode that hangs from one that is slow. Work may take its time, at disks that have
//! much to do; whether it is there a DataNode says without looking at any, over a connection on
//! which nothing else waits.

use std::time::Duration;

use bytes::Bytes;
use framed::{CallError, Client};
use proto::method;
use types::{DatanodeDetails, PortName};

use super::{Datanodes, Failure};

impl Datanodes {
    /// Waits for a call to `node`, unless the DataNode gives no sign of life for as long as
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

    /// Whether a DataNode is there now.
    pub(crate) async fn is_there(&self, node: &DatanodeDetails) -> bool {
        let Some(address) = node.address(&PortName::Native) else { return false };
        let client = self.pulse.get(&address);
        let answer = client.call(method::ALIVE, Bytes::new(), Bytes::new(), ALIVE_TIMEOUT).await;
        matches!(answer, Ok(_) | Err(CallError::Status { .. } | CallError::Decode { .. }))
    }
}

/// How long a DataNode that is said to be back may take to answer: a caller waits, and asks again
/// soon.
const ALIVE_TIMEOUT: Duration = Duration::from_millis(200);

/// Waits until a DataNode gives no sign of life, and says how. It is asked after a third of the
/// time that it has, and when it does not answer within another third once more: it may be this
/// process that stood still.
async fn silent(client: &Client, third: Duration) -> String {
    let mut missed = false;
    loop {
        if !missed {
            tokio::time::sleep(third).await;
        }
        match client.call(method::ALIVE, Bytes::new(), Bytes::new(), third).await {
            // A DataNode that does not know the method is there, too.
            Ok(_) | Err(CallError::Status { .. } | CallError::Decode { .. }) => missed = false,
            Err(CallError::Timeout { .. }) if !missed => missed = true,
            Err(error @ (CallError::Timeout { .. } | CallError::Transport { .. })) => {
                return format!("no sign of life: {error}");
            }
        }
    }
}
