//! State shared by clients and the observer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64};

use parking_lot::Mutex;

use super::content::{Content, Contents};
use super::http::Credentials;
use crate::history::conditional::{Answer, Op};
use crate::history::{Event, NEVER};
use crate::scenario::now;

/// An object: its bucket and its key.
pub type Object = (u64, u8);

/// Outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    /// It was answered.
    Answer(Answer),
    /// It was not carried out, and will not be.
    NotDone,
    /// It was carried out, or will be, or neither.
    Unknown,
}

/// State shared by clients and the observer.
#[derive(Default)]
pub struct Board {
    /// Machines of gateways.
    pub gateways: Vec<usize>,
    /// The bucket in use.
    pub bucket: AtomicU64,
    /// True if clients should stop.
    pub stop: AtomicBool,
    /// The key pair, once the cluster has taken its first object.
    pub credentials: Mutex<Option<Credentials>>,
    /// Contents of objects.
    pub contents: Mutex<Contents>,
    /// Events of objects that clients observed.
    pub seen: Mutex<BTreeMap<Object, Vec<Event<Op, Answer>>>>,
    /// Objects that are written once and stay, with their contents: names and ETags by bucket.
    pub kept: Mutex<BTreeSet<(u64, String, String)>>,
    /// Condition that does not hold yet in the end.
    pub lacking: Mutex<String>,
    /// Counts of the clients' actions, and of their outcomes.
    pub counts: Mutex<BTreeMap<&'static str, u64>>,
    /// Violations.
    pub violations: Mutex<Vec<String>>,
}

impl Board {
    /// Notes what must not be.
    pub fn violation(&self, text: String) {
        self.violations.lock().push(text);
    }

    /// Counts something.
    pub fn count(&self, what: &'static str) {
        *self.counts.lock().entry(what).or_default() += 1;
    }

    /// Records a call that began at a moment, and has ended now.
    pub fn note(&self, object: Object, op: Op, asked: u64, came: Came) {
        self.note_until(object, op, asked, now(), came);
    }

    /// The same of a call that ended at a moment.
    pub fn note_until(&self, object: Object, op: Op, asked: u64, until: u64, came: Came) {
        let (answer, answered) = match came {
            Came::Answer(answer) => (Some(answer), until),
            Came::Unknown => (None, NEVER),
            Came::NotDone => return,
        };
        let event = Event { op, answer, asked, answered };
        self.seen.lock().entry(object).or_default().push(event);
    }

    /// Returns `true` if a client's write of a content was acknowledged.
    pub fn is_written(&self, object: Object, content: u64) -> bool {
        let is_of = |event: &Event<Op, Answer>| {
            event.answer == Some(Answer::Done)
                && matches!(event.op, Op::Write(number, _) if number == content)
        };
        self.seen.lock().get(&object).is_some_and(|events| events.iter().any(is_of))
    }

    /// Registers a content that is about to be written, by its number.
    pub fn content(&self, make: impl FnOnce(u64) -> Content) -> Content {
        let mut contents = self.contents.lock();
        let content = make(contents.number());
        contents.add(&content);
        content
    }

    /// The content with an ETag; it is wrong when no client was about to write it.
    pub fn content_of(&self, e_tag: &str) -> Option<Content> {
        let content = self.contents.lock().of_e_tag(e_tag).cloned();
        if content.is_none() {
            self.violation(format!("an object has the ETag {e_tag}, which no client wrote"));
        }
        content
    }
}
