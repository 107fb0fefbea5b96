//! Reads of keys that are overwritten concurrently: before any data was returned, they can continue
//! with the new version.

use bytes::Bytes;
use futures::future::BoxFuture;

use super::{KeyReader, Pieces};
use crate::om::args::KeyPath;
use crate::{Client, ErrorKind, Result};

/// Maximum number of versions tried of a key that is overwritten, and its old blocks deleted,
/// faster than it is read.
const MOST_VERSIONS: u32 = 10;

/// Repeats `read`, which opens a key and returns no data before it succeeds, if the key was
/// overwritten concurrently.
///
/// # Errors
/// As `read`.
pub async fn newest<T, F>(mut read: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let mut versions = 1;
    loop {
        match read().await {
            Err(error) if error.kind() == ErrorKind::Overwritten && versions < MOST_VERSIONS => {
                tracing::debug!(%error, versions, "reading the new version");
                versions += 1;
            }
            outcome => return outcome,
        }
    }
}

impl Client {
    /// Opens a key and starts to read all of it: the first bytes have arrived when this returns. It
    /// is the new version if the key is overwritten before that; afterwards it is this version or
    /// an error.
    ///
    /// # Errors
    /// As [`Client::open_key`], and as the items of [`KeyReader::stream`].
    pub fn begin_key<'a>(
        &'a self,
        path: &'a KeyPath,
    ) -> BoxFuture<'a, Result<(KeyReader, Pieces)>> {
        Box::pin(async move {
            newest(|| async {
                let reader = self.open_key(path).await?;
                let pieces = reader.begin(0..reader.len()).await?;
                Ok((reader, pieces))
            })
            .await
        })
    }

    /// A whole key in memory; the new version if it is overwritten concurrently.
    ///
    /// # Errors
    /// As [`Client::open_key`] and [`KeyReader::read`].
    pub fn read_key<'a>(&'a self, path: &'a KeyPath) -> BoxFuture<'a, Result<Bytes>> {
        Box::pin(
            async move { newest(|| async { self.open_key(path).await?.read_all().await }).await },
        )
    }
}
