//! Gathers a stripe while the ones before are written.

use std::pin::pin;

use bytes::Bytes;
use erasure::{Codec, Scheme};
use futures::FutureExt;
use futures::future::BoxFuture;
use limits::{MemoryBudget, MemoryClass};
use proto::ozone::KeyInfo;
use types::replication::EcConfig;

use super::groups::GroupsWriter;
use super::stripe::Stripe;
use crate::write::chunk::ChunkBuffer;
use crate::write::session::{FinishOptions, Session};
use crate::{Checksum, Client, Error, Result};

/// Writes one erasure-coded key. In memory are a stripe that is gathered, those that are not
/// acknowledged, and the parity of them: [`crate::ClientOptions::max_unacknowledged_ec`] and a
/// stripe at most, or five stripes where that is more.
pub(in crate::write) struct StripedWriter {
    client: Client,
    scheme: Scheme,
    checksum: Checksum,
    /// Its size as far as it was known beforehand; 0 when it was not.
    size_hint: u64,
    written: u64,
    cell: ChunkBuffer,
    stripe: Stripe,
    groups: Box<GroupsWriter>,
}

impl StripedWriter {
    pub(in crate::write) fn new(session: Session) -> Result<Self> {
        let config = session.erasure_coding();
        let config = config.ok_or_else(|| Error::om_reply("a key without erasure coding"))?;
        let config = EcConfig::from_wire(config).map_err(|e| Error::om_reply(e.to_string()))?;
        let scheme = Scheme::new(config).map_err(|e| Error::om_reply(e.to_string()))?;
        let (client, size_hint) = (session.client.clone(), session.size_hint());
        Ok(Self {
            checksum: session.options().checksum,
            client,
            scheme,
            size_hint,
            written: 0,
            cell: ChunkBuffer::default(),
            stripe: Stripe::default(),
            groups: Box::new(GroupsWriter::new(session, Codec::new(scheme))),
        })
    }

    /// As [`crate::KeyWriter::write`].
    pub(in crate::write) async fn write(&mut self, mut data: Bytes) -> Result<()> {
        let chunk = self.scheme.chunk_size() as usize;
        while !data.is_empty() {
            if self.is_full() {
                self.send(false).await?;
            }
            self.ready().await?;
            let part = data.split_to(chunk.saturating_sub(self.cell.len()).min(data.len()));
            self.written += part.len() as u64;
            self.cell.push(part);
            if self.cell.len() >= chunk {
                self.stripe.cells.push(self.cell.take(self.checksum));
            }
        }
        Ok(())
    }

    /// As [`crate::KeyWriter::ready`].
    pub(in crate::write) async fn ready(&mut self) -> Result<()> {
        if self.is_full() {
            // The last stripe says that it is the last.
            if self.size_hint > 0 && self.written >= self.size_hint {
                return Ok(());
            }
            self.send(false).await?;
        }
        if self.stripe.memory.is_some() || self.client.options().memory.is_none() {
            return Ok(());
        }
        self.begin_stripe().await
    }

    /// Gets the memory of the next stripe.
    fn begin_stripe(&mut self) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.wait_for_memory())
    }

    async fn wait_for_memory(&mut self) -> Result<()> {
        let Some(budget) = &self.client.options().memory else { return Ok(()) };
        let class = budget.class(MemoryClass::Upload).clone();
        let key = MemoryBudget::key(&self.client.user());
        let mut acquire = pin!(class.acquire(&key, self.next_stripe()));
        // Stripes that are being written need no more memory, and give theirs back.
        let memory = loop {
            if let Some(memory) = (&mut acquire).now_or_never() {
                break memory;
            }
            self.groups.put_soon().await?;
            tokio::select! {
                memory = &mut acquire => break memory,
                Some(ended) = self.groups.ended() => self.groups.take_in(ended).await?,
            }
        };
        self.stripe.memory = Some(memory);
        Ok(())
    }

    /// As [`crate::KeyWriter::finish`].
    pub(in crate::write) async fn finish(mut self, options: FinishOptions) -> Result<KeyInfo> {
        if self.cell.len() > 0 {
            self.stripe.cells.push(self.cell.take(self.checksum));
        }
        if !self.stripe.cells.is_empty() {
            self.send(true).await?;
        }
        self.groups.finish(self.written, options).await
    }

    fn is_full(&self) -> bool {
        self.stripe.cells.len() >= self.scheme.data()
    }

    /// Bytes of the stripe that begins now and of its parity: a full one, unless the key is known
    /// to end before.
    fn next_stripe(&self) -> u64 {
        let full = self.scheme.stripe_size();
        let data = match self.size_hint.saturating_sub(self.written) {
            0 => full,
            left => left.min(full),
        };
        let cell = data.min(u64::from(self.scheme.chunk_size()));
        data + cell * self.scheme.parity() as u64
    }

    /// Sends the stripe that was gathered.
    fn send(&mut self, last: bool) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let stripe = std::mem::take(&mut self.stripe);
            // A key that is longer than it was said to be may go on for ever.
            let left = self.size_hint.checked_sub(self.written).filter(|_| self.size_hint > 0);
            self.groups.write(stripe, last, left.unwrap_or(u64::MAX)).await
        })
    }
}
