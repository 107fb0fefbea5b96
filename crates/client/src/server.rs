//! Requests to servers of every role about themselves: background services, pending deletions.

use std::time::Duration;

use framed::{CallError, ClientPool, Code};
use futures::future::BoxFuture;
use prost::Message;
use proto::background_service::{
    BackgroundServiceAction, BackgroundServicesRequest, BackgroundServicesResponse,
};
use proto::deletion_status::{DeletionStatusRequest, DeletionStatusResponse};
use proto::method;

use crate::{ClientOptions, Error, ErrorKind, Result};

/// Timeout of a request: a server answers from memory, or after a short scan of tables.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A client of servers of every role. Clones share connections.
#[derive(Clone)]
pub struct ServerClient {
    pool: ClientPool,
    user: String,
}

impl ServerClient {
    /// A client with the user of `options`.
    pub fn new(options: &ClientOptions) -> Self {
        let connect_timeout = options.connect_timeout;
        let pool = ClientPool::new(framed::ClientOptions {
            connections: 1,
            connect_timeout,
            ..framed::ClientOptions::default()
        });
        Self { pool, user: options.user.clone() }
    }

    /// Lists the background services of the server at `address` (`host:port` of its framed
    /// endpoint), or runs, pauses or resumes those in `names`: one by its name, several by the part
    /// before a hyphen, or all without names.
    ///
    /// # Errors
    /// The server's error, or a failure to reach it.
    pub fn background_services<'a>(
        &'a self,
        address: &'a str,
        action: BackgroundServiceAction,
        names: &'a [String],
    ) -> BoxFuture<'a, Result<BackgroundServicesResponse>> {
        Box::pin(async move {
            let request = BackgroundServicesRequest {
                action: action as i32,
                names: names.to_vec(),
                user: self.user.clone(),
            };
            self.ask(address, method::BACKGROUND_SERVICES, &request).await
        })
    }

    /// Pending deletions on the server at `address`.
    ///
    /// # Errors
    /// The server's error, or a failure to reach it.
    pub fn deletion_status<'a>(
        &'a self,
        address: &'a str,
    ) -> BoxFuture<'a, Result<DeletionStatusResponse>> {
        Box::pin(async move {
            let request = DeletionStatusRequest { user: self.user.clone() };
            self.ask(address, method::DELETION_STATUS, &request).await
        })
    }

    async fn ask<A: Message + Default>(
        &self,
        address: &str,
        method: u16,
        request: &impl Message,
    ) -> Result<A> {
        let client = self.pool.get(address);
        framed::message::call(&client, method, request, TIMEOUT)
            .await
            .map_err(|error| failure(address, &error))
    }
}

fn failure(address: &str, error: &CallError) -> Error {
    let address = address.to_owned();
    let Some(status) = error.status() else {
        return Error::Unavailable { service: address, message: error.to_string() };
    };
    let kind = match status.code {
        Code::Unimplemented => ErrorKind::Unsupported,
        Code::Invalid => ErrorKind::Invalid,
        _ => ErrorKind::Unavailable,
    };
    Error::Server { address, kind, message: status.message.clone() }
}
