//! Writes of one block group after the other.

use std::time::Instant;

use erasure::Codec;
use futures::FutureExt;
use proto::datanode::Result as ContainerResult;
use proto::ozone::{KeyInfo, KeyLocation};
use tokio::task::JoinError;

use super::failure::Failures;
use super::group::GroupWriter;
use super::stripe::{Pending, Stripe};
use super::unacknowledged::{Ended, Taken, Unacknowledged, When};
use crate::datanode::Failure;
use crate::write::recover::{MAX_RETRY_DELAY, MIN_RETRY_DELAY};
use crate::write::session::{FinishOptions, Session};
use crate::{Error, Result};

/// Number of stripes whose cells are in flight. A stripe is complete when the slowest of its
/// replicas has stored its cell; in the meantime the others store cells of the next stripes.
const WRITING: usize = 4;

/// A group with its unacknowledged stripes.
struct Open {
    group: GroupWriter,
    stripes: Unacknowledged,
}

/// Writes stripes to block groups. Cells of a stripe are written while PutBlocks of earlier ones
/// are in flight; a PutBlock lists all complete stripes.
pub(super) struct GroupsWriter {
    session: Session,
    codec: Codec,
    open: Option<Open>,
    done: Vec<KeyLocation>,
    /// Bytes that follow the stripes accepted so far; `u64::MAX` if unknown.
    left: u64,
    /// Number of groups that failed since the last acknowledgement.
    failed: u32,
    /// A permanent failure, or an operation cancelled in the middle: bytes may be missing.
    is_broken: bool,
}

impl GroupsWriter {
    pub(super) fn new(session: Session, codec: Codec) -> Self {
        let (left, failed, is_broken) = (u64::MAX, 0, false);
        Self { session, codec, open: None, done: Vec::new(), left, failed, is_broken }
    }

    /// Accepts a stripe and sends it, once there is space for it; [`finish`](Self::finish)
    /// acknowledges it at the latest. The key ends with it if it is the `last`; otherwise `left`
    /// bytes follow, `u64::MAX` if unknown.
    pub(super) async fn write(&mut self, stripe: Stripe, last: bool, left: u64) -> Result<()> {
        self.begin_work()?;
        self.left = left;
        let checksum = self.session.options().checksum;
        let pending = Pending::new(stripe, last, &self.codec, checksum);
        self.write_all(vec![pending]).await?;
        self.is_broken = false;
        Ok(())
    }

    /// Writes an incomplete stripe: its group ends with it, and it is acknowledged.
    pub(super) async fn write_last(&mut self, stripe: Stripe) -> Result<()> {
        self.write(stripe, true, u64::MAX).await?;
        self.end_group().await
    }

    /// Waits until all written data is acknowledged, so that its memory is released. The group
    /// stays open.
    pub(super) async fn put_all(&mut self) -> Result<()> {
        self.begin_work()?;
        while self.has_unacknowledged() {
            let again = self.drive(When::Soon).await?;
            self.write_all(again).await?;
        }
        self.is_broken = false;
        Ok(())
    }

    /// Waits until all written data is acknowledged, and ends the group.
    async fn end_group(&mut self) -> Result<()> {
        self.begin_work()?;
        while self.has_unacknowledged() {
            let again = self.drive(When::AtEnd).await?;
            self.write_all(again).await?;
        }
        if let Some(Open { mut group, .. }) = self.open.take() {
            group.end().await;
            self.done.extend(group.into_location());
        }
        self.is_broken = false;
        Ok(())
    }

    /// Returns `true` if there are unacknowledged stripes, which hold memory.
    pub(super) fn has_unacknowledged(&self) -> bool {
        self.open.as_ref().is_some_and(|open| !open.stripes.is_empty())
    }

    /// Sends a PutBlock soon, so that memory is released.
    pub(super) async fn put_soon(&mut self) -> Result<()> {
        self.put_if_due(When::Soon).await
    }

    /// Waits for the end of an operation in flight, for [`take_in`](Self::take_in). Nothing is lost
    /// if the future is dropped.
    pub(super) async fn ended(&mut self) -> Option<Result<Ended, JoinError>> {
        self.open.as_mut()?.stripes.ended().await
    }

    /// Processes a finished operation, and retries it if it failed.
    pub(super) async fn take_in(&mut self, ended: Result<Ended, JoinError>) -> Result<()> {
        self.begin_work()?;
        let again = self.after(ended).await?;
        self.write_all(again).await?;
        self.is_broken = false;
        Ok(())
    }

    /// Makes the key of `written` bytes visible.
    pub(super) async fn finish(mut self, written: u64, options: FinishOptions) -> Result<KeyInfo> {
        self.end_group().await?;
        self.session.commit(written, self.done, options).await
    }

