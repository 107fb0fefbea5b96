//! A cluster with one DataNode, and the requests of one user.

use std::net::SocketAddr;

use config::Configuration;
use server::{Credentials, Server, ServerOptions};
use testkit::{S3Answer, S3Request, S3Signer};

pub struct Cluster {
    server: Server,
    address: SocketAddr,
    _dir: tempfile::TempDir,
}

impl Cluster {
    /// A cluster with a bucket, called `bucket`.
    pub async fn start() -> Self {
        testkit::log();
        let dir = tempfile::tempdir().unwrap();
        let builder = Configuration::builder().define("trioxide.server.ports=free").unwrap();
        let credentials =
            Credentials { access_key: "tester".to_owned(), secret_key: "a-secret".to_owned() };
        let server = Server::start(ServerOptions {
            dir: dir.path().to_owned(),
            oms: None,
            scms: None,
            datanodes: Some(1),
            disks: None,
            bind: "127.0.0.1".to_owned(),
            conf: builder.build().unwrap(),
            credentials: Some(credentials),
        });
        let server = server.await.unwrap();
        let address = server
            .endpoints()
            .s3
            .as_deref()
            .unwrap()
            .strip_prefix("http://")
            .unwrap()
            .parse()
            .unwrap();
        let cluster = Self { server, address, _dir: dir };
        assert_eq!(cluster.send(&S3Request::new("PUT", "/bucket")).await.status, 200);
        cluster
    }

    /// A client of the cluster's OM.
    pub fn client(&self) -> client::Client {
        client::Client::connect(self.server.client_configuration()).unwrap()
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn signer(&self) -> S3Signer {
        let credentials = self.server.credentials();
        S3Signer::new(&credentials.access_key, &credentials.secret_key)
    }

    pub async fn send(&self, request: &S3Request) -> S3Answer {
        request.send(self.address, &self.signer()).await
    }

    /// A request without headers and body.
    pub async fn ask(&self, method: &str, target: &str) -> S3Answer {
        self.send(&S3Request::new(method, target)).await
    }

    /// Stores an object; returns its ETag.
    pub async fn put(&self, target: &str, body: impl Into<Vec<u8>>) -> String {
        let answer = self.send(&S3Request::new("PUT", target).body(body)).await;
        assert_eq!(answer.status, 200, "{target}: {}", answer.text());
        answer.header("etag").unwrap().to_owned()
    }

    /// The content of an existing object.
    pub async fn get(&self, target: &str) -> Vec<u8> {
        let answer = self.ask("GET", target).await;
        assert_eq!(answer.status, 200, "{target}: {}", answer.text());
        answer.body
    }

    /// The names in the bucket, in order.
    pub async fn names(&self) -> Vec<String> {
        self.ask("GET", "/bucket?list-type=2").await.elements("Key")
    }

    pub async fn stop(self) {
        self.server.shutdown().await;
    }
}

/// A status and a code, as returned by `S3Answer::outcome`.
pub fn code(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

/// Bytes without repetition.
pub fn data(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8 ^ (i >> 12) as u8).collect()
}
