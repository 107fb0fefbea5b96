//! Secrets of access ids: from OM, plus one pair that may be set at start.

use std::time::Duration;

use client::{Client, ErrorKind};
use moka::future::Cache;
use s3s::auth::{S3Auth, SecretKey};
use s3s::{S3Error, S3ErrorCode, S3Result};

use crate::errors::{Subject, s3_error};

/// Cache lifetime of a secret: the longest time a revoked secret stays valid.
const SECRET_TTL: Duration = Duration::from_secs(60);

/// Cache lifetime of an unknown access id, so that guessing does not reach OM.
const UNKNOWN_ID_TTL: Duration = Duration::from_secs(2);

/// Maximum number of cached access ids.
const MOST: u64 = 100_000;

/// Looks up secrets.
pub(crate) struct Secrets {
    client: Client,
    given: Option<(String, String)>,
    known: Cache<String, String>,
    unknown: Cache<String, ()>,
}

impl Secrets {
    pub(crate) fn new(client: Client, given: Option<(String, String)>) -> Self {
        let cache = |ttl| Cache::builder().max_capacity(MOST).time_to_live(ttl);
        Self {
            client,
            given,
            known: cache(SECRET_TTL).build(),
            unknown: Cache::builder().max_capacity(MOST).time_to_live(UNKNOWN_ID_TTL).build(),
        }
    }

    async fn secret(&self, access_id: &str) -> S3Result<String> {
        if let Some((id, secret)) = &self.given
            && id == access_id
        {
            return Ok(secret.clone());
        }
        if let Some(secret) = self.known.get(access_id).await {
            return Ok(secret);
        }
        if self.unknown.contains_key(access_id) {
            return Err(no_such_access_key());
        }
        match self.client.s3_secret(access_id, false).await {
            Ok(secret) => {
                self.known.insert(access_id.to_owned(), secret.clone()).await;
                Ok(secret)
            }
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Denied) => {
                self.unknown.insert(access_id.to_owned(), ()).await;
                Err(no_such_access_key())
            }
            Err(error) => Err(s3_error(Subject::Bucket, error)),
        }
    }
}

fn no_such_access_key() -> S3Error {
    S3Error::with_message(
        S3ErrorCode::InvalidAccessKeyId,
        "The AWS Access Key Id you provided does not exist in our records.",
    )
}

#[async_trait::async_trait]
impl S3Auth for Secrets {
    async fn get_secret_key(&self, access_key: &str) -> S3Result<SecretKey> {
        self.secret(access_key).await.map(SecretKey::from)
    }
}
