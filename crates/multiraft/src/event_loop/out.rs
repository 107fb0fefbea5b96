//! Output of one iteration of a loop, passed on at its end: one frame per node, one push per log
//! and per apply thread.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use uuid::Uuid;

use crate::apply::ApplyTask;
use crate::clock::Clock;
use crate::consensus::Message;
use crate::inbox::Inbox;
use crate::log::LogHandle;
use crate::log::task::WriteTask;
use crate::metrics::{HostMetrics, add};
use crate::transport::frame::encode;
use crate::transport::{Target, Transport};

/// Payload bytes at which a frame is sent and the next one started.
const FRAME_BYTES: usize = 8 << 20;

struct OutboundBatch {
    target: Target,
    messages: Vec<(Uuid, Message)>,
    bytes: usize,
}

/// Messages, log writes and apply tasks of one iteration of a loop.
pub(crate) struct Out {
    me: Uuid,
    /// The clock at the start of the iteration: reading it for every message of every group adds
    /// up.
    pub(crate) now: u64,
    clock: Clock,
    transport: Arc<dyn Transport>,
    pub(crate) metrics: Arc<HostMetrics>,
    batches: FxHashMap<Uuid, OutboundBatch>,
    writes: Vec<(LogHandle, Vec<WriteTask>)>,
    applies: Vec<(Arc<Inbox<ApplyTask>>, Vec<ApplyTask>)>,
}

impl Out {
    pub(crate) fn new(
        me: Uuid,
        clock: Clock,
        transport: Arc<dyn Transport>,
        metrics: Arc<HostMetrics>,
    ) -> Self {
        Self {
            me,
            now: clock.now(),
            clock,
            transport,
            metrics,
            batches: FxHashMap::default(),
            writes: Vec::new(),
            applies: Vec::new(),
        }
    }

    /// Starts an iteration.
    pub(crate) fn read_clock(&mut self) {
        self.now = self.clock.now();
    }

    pub(crate) fn send(&mut self, target: &Target, group: Uuid, message: Message) {
        let batch = self.batches.entry(target.node).or_insert_with(|| OutboundBatch {
            target: target.clone(),
            messages: Vec::new(),
            bytes: 0,
        });
        if batch.target.address != target.address {
            batch.target = target.clone();
        }
        let sizes = message.get_entries().iter().map(|e| e.data.len() + e.context.len());
        batch.bytes += sizes.sum::<usize>();
        batch.messages.push((group, message));
        if batch.bytes >= FRAME_BYTES {
            post(self.me, &self.transport, &self.metrics, batch);
        }
    }

    pub(crate) fn write(&mut self, log: &LogHandle, task: WriteTask) {
        match self.writes.iter_mut().find(|(known, _)| Arc::ptr_eq(&known.core, &log.core)) {
            Some((_, tasks)) => tasks.push(task),
            None => self.writes.push((log.clone(), vec![task])),
        }
    }

    pub(crate) fn apply(&mut self, thread: &Arc<Inbox<ApplyTask>>, task: ApplyTask) {
        match self.applies.iter_mut().find(|(known, _)| Arc::ptr_eq(known, thread)) {
            Some((_, tasks)) => tasks.push(task),
            None => self.applies.push((thread.clone(), vec![task])),
        }
    }

    /// Passes on all output.
    pub(crate) fn flush(&mut self) {
        for batch in self.batches.values_mut() {
            if !batch.messages.is_empty() {
                post(self.me, &self.transport, &self.metrics, batch);
            }
        }
        for (log, tasks) in self.writes.drain(..) {
            log.write(tasks);
        }
        self.flush_applies();
    }

    /// Passes on the tasks of state machines.
    pub(crate) fn flush_applies(&mut self) {
        for (thread, tasks) in &mut self.applies {
            thread.push_all(tasks);
        }
    }
}

fn post(
    me: Uuid,
    transport: &Arc<dyn Transport>,
    metrics: &HostMetrics,
    batch: &mut OutboundBatch,
) {
    add(&metrics.frames_sent, 1);
    add(&metrics.messages_sent, batch.messages.len() as u64);
    let frame = encode(me, std::mem::take(&mut batch.messages));
    batch.bytes = 0;
    transport.send(&batch.target, frame);
}
