//! Collects a stripe while earlier ones are written.

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use erasure::{Codec, Scheme};
use futures::future::BoxFuture;
use proto::ozone::KeyInfo;
use types::replication::EcConfig;

use super::groups::GroupsWriter;
use super::stripe::Stripe;
use crate::write::chunk::ChunkBuffer;
use crate::write::reservation::Reservation;
use crate::write::session::{FinishOptions, Session};
use crate::{Checksum, Error, Result};

/// Time for which an incomplete stripe is kept when others wait for memory, and when there is none
/// for more of it: the block group ends with an incomplete stripe, so that a key with many of them
/// has many groups.
const KEEP_PART: Duration = Duration::from_secs(10);

/// Writes one erasure-coded key. It holds in memory one stripe being collected, the unacknowledged
/// ones, and their parity: [`crate::ClientOptions::max_unacknowledged_ec`] and one stripe at most,
/// or five stripes if that is more.
pub(in crate::write) struct StripedWriter {
    scheme: Scheme,
    checksum: Checksum,
    /// Its expected size; 0 if unknown.
    size_hint: u64,
    written: u64,
    cell: ChunkBuffer,
    stripe: Stripe,
    /// Memory of the stripe and of its parity.
    memory: Reservation,
    groups: Box<GroupsWriter>,
}

impl StripedWriter {
    pub(in crate::write) fn new(session: Session) -> Result<Self> {
        let config = session.erasure_coding();
        let config = config.ok_or_else(|| Error::om_reply("a key without erasure coding"))?;
        let config = EcConfig::from_wire(config).map_err(|e| Error::om_reply(e.to_string()))?;
        let scheme = Scheme::new(config).map_err(|e| Error::om_reply(e.to_string()))?;
        Ok(Self {
            checksum: session.options().checksum,
            scheme,
            size_hint: session.size_hint(),
            written: 0,
            cell: ChunkBuffer::default(),
            stripe: Stripe::default(),
            memory: Reservation::new(&session.client),
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
            if self.room() == 0 {
                self.grow().await?;
            }
            let room = self.room().min(chunk.saturating_sub(self.cell.len()));
            let part = data.split_to(room.min(data.len()));
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
        // The last stripe is marked as the last.
        if self.size_hint > 0 && self.written >= self.size_hint {
            return Ok(());
        }
        if self.is_full() {
            self.send(false).await?;
        }
        if self.room() > 0 {
            return Ok(());
        }
        self.grow().await
    }

    /// As [`crate::KeyWriter::is_wanted`].
    pub(in crate::write) async fn is_wanted(&mut self) {
        self.memory.is_wanted(self.groups.has_unacknowledged()).await;
    }

    /// As [`crate::KeyWriter::give_way`].
    pub(in crate::write) async fn give_way(&mut self) -> Result<()> {
        let gathered = self.with_parity(self.gathered());
        if self.memory.age() >= KEEP_PART {
            self.send_part().await?;
        }
        self.memory.is_slow(gathered);
        self.memory.give_back(self.with_parity(self.gathered()));
        self.groups.put_all().await
    }

    /// Acquires memory for more of the stripe.
    fn grow(&mut self) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.wait_for_memory())
    }

    async fn wait_for_memory(&mut self) -> Result<()> {
        let Some((class, key)) = self.memory.from() else { return Ok(()) };
        let gathered = self.with_parity(self.gathered());
        let amount = self.memory.next(gathered, self.next_stripe());
        if let Some(memory) = class.try_acquire(&key, amount) {
            self.memory.add(memory);
            return Ok(());
        }
        let mut acquire = pin!(class.acquire(&key, amount));
        let mut releases = class.releases(&key);
        // Stripes in flight need no more memory, and release theirs.
        let memory = loop {
            self.groups.put_soon().await?;
            let has_part = self.gathered() > 0;
            tokio::select! {
                memory = &mut acquire => break memory,
                Some(ended) = self.groups.ended() => self.groups.take_in(ended).await?,
                () = tokio::time::sleep(KEEP_PART), if has_part => {
                    // All memory may be held by writers that wait for more.
                    if class.releases(&key) == releases {
                        self.send_part().await?;
                    }
                    releases = class.releases(&key);
                }
            }
        };
        self.memory.add(memory);
        Ok(())
    }

    /// As [`crate::KeyWriter::finish`].
    pub(in crate::write) async fn finish(mut self, options: FinishOptions) -> Result<KeyInfo> {
        if self.gathered() > 0 {
            self.send(true).await?;
        }
        self.groups.finish(self.written, options).await
    }

    fn is_full(&self) -> bool {
        self.stripe.cells.len() >= self.scheme.data()
    }

    /// Number of collected bytes of the stripe.
    fn gathered(&self) -> u64 {
        let cells = self.stripe.cells.iter().map(|cell| cell.len as u64);
        cells.fold(self.cell.len() as u64, u64::saturating_add)
    }

    /// Size of these bytes of a stripe with their parity.
    fn with_parity(&self, data: u64) -> u64 {
        data + data.min(u64::from(self.scheme.chunk_size())) * self.scheme.parity() as u64
    }

    /// Bytes of the stripe and of its parity: of a full one, unless the key is expected to end
    /// before.
    fn next_stripe(&self) -> u64 {
        let full = self.scheme.stripe_size();
        let gathered = self.gathered();
        let begun_at = self.written.saturating_sub(gathered);
        let data = match self.size_hint.saturating_sub(begun_at) {
            // Also if there is more data than expected.
            left if left <= gathered => full,
            left => left.min(full),
        };
        self.with_parity(data)
    }

    /// Number of bytes that can be added to the stripe within its memory.
    fn room(&self) -> usize {
        let memory = self.memory.room(self.next_stripe());
        let parity = self.scheme.parity() as u64;
        let cell = u64::from(self.scheme.chunk_size());
        let data = match memory.checked_sub(cell * (1 + parity)) {
            Some(more) => cell.saturating_add(more),
            None => memory / (1 + parity),
        };
        usize::try_from(data.saturating_sub(self.gathered())).unwrap_or(usize::MAX)
    }

    /// The collected stripe, with its memory.
    fn take_stripe(&mut self) -> Stripe {
        if self.cell.len() > 0 {
            self.stripe.cells.push(self.cell.take(self.checksum));
        }
        let memory = self.memory.take(self.with_parity(self.gathered()));
        Stripe { _memory: memory, ..std::mem::take(&mut self.stripe) }
    }

    /// Sends the collected data, although more of the stripe may follow: the block group ends with
    /// it.
    async fn send_part(&mut self) -> Result<()> {
        if self.is_full() {
            return self.send(false).await;
        }
        if self.gathered() > 0 {
            let stripe = self.take_stripe();
            self.groups.write_last(stripe).await?;
        }
        Ok(())
    }

    /// Sends the collected stripe.
    fn send(&mut self, last: bool) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let stripe = self.take_stripe();
            // A key that is longer than expected may be of any length.
            let left = self.size_hint.checked_sub(self.written).filter(|_| self.size_hint > 0);
            self.groups.write(stripe, last, left.unwrap_or(u64::MAX)).await
        })
    }
}
