//! Pending writes for the next fsync, already encoded.
//!
//! The thread that queues a write encodes it itself, while the disk is still busy with the previous
//! one. The writer thread then finds one complete batch and only passes it to the engine between
//! two fsyncs: encoding dozens of groups there would keep the disk waiting.

use std::collections::VecDeque;

use parking_lot::{Condvar, Mutex};

use super::engine::{EngineError, LogBatch};
use super::regions::Regions;
use super::task::WriteTask;

/// Number of written batches whose buffers are kept for reuse.
const SPARE: usize = 2;

/// Tasks that are written together.
#[derive(Default)]
pub(super) struct EncodedBatch {
    pub(super) batch: LogBatch,
    /// Each with its group's engine number, if it has one.
    pub(super) tasks: Vec<(Option<u64>, WriteTask)>,
    /// The reason why it cannot be written.
    pub(super) broken: Option<EngineError>,
    bytes: usize,
}

impl EncodedBatch {
    fn add(&mut self, region: Option<u64>, task: WriteTask) {
        self.bytes += task.bytes();
        if let Err(error) = task.add_to(region, &mut self.batch) {
            self.broken.get_or_insert(error);
        }
        self.tasks.push((region, task));
    }

    /// Encodes everything again after a failed write.
    pub(super) fn encode_again(&mut self) -> Result<(), EngineError> {
        self.batch = LogBatch::default();
        for (region, task) in &self.tasks {
            task.add_to(*region, &mut self.batch)?;
        }
        Ok(())
    }

    fn clear(&mut self) {
        self.tasks.clear();
        self.bytes = 0;
    }
}

#[derive(Default)]
struct State {
    encoded: VecDeque<EncodedBatch>,
    spare: Vec<EncodedBatch>,
    asleep: bool,
    closed: bool,
}

/// Writes that wait for the next fsync, encoded into one batch.
#[derive(Default)]
pub(crate) struct WriteQueue {
    state: Mutex<State>,
    wake: Condvar,
    /// Maximum size of a batch in bytes, unless its first task is larger.
    max_bytes: usize,
}

impl WriteQueue {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, ..Self::default() }
    }

    /// Adds tasks; drops them if the log is closed.
    pub(super) fn push(
        &self,
        regions: &Mutex<Regions>,
        tasks: impl IntoIterator<Item = WriteTask>,
    ) {
        let mut state = self.state.lock();
        if state.closed {
            drop(state);
            // A caller that waits for a task sees it dropped, and so not written.
            tasks.into_iter().for_each(drop);
            return;
        }
        {
            let regions = &mut regions.lock();
            for task in tasks {
                let region = task.region_in(regions);
                let last = state.encoded.back();
                let fits = last.is_some_and(|l| l.bytes + task.bytes() <= self.max_bytes);
                if !fits {
                    let encoded = state.spare.pop().unwrap_or_default();
                    state.encoded.push_back(encoded);
                }
                if let Some(encoded) = state.encoded.back_mut() {
                    encoded.add(region, task);
                }
            }
        }
        let wake = !state.encoded.is_empty() && std::mem::take(&mut state.asleep);
        drop(state);
        if wake {
            self.wake.notify_one();
        }
    }

    /// Waits for the next batch. `None` when the log is closed and everything was taken.
    pub(super) fn pop(&self) -> Option<EncodedBatch> {
        let mut state = self.state.lock();
        loop {
            if let Some(encoded) = state.encoded.pop_front() {
                state.asleep = false;
                return Some(encoded);
            }
            if state.closed {
                return None;
            }
            state.asleep = true;
            self.wake.wait(&mut state);
        }
    }

    /// Returns a written batch for reuse of its buffers.
    pub(super) fn reuse(&self, mut encoded: EncodedBatch) {
        encoded.clear();
        let mut state = self.state.lock();
        if state.spare.len() < SPARE {
            state.spare.push(encoded);
        }
    }

    /// Returns `true` once no tasks are accepted.
    pub(super) fn is_closed(&self) -> bool {
        self.state.lock().closed
    }

    /// Refuses further tasks; those already there are still written.
    pub(super) fn close(&self) {
        self.state.lock().closed = true;
        self.wake.notify_one();
    }

    /// Refuses further tasks and drops those not taken yet.
    pub(super) fn clear(&self) {
        let dropped = {
            let mut state = self.state.lock();
            state.closed = true;
            std::mem::take(&mut state.encoded)
        };
        drop(dropped);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use tokio::sync::oneshot;

    use super::*;
    use crate::consensus::Entry;
    use crate::log::task::Done;

    fn task(group: u64, index: u64, bytes: usize) -> WriteTask {
        let data = Bytes::from(vec![7; bytes]);
        let entries = vec![Entry { index, term: 1, data, ..Default::default() }];
        WriteTask { region: group, entries, ..Default::default() }
    }

    #[test]
    fn what_does_not_fit_goes_into_the_next_batch() {
        let (queue, regions) = (WriteQueue::new(1000), Mutex::default());
        queue.push(&regions, [task(1, 1, 5000), task(1, 2, 300), task(2, 1, 300)]);
        queue.push(&regions, [task(2, 2, 300), task(1, 3, 300)]);
        queue.close();
        let sizes = std::iter::from_fn(|| queue.pop().map(|encoded| encoded.tasks.len()));
        assert_eq!(sizes.collect::<Vec<_>>(), [1, 3, 1]);
    }

    #[test]
    fn a_batch_is_laid_again_as_it_was() {
        let (queue, regions) = (WriteQueue::new(1 << 20), Mutex::default());
        let erase = WriteTask { region: 1, erase: true, ..Default::default() };
        queue.push(&regions, [task(1, 1, 10), erase, task(1, 1, 20), task(2, 1, 30)]);
        let mut encoded = queue.pop().unwrap();
        let numbers: Vec<_> = encoded.tasks.iter().map(|(region, _)| region.unwrap()).collect();
        assert_eq!(numbers, [1, 1, 2, 3], "a recreated group gets a new number");
        let before = encoded.batch.clone();
        assert!(!before.is_empty());
        encoded.encode_again().unwrap();
        assert_eq!(encoded.batch, before);
    }

    #[test]
    fn a_closed_queue_drops_what_comes() {
        let (queue, regions) = (WriteQueue::new(1 << 20), Mutex::default());
        let (sender, mut waiter) = oneshot::channel();
        queue.push(&regions, [task(1, 1, 10)]);
        queue.close();
        let done = Done::Waiter(sender);
        queue.push(&regions, [WriteTask { region: 1, done, ..Default::default() }]);
        assert!(matches!(waiter.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
        assert_eq!(queue.pop().unwrap().tasks.len(), 1, "what was there is still written");
        assert!(queue.pop().is_none());
    }
}
