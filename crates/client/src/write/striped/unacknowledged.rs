//! The unacknowledged stripes of one group.

use std::collections::BTreeMap;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::task::JoinError;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

use super::cells::Written;
use super::failure::{Failures, StripeFailure};
use super::group::GroupWriter;
use super::stripe::Pending;
use crate::{Error, Result};

/// A finished operation.
pub(super) enum Ended {
    /// The cells of a stripe.
    Cells { number: u64, pending: Pending, outcome: Result<Written, StripeFailure> },
    /// The PutBlock of stripes, in order, with the acknowledged bytes of the group.
    Put { stripes: Vec<(Pending, Written)>, outcome: Result<u64, StripeFailure> },
}

/// Condition for a PutBlock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Once enough is written, or the key or the group ends.
    Enough,
    /// As soon as anything is written, because memory is short.
    Soon,
    /// When everything is written and nothing follows.
    AtEnd,
}

/// The unacknowledged stripes of one group, in three states: their cells are in flight, or written,
/// or a PutBlock that lists them is in flight.
#[derive(Default)]
pub(super) struct Unacknowledged {
    on_the_way: FuturesUnordered<AbortOnDropHandle<Ended>>,
    /// Number of stripes whose cells are in flight.
    writing: usize,
    /// Stripes whose cells are written, by number in the group.
    written: BTreeMap<u64, (Pending, Written)>,
    /// The first stripe that no PutBlock lists.
    unlisted: u64,
    is_putting: bool,
    /// Bytes of all stripes, parity included.
    bytes: usize,
}

impl Unacknowledged {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Bytes of the stripes, parity included.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of stripes whose cells are in flight.
    pub(super) fn writing(&self) -> usize {
        self.writing
    }

    /// Sends the cells of the group's next stripe.
    pub(super) fn write(&mut self, group: &mut GroupWriter, mut pending: Pending) {
        let cells = group.next_cells();
        self.writing += 1;
        self.bytes += pending.bytes;
        self.begin(async move {
            let number = cells.number;
            let outcome = cells.write(&mut pending).await;
            Ended::Cells { number, pending, outcome }
        });
    }

    /// Sends the next PutBlock if none is in flight and its condition holds.
    pub(super) async fn put_if_due(
        &mut self,
        group: &mut GroupWriter,
        when: When,
        enough: usize,
    ) -> Result<()> {
        if self.is_putting {
            return Ok(());
        }
        let numbers = (self.unlisted..).zip(self.written.iter());
        let ready = numbers.take_while(|(number, (there, _))| number == *there);
        let (count, bytes, last) = ready.fold((0, 0, false), |(count, bytes, _), (_, (_, one))| {
            (count + 1, bytes + one.0.bytes, one.0.last)
        });
        let is_all = self.writing == 0;
        let ends = is_all && (last || group.is_full() || when == When::AtEnd);
        if count == 0 || !(ends || bytes >= enough || when == When::Soon) {
            return Ok(());
        }
        let mut stripes = Vec::new();
        while let Some(stripe) = self.written.remove(&self.unlisted) {
            stripes.push(stripe);
            self.unlisted += 1;
        }
        let put = group.list(&mut stripes, ends).await?;
        self.is_putting = true;
        self.begin(async move {
            let outcome = put.send().await;
            Ended::Put { stripes, outcome }
        });
        Ok(())
    }

    /// Waits for the end of an operation; `None` if none is in flight. Each end is returned once;
    /// nothing is lost if the future is dropped.
    pub(super) async fn ended(&mut self) -> Option<Result<Ended, JoinError>> {
        self.on_the_way.next().await
    }

    /// Processes a finished operation. A failure is returned with its stripes: the group must then
    /// be [given up](Self::give_up).
    pub(super) fn take_in(
        &mut self,
        group: &mut GroupWriter,
        ended: Result<Ended, JoinError>,
    ) -> Result<Result<Taken, Failed>> {
        match ended.map_err(|e| Error::Usage(format!("a stripe was not written: {e}")))? {
            Ended::Cells { number, pending, outcome } => {
                self.writing = self.writing.saturating_sub(1);
                match outcome {
                    Ok(written) => {
                        self.written.insert(number, (pending, written));
                        Ok(Ok(Taken::Written))
                    }
                    Err(StripeFailure::Fatal(error)) => Err(error),
                    Err(StripeFailure::Replicas(failures)) => {
                        Ok(Err(Failed { failures, stripes: vec![(number, pending)] }))
                    }
                }
            }
            Ended::Put { stripes, outcome } => {
                self.is_putting = false;
                match outcome {
                    Ok(length) => {
                        let bytes: usize = stripes.iter().map(|(pending, _)| pending.bytes).sum();
                        self.bytes = self.bytes.saturating_sub(bytes);
                        group.acknowledge(length);
                        Ok(Ok(Taken::Acknowledged))
                    }
                    Err(StripeFailure::Fatal(error)) => Err(error),
                    Err(StripeFailure::Replicas(failures)) => {
                        let first = self.unlisted.saturating_sub(stripes.len() as u64);
                        let pending = stripes.into_iter().map(|(pending, _)| pending);
                        Ok(Err(Failed { failures, stripes: (first..).zip(pending).collect() }))
                    }
                }
            }
        }
    }

    /// Waits for all other operations after a failure. Returns all failures, and the stripes that
    /// must be written to another group, the first one last.
    pub(super) async fn give_up(
        mut self,
        group: &mut GroupWriter,
        failed: Failed,
    ) -> Result<(Failures, Vec<Pending>)> {
        let Failed { mut failures, mut stripes } = failed;
        while let Some(ended) = self.ended().await {
            if let Err(more) = self.take_in(group, ended)? {
                failures.extend(more.failures);
                stripes.extend(more.stripes);
            }
        }
        stripes.extend(self.written.into_iter().map(|(number, (pending, _))| (number, pending)));
        stripes.sort_unstable_by_key(|(number, _)| std::cmp::Reverse(*number));
        Ok((failures, stripes.into_iter().map(|(_, pending)| pending).collect()))
    }

    fn begin(&mut self, work: impl Future<Output = Ended> + Send + 'static) {
        self.on_the_way.push(AbortOnDropHandle::new(tokio::spawn(work.in_current_span())));
    }
}

/// Result of processing an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// The cells of a stripe are written.
    Written,
    /// Stripes are acknowledged.
    Acknowledged,
}

/// Stripes, by number in the group, that are not acknowledged because replicas failed.
pub(super) struct Failed {
    pub(super) failures: Failures,
    pub(super) stripes: Vec<(u64, Pending)>,
}
