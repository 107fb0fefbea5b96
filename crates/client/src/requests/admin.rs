//! Administrative requests to OMs: configuration, latencies, preparation, membership, compaction.

use bytes::Bytes;
use futures::future::BoxFuture;
use prost::Message;
use proto::om_admin::{
    DecommissionOmRequest, DecommissionOmResponse, OmAdminCall, OmConfigurationRequest,
    OmConfigurationResponse, OmLatencyRequest, OmLatencyResponse, RangeCompactionRunRequest,
    RangeCompactionRunResponse, RangeCompactionStatusRequest, RangeCompactionStatusResponse,
};
use proto::ozone::{OmRequest, OmResponse, PrepareStatusRequest, PrepareStatusResponse, Type};

use crate::om::transport::Transport;
use crate::{Client, Error, Result};

impl Client {
    /// The current configuration of each OM, and its view of the members of the service.
    pub fn om_configurations(
        &self,
    ) -> BoxFuture<'_, Vec<(String, Result<OmConfigurationResponse>)>> {
        Box::pin(async move {
            let options = self.options();
            let asked = options.om_addresses.iter().map(async |address| {
                let one =
                    Transport::om_admin(std::slice::from_ref(address), options.retry_policy());
                let answer =
                    self.call_admin(&one, "getOMConfiguration", &OmConfigurationRequest {}).await;
                (address.clone(), answer)
            });
            futures::future::join_all(asked).await
        })
    }

    /// Latencies of each OM's requests since its last reset; `reset` resets them after this
    /// response. In the order of the configured addresses.
    pub fn om_latencies(
        &self,
        reset: bool,
    ) -> BoxFuture<'_, Vec<(String, Result<OmLatencyResponse>)>> {
        Box::pin(async move {
            let options = self.options();
            let asked = options.om_addresses.iter().map(async |address| {
                let one =
                    Transport::om_admin(std::slice::from_ref(address), options.retry_policy());
                let request = OmLatencyRequest { reset: Some(reset) };
                (address.clone(), self.call_admin(&one, "latency", &request).await)
            });
            futures::future::join_all(asked).await
        })
    }

    /// Progress of each OM's preparation at `index`.
    pub fn om_prepare_states(
        &self,
        index: u64,
    ) -> BoxFuture<'_, Vec<(String, Result<PrepareStatusResponse>)>> {
        Box::pin(async move {
            let options = self.options();
            let request = OmRequest {
                cmd_type: Type::PrepareStatus as i32,
                client_id: "admin".to_owned(),
                prepare_status_request: Some(Box::new(PrepareStatusRequest { txn_id: index })),
                ..OmRequest::default()
            };
            let request = Bytes::from(request.encode_to_vec());
            let asked = options.om_addresses.iter().map(async |address| {
                let policy = options.retry_policy();
                let one = Transport::om(std::slice::from_ref(address), policy, None);
                (address.clone(), prepare_state(&one, request.clone()).await)
            });
            futures::future::join_all(asked).await
        })
    }

    /// Removes an OM from the service; the response has the result.
    ///
    /// # Errors
    /// If no OM responds.
    pub fn decommission_om<'a>(
        &'a self,
        node_id: &'a str,
        address: &'a str,
    ) -> BoxFuture<'a, Result<DecommissionOmResponse>> {
        Box::pin(async move {
            let options = self.options();
            let leader = Transport::om_admin(&options.om_addresses, options.retry_policy());
            let (node_id, node_address) = (node_id.to_owned(), address.to_owned());
            let request = DecommissionOmRequest { node_id, node_address };
            self.call_admin(&leader, "decommission", &request).await
        })
    }

    /// The compacted ranges of each OM's tables.
    pub fn om_range_compactions(
        &self,
    ) -> BoxFuture<'_, Vec<(String, Result<RangeCompactionStatusResponse>)>> {
        Box::pin(async move {
            let options = self.options();
            let asked = options.om_addresses.iter().map(async |address| {
                let one =
                    Transport::om_admin(std::slice::from_ref(address), options.retry_policy());
                let request = RangeCompactionStatusRequest {};
                (address.clone(), self.call_admin(&one, "rangeCompactionStatus", &request).await)
            });
            futures::future::join_all(asked).await
        })
    }

    /// Starts a compaction on each OM, of a range of its tables or of the ranges above the
    /// thresholds; the response states whether it was accepted.
    pub fn compact_om_ranges<'a>(
        &'a self,
        request: &'a RangeCompactionRunRequest,
    ) -> BoxFuture<'a, Vec<(String, Result<RangeCompactionRunResponse>)>> {
        Box::pin(async move {
            let options = self.options();
            let asked = options.om_addresses.iter().map(async |address| {
                let one =
                    Transport::om_admin(std::slice::from_ref(address), options.retry_policy());
                (address.clone(), self.call_admin(&one, "rangeCompactionRun", request).await)
            });
            futures::future::join_all(asked).await
        })
    }

    async fn call_admin<A: Message + Default>(
        &self,
        to: &Transport,
        name: &str,
        request: &impl Message,
    ) -> Result<A> {
        let call = OmAdminCall {
            method: name.to_owned(),
            user: self.options().user.clone(),
            body: Bytes::from(request.encode_to_vec()),
        };
        let answer = to.call(Bytes::from(call.encode_to_vec())).await?;
        A::decode(answer.bytes).map_err(|e| Error::protocol("om", e.to_string()))
    }
}

async fn prepare_state(om: &Transport, request: Bytes) -> Result<PrepareStatusResponse> {
    let answer = om.call(request).await?;
    let decoded = OmResponse::decode(answer.bytes);
    let response = decoded.map_err(|e| Error::protocol("om", e.to_string()))?;
    let missing = || Error::protocol("om", "an answer without the state of preparation");
    response.prepare_status_response.map(|r| *r).ok_or_else(missing)
}
