//! The stripes of one group that are not acknowledged yet.

use std::collections::BTreeMap;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::task::JoinError;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

use super::cells::Written;
use super::group::{Failures, GroupWriter, StripeFailure};
use super::stripe::Pending;
use crate::{Error, Result};

/// Something that was on its way.
pub(super) enum Ended {
    /// The cells of a stripe.
    Cells { number: u64, pending: Pending, outcome: Result<Written, StripeFailure> },
    /// The PutBlock of stripes, in their order: the bytes of the group that it acknowledges.
    Put { stripes: Vec<(Pending, Written)>, outcome: Result<u64, StripeFailure> },
}

/// When a PutBlock is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Once enough is written, or the key or the group ends.
    Enough,
    /// As soon as anything is written: memory is short.
    Soon,
    /// When all is written: no more comes.
    AtEnd,
}

/// The stripes of one group that are not acknowledged yet, in three states: their cells are on
/// their way, or there, or a PutBlock that lists them is on its way.
#[derive(Default)]
pub(super) struct Unacknowledged {
    on_the_way: FuturesUnordered<AbortOnDropHandle<Ended>>,
    /// Stripes whose cells are on their way.
    writing: usize,
    /// Stripes whose cells are there, by their numbers in the group.
    written: BTreeMap<u64, (Pending, Written)>,
    /// The first stripe that no PutBlock lists.
    unlisted: u64,
    is_putting: bool,
    /// Bytes of all of them, parity included.
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

    /// Stripes whose cells are on their way.
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

    /// Sends the next PutBlock if there is none on its way and it is time.
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

    /// Waits until something has ended; `None` when nothing is on its way. What has ended is told
    /// once; nothing is lost when the future is dropped.
    pub(super) async fn ended(&mut self) -> Option<Result<Ended, JoinError>> {
        self.on_the_way.next().await
    }

    /// Takes in what ended. A failure is told with the stripes that it is about: the group is to be
    /// [given up](Self::give_up) then.
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

    /// Waits for what else is on its way after a failure. Returns all failures, and what has to be
    /// written to another group, the first stripe last.
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

/// What was taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// The cells of a stripe are there.
    Written,
    /// Stripes are acknowledged.
    Acknowledged,
}

/// Stripes, by their numbers in the group, that are not acknowledged because replicas failed.
pub(super) struct Failed {
    pub(super) failures: Failures,
    pub(super) stripes: Vec<(u64, Pending)>,
}
