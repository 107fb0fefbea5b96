//! What a turn of a loop gathers and hands on at its end: one frame per node, one push per
//! log and per apply thread.

use std::sync::Arc;
use std::time::Instant;

use raft::eraftpb::Message;
use rustc_hash::FxHashMap;
use uuid::Uuid;

use crate::apply::ApplyTask;
use crate::inbox::Inbox;
use crate::log::LogHandle;
use crate::log::write::WriteTask;
use crate::metrics::{HostMetrics, add};
use crate::transport::frame::encode;
use crate::transport::{Target, Transport};

/// Payload bytes at which a frame is sent and the next one begun.
const FRAME_BYTES: usize = 8 << 20;

struct Letters {
    target: Target,
    messages: Vec<(Uuid, Message)>,
    bytes: usize,
}

/// See the module.
pub(crate) struct Out {
    me: Uuid,
    /// When the turn began: reading the clock for every message of every group adds up.
    pub(crate) now: Instant,
    transport: Arc<dyn Transport>,
    pub(crate) metrics: Arc<HostMetrics>,
    letters: FxHashMap<Uuid, Letters>,
    writes: Vec<(LogHandle, Vec<WriteTask>)>,
    applies: Vec<(Arc<Inbox<ApplyTask>>, Vec<ApplyTask>)>,
}

impl Out {
    pub(crate) fn new(me: Uuid, transport: Arc<dyn Transport>, metrics: Arc<HostMetrics>) -> Self {
        Self {
            me,
            now: Instant::now(),
            transport,
            metrics,
            letters: FxHashMap::default(),
            writes: Vec::new(),
            applies: Vec::new(),
        }
    }

    pub(crate) fn send(&mut self, target: &Target, group: Uuid, message: Message) {
        let letters = self.letters.entry(target.node).or_insert_with(|| Letters {
            target: target.clone(),
            messages: Vec::new(),
            bytes: 0,
        });
        if letters.target.address != target.address {
            letters.target = target.clone();
        }
        let sizes = message.get_entries().iter().map(|e| e.data.len() + e.context.len());
        letters.bytes += sizes.sum::<usize>();
        letters.messages.push((group, message));
        if letters.bytes >= FRAME_BYTES {
            post(self.me, &self.transport, &self.metrics, letters);
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

    /// Hands everything on.
    pub(crate) fn flush(&mut self) {
        for letters in self.letters.values_mut() {
            if !letters.messages.is_empty() {
                post(self.me, &self.transport, &self.metrics, letters);
            }
        }
        for (log, tasks) in self.writes.drain(..) {
            log.write(tasks);
        }
        self.flush_applies();
    }

    /// Hands on what state machines get.
    pub(crate) fn flush_applies(&mut self) {
        for (thread, tasks) in &mut self.applies {
            thread.push_all(tasks);
        }
    }
}

fn post(me: Uuid, transport: &Arc<dyn Transport>, metrics: &HostMetrics, letters: &mut Letters) {
    add(&metrics.frames_sent, 1);
    add(&metrics.messages_sent, letters.messages.len() as u64);
    let frame = encode(me, std::mem::take(&mut letters.messages));
    letters.bytes = 0;
    transport.send(&letters.target, frame);
}
