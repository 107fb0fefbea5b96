//! Block groups one after the other.

use std::time::Instant;

use erasure::Codec;
use limits::MemoryPermit;
use proto::datanode::Result as ContainerResult;
use proto::ozone::{KeyInfo, KeyLocation};
use types::DatanodeDetails;

use super::group::{GroupWriter, StripeFailure};
use super::parity::Parity;
use crate::datanode::Failure;
use crate::write::chunk::Chunk;
use crate::write::recover::{MAX_RETRY_DELAY, MIN_RETRY_DELAY};
use crate::write::session::{FinishOptions, Session};
use crate::{Error, Result};

/// The data cells of a stripe; those behind the end of the key are left out.
#[derive(Default)]
pub(super) struct Stripe {
    pub(super) cells: Vec<Chunk>,
    /// Memory of the cells and of their parity; given back with the stripe.
    pub(super) memory: Option<MemoryPermit>,
}

/// Writes stripes to block groups.
pub(super) struct GroupsWriter {
    session: Session,
    codec: Codec,
    group: Option<GroupWriter>,
    done: Vec<KeyLocation>,
    /// Groups that failed since a stripe was last acknowledged.
    failed: u32,
}

impl GroupsWriter {
    pub(super) fn new(session: Session, codec: Codec) -> Self {
        Self { session, codec, group: None, done: Vec::new(), failed: 0 }
    }

    /// Writes a stripe, to as many groups as it takes. The key ends with it when it is the `last`.
    pub(super) async fn write(&mut self, stripe: Stripe, last: bool) -> Result<()> {
        let cells = stripe.cells.clone();
        let mut parity = Parity::of(self.codec.clone(), cells, self.session.options().checksum);
        let begun = Instant::now();
        loop {
            let mut group = match self.group.take() {
                Some(group) => group,
                None => self.open_group(begun).await?,
            };
            let failures = match group.write(&stripe.cells, &mut parity, last).await {
                Ok(()) => {
                    self.failed = 0;
                    match group.is_full() {
                        true => self.done.extend(group.into_location()),
                        false => self.group = Some(group),
                    }
                    return Ok(());
                }
                Err(StripeFailure::Fatal(error)) => return Err(error),
                Err(StripeFailure::Replicas(failures)) => failures,
            };
            let is_reluctant = group.is_reluctant();
            let last_error = self.exclude(&group, failures);
            // What it acknowledged before stays there.
            self.done.extend(group.into_location());
            self.failed += 1;
            if self.failed > self.session.options().stripe_retries {
                return Err(Error::WriteFailed {
                    key: self.session.path.to_string(),
                    attempts: self.failed,
                    last: Box::new(last_error),
                });
            }
            if is_reluctant {
                // What is away may come back; there is nothing else.
                let pause = MIN_RETRY_DELAY.saturating_mul(1 << self.failed.min(5));
                tokio::time::sleep(pause.min(MAX_RETRY_DELAY)).await;
            }
        }
    }

    /// Makes the key of `written` bytes visible.
    pub(super) async fn finish(mut self, written: u64, options: FinishOptions) -> Result<KeyInfo> {
        if let Some(mut group) = self.group.take() {
            group.end().await;
            self.done.extend(group.into_location());
        }
        self.session.commit(written, self.done, options).await
    }

    /// Opens the next group for a stripe whose writing began at a moment.
    ///
    /// A group of what is avoided is given out when there are too few DataNodes besides. What
    /// failed before the stripe was begun may be back by now: then only what failed since is
    /// avoided, and another group asked for.
    async fn open_group(&mut self, begun: Instant) -> Result<GroupWriter> {
        let group = self.next_group().await?;
        if group.is_reluctant() && self.session.client.excluded().forgive_before(begun) {
            return self.next_group().await;
        }
        Ok(group)
    }

    async fn next_group(&mut self) -> Result<GroupWriter> {
        let location = self.session.next_location().await?;
        let (client, options) = (&self.session.client, self.session.options());
        let datanodes = client.datanodes().clone();
        let scheme = self.codec.scheme();
        GroupWriter::open(datanodes, scheme, location, client.excluded(), options.write_timeout)
    }

    /// Avoids a group that failed, and the nodes it failed at; returns how the last one failed.
    fn exclude(&self, group: &GroupWriter, failures: Vec<(DatanodeDetails, Failure)>) -> Error {
        let excluded = self.session.client.excluded();
        excluded.pipeline(group.pipeline().id);
        let mut last = Error::Usage("a group failed at none of its replicas".to_owned());
        for (node, failure) in failures {
            let key = &self.session.path;
            tracing::debug!(%key, block = %group.id(), node = %node, ?failure, "stripe failed");
            match &failure {
                Failure::Refused(Error::Container { result, .. })
                    if *result != ContainerResult::DiskOutOfSpace =>
                {
                    excluded.container(group.id().container);
                }
                Failure::NoPipeline(_) | Failure::NotLeader(_) => {
                    excluded.container(group.id().container);
                }
                _ => excluded.datanode(node.id),
            }
            last = failure.into_error(node.id);
        }
        last
    }
}
