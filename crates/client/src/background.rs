//! Background services of each server of a cluster.

use std::time::Duration;

use framed::{CallError, ClientPool, Code};
use proto::background_service::{
    BackgroundServiceAction, BackgroundServicesRequest, BackgroundServicesResponse,
};
use proto::method;

use crate::{ClientOptions, Error, ErrorKind, Result};

/// How long a server may take: it answers from memory.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A client of the background services of servers, whatever their role. Clones share connections.
#[derive(Clone)]
pub struct BackgroundServicesClient {
    pool: ClientPool,
    user: String,
}

impl BackgroundServicesClient {
    /// A client that asks as the user of `options`.
    pub fn new(options: &ClientOptions) -> Self {
        let connect_timeout = options.connect_timeout;
        let pool = ClientPool::new(framed::ClientOptions {
            connections: 1,
            connect_timeout,
            ..framed::ClientOptions::default()
        });
        Self { pool, user: options.user.clone() }
    }

    /// Lists the services of the server at `address` (`host:port` of its framed endpoint), or has
    /// it run, pause or resume those that `names` names: one by its name, several by what stands
    /// before a hyphen, all without names.
    ///
    /// # Errors
    /// The server's refusal, or a failure to reach it.
    pub async fn ask(
        &self,
        address: &str,
        action: BackgroundServiceAction,
        names: &[String],
    ) -> Result<BackgroundServicesResponse> {
        let request = BackgroundServicesRequest {
            action: action as i32,
            names: names.to_vec(),
            user: self.user.clone(),
        };
        let client = self.pool.get(address);
        framed::message::call(&client, method::BACKGROUND_SERVICES, &request, TIMEOUT)
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
