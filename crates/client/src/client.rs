//! The client: state shared by all calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use config::Configuration;
use futures::future::BoxFuture;
use prost::Message;
use proto::om_admin::OmStateResponse;
use proto::ozone::{OmRequest, OmResponse};

use crate::datanode::Datanodes;
use crate::exclude::ExcludeList;
use crate::om::anywhere::FollowerReads;
use crate::om::command::{self, CallId, Command, Reply};
use crate::om::transport::Transport;
use crate::{ClientOptions, Error, Result};

/// A client of one cluster. Clones share connections and are cheap.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
    /// `clientId`, `userInfo` and `version` of every request.
    caller: Bytes,
    user: Arc<str>,
}

struct Inner {
    options: ClientOptions,
    client_id: String,
    /// The client id by which OM recognizes retried calls.
    id: uuid::Uuid,
    /// Number of the next call.
    calls: AtomicI32,
    /// Position of this client's newest write in OM's log, which its later reads must include.
    written: AtomicU64,
    om: Transport,
    datanodes: Datanodes,
    /// Recent failures, shared by all writers.
    excluded: ExcludeList,
}

impl Client {
    /// A client of the cluster in `conf`. Connections are opened on demand.
    ///
    /// # Errors
    /// If no OM is configured.
    pub fn connect(conf: &Configuration) -> Result<Self> {
        Self::new(ClientOptions::from_configuration(conf))
    }

    /// A client with these options.
    ///
    /// # Errors
    /// If there is no OM address.
    pub fn new(options: ClientOptions) -> Result<Self> {
        if options.om_addresses.is_empty() {
            return Err(Error::Usage("no om address is configured".into()));
        }
        let policy = options.retry_policy();
        let id = uuid::Uuid::new_v4();
        let client_id = format!("client-{}", id.simple());
        let user: Arc<str> = options.user.as_str().into();
        let caller = command::encode_caller(&client_id, &user);
        let anywhere = options.follower_reads.map(|reads| {
            let max_lag = match reads {
                // Such a read waits until the OM has caught up, so the nearest OM is best.
                FollowerReads::Linearizable => u64::MAX,
                FollowerReads::Local { max_lag } => max_lag,
            };
            (max_lag, options.om_probe_interval)
        });
        let om = Transport::om(&options.om_addresses, policy, anywhere);
        let datanodes = Datanodes::new(options.connect_timeout, options.silence);
        let excluded = ExcludeList::new(options.exclude_expiry);
        let inner = Arc::new(Inner {
            options,
            client_id,
            id,
            calls: AtomicI32::new(0),
            written: AtomicU64::new(0),
            om,
            datanodes,
            excluded,
        });
        Ok(Self { inner, caller, user })
    }

    /// The same client with another user, sharing its connections.
    pub fn on_behalf_of(&self, user: &str) -> Self {
        Self {
            inner: self.inner.clone(),
            caller: command::encode_caller(&self.inner.client_id, user),
            user: user.into(),
        }
    }

    /// The options of the client.
    pub fn options(&self) -> &ClientOptions {
        &self.inner.options
    }

    /// The user of the requests.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Sends any request to OM. Empty `clientId` and `userInfo` are filled in. A response that is
    /// not `OK` is returned unchanged; only a missing response is an error.
    ///
    /// # Errors
    /// If no OM responded before the deadline.
    pub fn submit(&self, mut request: OmRequest) -> BoxFuture<'_, Result<OmResponse>> {
        Box::pin(async move {
            if request.client_id.is_empty() {
                request.client_id = self.inner.client_id.clone();
            }
            if request.user_info.is_none() {
                request.user_info = Some(Box::new(proto::ozone::UserInfo {
                    user_name: Some(self.user.to_string()),
                    ..Default::default()
                }));
            }
            if request.rpc_client_id.is_none() {
                let call = self.next_call();
                request.rpc_client_id = Some(Bytes::copy_from_slice(&call.client));
                request.rpc_call_id = Some(call.number);
            }
            let answer = self.inner.om.call(request.encode_to_vec().into()).await?;
            OmResponse::decode(answer.bytes).map_err(|e| Error::om_reply(e.to_string()))
        })
    }

    /// Queries the state of each OM; returns it with the response time, or the error.
    pub fn om_states(&self) -> BoxFuture<'_, Vec<(String, Result<(OmStateResponse, Duration)>)>> {
        Box::pin(async move { self.inner.om.states().await })
    }

    /// Sends a command; a response that is not `OK` is an error.
    pub(crate) async fn om<C: Command>(&self, request: &C::Request) -> Result<C::Response> {
        self.om_reply::<C>(request).await?.0.ok()
    }

    /// Sends a command and returns the whole response, and whether an earlier attempt may have been
    /// executed.
    pub(crate) async fn om_reply<C: Command>(
        &self,
        request: &C::Request,
    ) -> Result<(Reply<C::Response>, bool)> {
        let call = self.next_call();
        let inner = &*self.inner;
        let answer = match inner.options.follower_reads {
            Some(reads) if !command::changes(C::TYPE) => {
                let written = inner.written.load(Ordering::Relaxed);
                let read =
                    command::encode_anywhere::<C>(&self.caller, call, reads, written, request);
                inner.om.call_anywhere(read).await?
            }
            _ => inner.om.call(command::encode::<C>(&self.caller, call, request)).await?,
        };
        let reply = command::decode::<C>(answer.bytes)?;
        if let Some(at) = reply.written_at {
            inner.written.fetch_max(at, Ordering::Relaxed);
        }
        Ok((reply, answer.repeated))
    }

    fn next_call(&self) -> CallId {
        let number = self.inner.calls.fetch_add(1, Ordering::Relaxed);
        CallId { client: *self.inner.id.as_bytes(), number }
    }

    pub(crate) fn datanodes(&self) -> &Datanodes {
        &self.inner.datanodes
    }

    pub(crate) fn excluded(&self) -> &ExcludeList {
        &self.inner.excluded
    }
}
