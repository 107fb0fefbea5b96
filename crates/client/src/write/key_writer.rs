//! The handle by which a caller writes a key.

use bytes::Bytes;
use futures::future::BoxFuture;
use proto::hdds::KeyValue;
use proto::ozone::KeyInfo;

use super::replicated::ReplicatedWriter;
use super::session::{FinishOptions, Session};
use super::striped::StripedWriter;
use crate::om::args::{CreateKey, KeyPath};
use crate::{Client, Error, Result};

/// Writes one key. Bytes are on their way while more come; a bounded amount is kept until it is
/// durable, so that it can be written again elsewhere. Dropping it abandons the key.
pub struct KeyWriter {
    path: KeyPath,
    metadata: Vec<KeyValue>,
    written: u64,
    data: Data,
}

/// How the bytes are stored.
enum Data {
    Replicated(Box<ReplicatedWriter>),
    Striped(Box<StripedWriter>),
}

impl KeyWriter {
    pub(crate) async fn open(client: Client, key: CreateKey) -> Result<Self> {
        let path = key.path.clone();
        let session = Session::open(client, key).await?;
        let metadata = session.metadata().to_vec();
        let data = match session.erasure_coding() {
            Some(_) => Data::Striped(Box::new(StripedWriter::new(session)?)),
            None => Data::Replicated(Box::new(ReplicatedWriter::new(session))),
        };
        Ok(Self { path, metadata, written: 0, data })
    }

    /// Where the key will be.
    pub fn path(&self) -> &KeyPath {
        &self.path
    }

    /// A value of the open key's metadata, as OM has it: for a part, with what its upload says of
    /// its parts.
    pub fn metadata(&self, name: &str) -> Option<&str> {
        let entry = self.metadata.iter().find(|entry| entry.key == name)?;
        entry.value.as_deref()
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Appends `data`. Returns when it is on its way, or waits while too much is unacknowledged.
    ///
    /// # Errors
    /// When the data cannot be written through any pipeline; the writer is of no use afterwards.
    // Not boxed: it is called for each piece of a chunk. What it does once a chunk is.
    pub async fn write(&mut self, data: Bytes) -> Result<()> {
        self.written += data.len() as u64;
        match &mut self.data {
            Data::Replicated(writer) => writer.write(data).await,
            Data::Striped(writer) => writer.write(data).await,
        }
    }

    /// Waits until there is memory for what is to be written next
    /// ([`crate::ClientOptions::memory`]). A caller that gets the data from elsewhere asks for it
    /// afterwards only.
    ///
    /// # Errors
    /// As [`KeyWriter::write`].
    pub async fn ready(&mut self) -> Result<()> {
        match &mut self.data {
            Data::Replicated(writer) => writer.ready().await,
            Data::Striped(writer) => writer.ready().await,
        }
    }

    /// Waits until others wait for memory that this writer has while its caller waits for more to
    /// write: [`KeyWriter::give_way`] is called for then.
    pub async fn is_wanted(&mut self) {
        match &mut self.data {
            Data::Replicated(writer) => writer.is_wanted().await,
            Data::Striped(writer) => writer.is_wanted().await,
        }
    }

    /// Gives memory back to others that wait for it: sends what was written so far on its way,
    /// although it is less than is sent at a time otherwise. Of an erasure-coded key what is
    /// no whole stripe is kept for a while, since its block group ends with it.
    ///
    /// # Errors
    /// As [`KeyWriter::write`].
    pub fn give_way(&mut self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            match &mut self.data {
                Data::Replicated(writer) => writer.give_way().await,
                Data::Striped(writer) => writer.give_way().await,
            }
        })
    }

    /// Makes durable and visible what was written so far; the key stays open for more. The servers
    /// must allow it (`ozone.fs.hsync.enabled`).
    ///
    /// # Errors
    /// As [`KeyWriter::write`]; `NOT_SUPPORTED_OPERATION` when the servers do not allow it, a usage
    /// error for keys that are erasure-coded or part of a multipart upload.
    pub fn hsync(&mut self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            match &mut self.data {
                Data::Replicated(writer) => writer.hsync().await,
                Data::Striped(_) => {
                    let path = &self.path;
                    Err(Error::Usage(format!("{path} is erasure-coded and cannot be synced")))
                }
            }
        })
    }

    /// Makes the key durable and visible.
    ///
    /// # Errors
    /// When data or key cannot be made durable, or a precondition of the key does not hold any
    /// more.
    pub fn finish(self, options: FinishOptions) -> BoxFuture<'static, Result<KeyInfo>> {
        Box::pin(async move {
            match self.data {
                Data::Replicated(writer) => writer.finish(options).await,
                Data::Striped(writer) => writer.finish(options).await,
            }
        })
    }
}
