//! Block groups one after the other.

use std::time::Instant;

use erasure::Codec;
use futures::future::join;
use limits::MemoryPermit;
use proto::datanode::Result as ContainerResult;
use proto::ozone::{KeyInfo, KeyLocation};
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

use super::group::{Failures, GroupWriter, StripeFailure};
use super::parity::Parity;
use super::put::Put;
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

/// A stripe on its way.
struct Pending {
    stripe: Stripe,
    parity: Parity,
    /// The key ends with it.
    last: bool,
}

/// A stripe whose PutBlock failed.
struct Unacknowledged {
    failure: StripeFailure,
    pending: Pending,
}

/// A PutBlock on its way: the bytes of the group that are acknowledged with it. It keeps its
/// stripe, and the memory of it, until then.
type PutTask = AbortOnDropHandle<Result<u64, Unacknowledged>>;

/// Writes stripes to block groups. The cells of a stripe are written while the PutBlock of the one
/// before is on its way.
pub(super) struct GroupsWriter {
    session: Session,
    codec: Codec,
    group: Option<GroupWriter>,
    /// That of the last stripe of `group`.
    put: Option<PutTask>,
    done: Vec<KeyLocation>,
    /// Groups that failed since a stripe was last acknowledged.
    failed: u32,
}

impl GroupsWriter {
    pub(super) fn new(session: Session, codec: Codec) -> Self {
        Self { session, codec, group: None, put: None, done: Vec::new(), failed: 0 }
    }

    /// Writes a stripe, to as many groups as it takes; it is acknowledged by the time that the next
    /// one is written, or by [`finish`](Self::finish). The key ends with it when it is the `last`.
    pub(super) async fn write(&mut self, stripe: Stripe, last: bool) -> Result<()> {
        let cells = stripe.cells.clone();
        let parity = Parity::of(self.codec.clone(), cells, self.session.options().checksum);
        self.write_all(vec![Pending { stripe, parity, last }]).await
    }

    /// Makes the key of `written` bytes visible.
    pub(super) async fn finish(mut self, written: u64, options: FinishOptions) -> Result<KeyInfo> {
        while self.put.is_some() {
            let again = self.wait_for_put().await?;
            self.write_all(again.into_iter().collect()).await?;
        }
        if let Some(mut group) = self.group.take() {
            group.end().await;
            self.done.extend(group.into_location());
        }
        self.session.commit(written, self.done, options).await
    }

    /// Writes stripes, of which the first is the last of the list.
    async fn write_all(&mut self, mut stripes: Vec<Pending>) -> Result<()> {
        let begun = Instant::now();
        loop {
            if self.group.as_ref().is_some_and(GroupWriter::is_full) {
                // Its last stripe may have to be written again, before any other.
                stripes.extend(self.wait_for_put().await?);
            }
            let Some(pending) = stripes.pop() else { return Ok(()) };
            stripes.extend(self.write_one(pending, begun).await?);
        }
    }

    /// Writes the cells of a stripe and begins its PutBlock. Returns what has to be written to
    /// another group, the first stripe last.
    async fn write_one(&mut self, mut pending: Pending, begun: Instant) -> Result<Vec<Pending>> {
        let mut group = match self.group.take() {
            Some(group) => group,
            None => self.open_group(begun).await?,
        };
        let cells = group.write_cells(&pending.stripe.cells, &mut pending.parity);
        let (put, cells) = join(ended(self.put.take()), cells).await;
        let mut failures = Vec::new();
        let cells = match cells {
            Ok(cells) => Some(cells),
            Err(StripeFailure::Fatal(error)) => return Err(error),
            Err(StripeFailure::Replicas(failed)) => {
                failures.extend(failed);
                None
            }
        };
        let mut unacknowledged = None;
        match put? {
            None => {}
            Some(Ok(length)) => self.acknowledge(&mut group, length),
            Some(Err(Unacknowledged { failure: StripeFailure::Fatal(error), .. })) => {
                return Err(error);
            }
            Some(Err(Unacknowledged { failure: StripeFailure::Replicas(failed), pending })) => {
                failures.extend(failed);
                unacknowledged = Some(pending);
            }
        }
        if let Some(cells) = cells
            && unacknowledged.is_none()
        {
            let Pending { stripe, parity, last } = &mut pending;
            let put = group.list(cells, &stripe.cells, parity, *last).await?;
            self.group = Some(group);
            self.put = Some(begin(put, pending));
            return Ok(Vec::new());
        }
        self.give_up(group, failures).await?;
        Ok([pending].into_iter().chain(unacknowledged).collect())
    }

    /// Waits for the PutBlock of the last stripe; the group is done when it is full. Returns the
    /// stripe if it has to be written to another group.
    async fn wait_for_put(&mut self) -> Result<Option<Pending>> {
        let put = ended(self.put.take()).await?;
        let Some(mut group) = self.group.take() else { return Ok(None) };
        match put {
            None => {}
            Some(Ok(length)) => self.acknowledge(&mut group, length),
            Some(Err(Unacknowledged { failure: StripeFailure::Fatal(error), .. })) => {
                return Err(error);
            }
            Some(Err(Unacknowledged { failure: StripeFailure::Replicas(failures), pending })) => {
                self.give_up(group, failures).await?;
                return Ok(Some(pending));
            }
        }
        match group.is_full() {
            true => self.done.extend(group.into_location()),
            false => self.group = Some(group),
        }
        Ok(None)
    }

    fn acknowledge(&mut self, group: &mut GroupWriter, length: u64) {
        self.failed = 0;
        group.acknowledge(length);
    }

    /// Ends a group that failed; what it acknowledged stays there.
    async fn give_up(&mut self, group: GroupWriter, failures: Failures) -> Result<()> {
        let is_reluctant = group.is_reluctant();
        let last_error = self.exclude(&group, failures);
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
        Ok(())
    }

    /// Opens the next group for a stripe whose writing began at a moment.
    ///
    /// A group of what is avoided is given out when there are too few DataNodes besides. What
    /// failed before the stripe was begun may be back by now: then only what failed since is
    /// avoided, and another group asked for.
    async fn open_group(&mut self, begun: Instant) -> Result<GroupWriter> {
        let group = self.next_group().await?;
        if group.is_reluctant() && self.session.client.excluded().remove_failed_before(begun) {
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
    fn exclude(&self, group: &GroupWriter, failures: Failures) -> Error {
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

/// Sends a PutBlock in the background.
fn begin(put: Put, pending: Pending) -> PutTask {
    let sent = async move {
        let outcome = put.send().await;
        outcome.map_err(|failure| Unacknowledged { failure, pending })
    };
    AbortOnDropHandle::new(tokio::spawn(sent.in_current_span()))
}

/// What became of a PutBlock, if there is one.
async fn ended(put: Option<PutTask>) -> Result<Option<Result<u64, Unacknowledged>>> {
    let Some(put) = put else { return Ok(None) };
    let ended = put.await.map_err(|e| Error::Usage(format!("a stripe was not put: {e}")))?;
    Ok(Some(ended))
}
