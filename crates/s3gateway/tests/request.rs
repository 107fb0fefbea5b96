//! Requests with the key pair of the gateway under test.

use std::net::SocketAddr;

use testkit::{BegunAnswer, S3Request, S3Signer};

pub const ACCESS_KEY: &str = "tester";
pub const SECRET_KEY: &str = "a-secret";

pub fn signer() -> S3Signer {
    S3Signer::new(ACCESS_KEY, SECRET_KEY)
}

/// Sends GET for `/bucket/key`, and waits for the response's head.
pub async fn get(address: SocketAddr, path: &str) -> BegunAnswer {
    BegunAnswer::of(address, &S3Request::new("GET", path).head(address, &signer())).await
}

/// Copies `/bucket/source` to `/bucket/key`.
pub async fn copy(address: SocketAddr, source: &str, path: &str) -> BegunAnswer {
    let request = S3Request::new("PUT", path).header("x-amz-copy-source", source);
    BegunAnswer::of(address, &request.head(address, &signer())).await
}
