//! A service with one method per outcome of a call.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use hadoop_rpc::{
    Call, Client, ClientOptions, Fault, Identity, Server, ServerOptions, Service, Work,
};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

pub const PROTOCOL: (&str, u64) = ("a.b.Protocol", 1);
/// Timeout of operations on a busy machine.
pub const TIMEOUT: Duration = testkit::LIMIT;

pub struct Methods {
    /// Number of executions of `count` and `count-held`.
    pub counted: Arc<AtomicU64>,
    held: watch::Sender<bool>,
    /// Calls of `step` that may end.
    pub steps: Arc<Semaphore>,
    /// Calls of `step` that ended.
    pub stepped: Arc<AtomicU64>,
    /// Calls whose method begins with `gated-` wait here after they were read and before they
    /// begin.
    pub gate: testkit::Gate,
}

impl Methods {
    /// Releases calls of `hold` and `count-held`.
    pub fn release(&self) {
        self.held.send_replace(true);
    }
}

impl Service for Methods {
    fn version(&self, protocol: &str) -> Option<u64> {
        (protocol == PROTOCOL.0).then_some(PROTOCOL.1)
    }

    fn call(&self, call: Call) -> Work {
        let mut held = self.held.subscribe();
        let counted = Arc::clone(&self.counted);
        let count = move || Bytes::from((counted.fetch_add(1, Ordering::Relaxed) + 1).to_string());
        let method = match call.method.strip_prefix("gated-") {
            Some(method) => {
                self.gate.blocking()();
                method
            }
            None => &call.method,
        };
        match method {
            "echo" => Work::Repeatable(Box::pin(async move { Ok(call.body) })),
            "later" => Work::Repeatable(Box::pin(async move {
                tokio::task::yield_now().await;
                Ok(call.body)
            })),
            "whoami" => {
                let user = Bytes::copy_from_slice(call.user.as_bytes());
                Work::Repeatable(Box::pin(async move { Ok(user) }))
            }
            "hold" => Work::Repeatable(Box::pin(async move {
                let _ = held.wait_for(|h| *h).await;
                Ok(Bytes::new())
            })),
            "step" => {
                let (steps, stepped) = (Arc::clone(&self.steps), Arc::clone(&self.stepped));
                Work::Once(Box::pin(async move {
                    steps.acquire_owned().await.map_err(|_| Fault::busy("closed"))?.forget();
                    stepped.fetch_add(1, Ordering::Relaxed);
                    Ok(Bytes::new())
                }))
            }
            "count-at-once" => Work::Repeatable(Box::pin(async move { Ok(count()) })),
            "count" => Work::Once(Box::pin(async move { Ok(count()) })),
            "count-held" => Work::Once(Box::pin(async move {
                let _ = held.wait_for(|h| *h).await;
                Ok(count())
            })),
            "count-fail" => Work::Once(Box::pin(async move {
                count();
                Err(Fault::busy("not yet"))
            })),
            "fail" => Work::Repeatable(Box::pin(async {
                Err(Fault::application("java.io.FileNotFoundException", "no file"))
            })),
            "panic" => Work::Once(Box::pin(async { panic!("a test of panics") })),
            _ => Work::Repeatable(Box::pin(async move {
                Err(Fault::no_such_method(&call.protocol, &call.method))
            })),
        }
    }
}

/// A server on a free port.
pub struct Running {
    pub server: Server,
    pub service: Arc<Methods>,
    pub address: SocketAddr,
}

impl Running {
    pub async fn start(options: ServerOptions) -> Self {
        let service = Arc::new(Methods {
            counted: Arc::default(),
            held: watch::Sender::new(false),
            steps: Arc::new(Semaphore::new(0)),
            stepped: Arc::default(),
            gate: testkit::Gate::closed(),
        });
        let options = ServerOptions { ipc_package: "a.ipc", ..options };
        let server = Server::new(service.clone(), options);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let listening = server.clone();
        tokio::spawn(async move { listening.listen(listener).await });
        Self { server, service, address }
    }

    pub fn client(&self) -> Client {
        self.client_with(PROTOCOL, ClientOptions::default())
    }

    pub fn client_with(&self, protocol: (&str, u64), options: ClientOptions) -> Client {
        self.client_as(Identity::random(), protocol, options)
    }

    pub fn client_as(
        &self,
        identity: Identity,
        protocol: (&str, u64),
        options: ClientOptions,
    ) -> Client {
        Client::new(self.address.to_string(), protocol, "alice", identity, options)
    }

    /// A client, and so a connection, of this user.
    pub fn client_of(&self, user: &str) -> Client {
        let (address, identity) = (self.address.to_string(), Identity::random());
        Client::new(address, PROTOCOL, user, identity, ClientOptions::default())
    }
}
