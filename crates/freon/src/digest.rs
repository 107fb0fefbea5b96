//! Digests of keys and files, by which generated content is compared.

use client::{Client, KeyPath};
use futures::TryStreamExt;
use sha2::{Digest as _, Sha256};

use crate::FreonError;

/// SHA-256 and length of a content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Digest {
    sha256: Vec<u8>,
    bytes: u64,
}

impl Digest {
    /// Reads a key to its end.
    pub(crate) async fn of_key(client: &Client, key: &KeyPath) -> Result<Self, FreonError> {
        let (_, mut pieces) = client.begin_key(key).await?;
        let mut sha = Sha256::new();
        let mut bytes = 0;
        while let Some(piece) = pieces.try_next().await? {
            sha.update(&piece);
            bytes += piece.len() as u64;
        }
        Ok(Self { sha256: sha.finalize().to_vec(), bytes })
    }

    /// Digest of bytes in memory.
    pub(crate) fn of_bytes(content: &[u8]) -> Self {
        Self { sha256: Sha256::digest(content).to_vec(), bytes: content.len() as u64 }
    }

    /// Returns an error if `self`, read from `name`, differs from the first one.
    pub(crate) fn compare(
        &self,
        first: &Self,
        name: &impl std::fmt::Display,
    ) -> Result<(), FreonError> {
        match self.sha256 == first.sha256 {
            true => Ok(()),
            false => Err(FreonError::Content {
                key: name.to_string(),
                expected: hex::encode(&first.sha256),
                found: hex::encode(&self.sha256),
            }),
        }
    }

    /// Length of the content.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}