    /// Marks the writer as broken until the operation succeeds.
    fn begin_work(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.is_broken, true) {
            true => Err(Error::Usage("a stripe could not be written before".to_owned())),
            false => Ok(()),
        }
    }

    /// Writes stripes, of which the first is the last of the list.
    async fn write_all(&mut self, mut stripes: Vec<Pending>) -> Result<()> {
        while let Some(next) = stripes.pop() {
            let again = self.make_room().await?;
            if again.is_empty() {
                let mut open = match self.open.take() {
                    Some(open) => open,
                    None => self.open_group(next.begun).await?,
                };
                open.stripes.write(&mut open.group, next);
                self.open = Some(open);
            } else {
                // The failed stripes come before it.
                stripes.push(next);
                stripes.extend(again);
            }
        }
        Ok(())
    }

    /// Waits until another stripe may be sent. Returns the stripes that must be written to another
    /// group before, the first one last.
    async fn make_room(&mut self) -> Result<Vec<Pending>> {
        let scheme = self.codec.scheme();
        let stripe = scheme.total() * scheme.chunk_size() as usize;
        let most = self.max_unacknowledged().max(WRITING * stripe);
        while let Some(open) = &mut self.open {
            let is_full = open.group.is_full();
            let again = if is_full && open.stripes.is_empty() {
                let location = self.open.take().and_then(|open| open.group.into_location());
                self.done.extend(location);
                break;
            } else if is_full || open.stripes.writing() >= WRITING || open.stripes.bytes() >= most {
                self.drive(When::Enough).await?
            } else if let Some(Some(ended)) = open.stripes.ended().now_or_never() {
                self.after(ended).await?
            } else {
                break;
            };
            if !again.is_empty() {
                return Ok(again);
            }
        }
        Ok(Vec::new())
    }

    /// Waits for an operation in flight. Returns the stripes that must be written to another group,
    /// the first one last.
    async fn drive(&mut self, when: When) -> Result<Vec<Pending>> {
        self.put_if_due(when).await?;
        match self.ended().await {
            Some(ended) => self.after(ended).await,
            None => Err(Error::Usage("a stripe waits for nothing that is on its way".to_owned())),
        }
    }

    /// Size of these bytes of the key with their parity.
    fn with_parity(&self, bytes: usize) -> usize {
        let scheme = self.codec.scheme();
        bytes.saturating_mul(scheme.total()) / scheme.data().max(1)
    }

    /// Maximum unacknowledged bytes, parity included.
    fn max_unacknowledged(&self) -> usize {
        self.with_parity(self.session.options().max_unacknowledged_ec)
    }

    async fn put_if_due(&mut self, when: When) -> Result<()> {
        let most = self.max_unacknowledged();
        let left = self.with_parity(usize::try_from(self.left).unwrap_or(usize::MAX));
        match &mut self.open {
            Some(Open { group, stripes }) => {
                // The final PutBlock lists the rest anyway. Below the limit no stripe waits for
                // one.
                let is_rest = left.saturating_add(stripes.bytes()) < most;
                let enough = if is_rest { usize::MAX } else { most / 2 };
                stripes.put_if_due(group, when, enough).await
            }
            None => Ok(()),
        }
    }

    /// Processes a finished operation. Returns the stripes that must be written to another group,
    /// the first one last.
    async fn after(&mut self, ended: Result<Ended, JoinError>) -> Result<Vec<Pending>> {
        let Some(mut open) = self.open.take() else { return Ok(Vec::new()) };
        match open.stripes.take_in(&mut open.group, ended)? {
            Ok(taken) => {
                if taken == Taken::Acknowledged {
                    self.failed = 0;
                }
                self.open = Some(open);
                self.put_if_due(When::Enough).await?;
                Ok(Vec::new())
            }
            Err(failed) => {
                let Open { mut group, stripes } = open;
                let acknowledged = group.acknowledged();
                let (failures, again) = stripes.give_up(&mut group, failed).await?;
                if group.acknowledged() > acknowledged {
                    self.failed = 0;
                }
                self.give_up(group, failures).await?;
                Ok(again)
            }
        }
    }

    /// Ends a group that failed; its acknowledged data stays there.
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
            // The failed nodes may recover; there are no others.
            let pause = MIN_RETRY_DELAY.saturating_mul(1 << self.failed.min(5));
            tokio::time::sleep(pause.min(MAX_RETRY_DELAY)).await;
        }
        Ok(())
    }

    /// Opens the next group for a stripe that was started at a moment.
    ///
    /// If there are too few other DataNodes, a group may be on avoided ones. Nodes that failed
    /// before the stripe was started may have recovered: then only later failures are avoided, and
    /// another group is allocated.
    async fn open_group(&mut self, begun: Instant) -> Result<Open> {
        let mut group = self.next_group().await?;
        if group.is_reluctant() && self.session.client.excluded().remove_failed_before(begun) {
            group = self.next_group().await?;
        }
        Ok(Open { group, stripes: Unacknowledged::default() })
    }

    async fn next_group(&mut self) -> Result<GroupWriter> {
        let location = self.session.next_location().await?;
        let (client, options) = (&self.session.client, self.session.options());
        let datanodes = client.datanodes().clone();
        let scheme = self.codec.scheme();
        GroupWriter::open(datanodes, scheme, location, client.excluded(), options.write_timeout)
    }

    /// Excludes a group that failed, and its failed nodes; returns the last failure.
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
                // Also one that is starting: it would reject the next group as well.
                _ => excluded.datanode(node.id),
            }
            last = failure.into_error(node.id);
        }
        last
    }
}
