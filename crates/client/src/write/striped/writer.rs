//! Gathers a stripe while the one before is written.

use bytes::Bytes;
use erasure::{Codec, Scheme};
use limits::{MemoryBudget, MemoryClass};
use proto::ozone::KeyInfo;
use tokio::task::JoinHandle;
use tracing::Instrument;
use types::replication::EcConfig;

use super::groups::{GroupsWriter, Stripe};
use crate::write::chunk::ChunkBuffer;
use crate::write::session::{FinishOptions, Session};
use crate::{Checksum, Client, Error, Result};

/// Writes one erasure-coded key. At most three stripes and their parity are in memory: one that is
/// gathered, one whose cells are written, one that is not acknowledged yet.
pub(in crate::write) struct StripedWriter {
    client: Client,
    scheme: Scheme,
    checksum: Checksum,
    /// Its size as far as it was known beforehand; 0 when it was not.
    size_hint: u64,
    written: u64,
    cell: ChunkBuffer,
    stripe: Stripe,
    groups: Groups,
}

/// Where the block groups are.
enum Groups {
    Idle(Box<GroupsWriter>),
    Writing(Task),
    /// A stripe could not be written.
    Failed,
}

/// Writes a stripe in the background, as long as this is there.
struct Task(JoinHandle<(Box<GroupsWriter>, Result<()>)>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
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
            groups: Groups::Idle(Box::new(GroupsWriter::new(session, Codec::new(scheme)))),
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
        if self.stripe.memory.is_some() {
            return Ok(());
        }
        let Some(budget) = &self.client.options().memory else { return Ok(()) };
        // The stripes that are being written need no more memory, so that this is waited for in
        // vain never.
        let key = MemoryBudget::key(&self.client.user());
        let memory = budget.class(MemoryClass::Upload).acquire(&key, self.next_stripe()).await;
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
        let groups = self.groups().await?;
        groups.finish(self.written, options).await
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

    /// Has the stripe written, once the one before is.
    async fn send(&mut self, last: bool) -> Result<()> {
        let mut groups = self.groups().await?;
        let stripe = std::mem::take(&mut self.stripe);
        let writing = async move {
            let outcome = groups.write(stripe, last).await;
            (groups, outcome)
        };
        self.groups = Groups::Writing(Task(tokio::spawn(writing.in_current_span())));
        Ok(())
    }

    /// Waits for the stripe that is being written.
    async fn groups(&mut self) -> Result<Box<GroupsWriter>> {
        if let Groups::Writing(task) = &mut self.groups {
            let written = (&mut task.0).await;
            self.groups = Groups::Failed;
            let (groups, outcome) =
                written.map_err(|e| Error::Usage(format!("a stripe was not written: {e}")))?;
            outcome?;
            return Ok(groups);
        }
        match std::mem::replace(&mut self.groups, Groups::Failed) {
            Groups::Idle(groups) => Ok(groups),
            _ => Err(Error::Usage("a stripe could not be written before".to_owned())),
        }
    }
}
