//! Retry cache.
//!
//! A client without a response retries its call with the same client id and call id. A call that
//! must not be repeated is then answered from this cache: with the cached response, or with the
//! response of the first attempt once that ends. Errors are not cached: the call was not executed,
//! so the next attempt is a first one.

use std::collections::VecDeque;
use std::collections::hash_map::Entry as MapEntry;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::oneshot;

use crate::fault::Fault;

/// Approximate size of an entry in addition to its response.
const OVERHEAD: usize = 128;

/// Limits of the cache. The oldest entry is evicted first.
#[derive(Debug, Clone)]
pub struct RetryLimits {
    /// Number of responses.
    pub entries: usize,
    /// Bytes of all responses.
    pub bytes: usize,
    /// Time after its end during which a call may be retried.
    pub age: Duration,
}

impl Default for RetryLimits {
    fn default() -> Self {
        Self { entries: 65_536, bytes: 32 << 20, age: Duration::from_secs(600) }
    }
}

/// Identity of a call: the client's id (a UUID), and the call's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) client: [u8; 16],
    pub(crate) call: i32,
}

type Result = std::result::Result<Bytes, Fault>;

enum Entry {
    /// The first attempt is in progress; these wait for its end.
    Running(Vec<oneshot::Sender<Result>>),
    Kept(Bytes),
}

#[derive(Default)]
struct State {
    entries: FxHashMap<Key, Entry>,
    /// Cached responses by age.
    ends: VecDeque<(Instant, Key)>,
    bytes: usize,
}

/// The cache of one server.
pub(crate) struct RetryCache {
    limits: RetryLimits,
    state: Mutex<State>,
}

/// State of a call in the cache.
pub(crate) enum Known {
    /// Unknown: it must be executed.
    First(Ticket),
    /// It is in progress.
    Running(oneshot::Receiver<Result>),
    /// Its response.
    Answered(Bytes),
}

impl RetryCache {
    pub(crate) fn new(limits: RetryLimits) -> Arc<Self> {
        Arc::new(Self { limits, state: Mutex::default() })
    }

    /// Looks up a call, and records it.
    pub(crate) fn begin(self: &Arc<Self>, key: Key, now: Instant) -> Known {
        let mut state = self.state.lock();
        self.trim(&mut state, now);
        match state.entries.entry(key) {
            MapEntry::Vacant(vacant) => {
                vacant.insert(Entry::Running(Vec::new()));
                Known::First(Ticket { cache: Arc::clone(self), key, ended: false })
            }
            MapEntry::Occupied(mut occupied) => match occupied.get_mut() {
                Entry::Kept(answer) => Known::Answered(answer.clone()),
                Entry::Running(waiting) => {
                    let (end, ended) = oneshot::channel();
                    waiting.retain(|w| !w.is_closed());
                    waiting.push(end);
                    Known::Running(ended)
                }
            },
        }
    }

    /// Evicts entries beyond the limits.
    fn trim(&self, state: &mut State, now: Instant) {
        while let Some((end, key)) = state.ends.front().copied() {
            let old = now.saturating_duration_since(end) > self.limits.age;
            let many = state.ends.len() > self.limits.entries || state.bytes > self.limits.bytes;
            if !old && !many {
                break;
            }
            state.ends.pop_front();
            if let Some(Entry::Kept(answer)) = state.entries.remove(&key) {
                state.bytes -= answer.len() + OVERHEAD;
            }
        }
    }

    fn end(&self, key: Key, result: Option<&Result>, now: Instant) {
        let mut state = self.state.lock();
        let Some(Entry::Running(waiting)) = state.entries.remove(&key) else { return };
        if let Some(Ok(answer)) = result {
            // Copied: the response may be a slice of a large buffer.
            let kept = Bytes::copy_from_slice(answer);
            state.bytes += kept.len() + OVERHEAD;
            state.ends.push_back((now, key));
            state.entries.insert(key, Entry::Kept(kept));
            self.trim(&mut state, now);
        }
        drop(state);
        if let Some(result) = result {
            for end in waiting {
                // Fails if the caller no longer waits.
                let _ = end.send(result.clone());
            }
        }
    }
}

/// The right, and the duty, to execute a call. If it is dropped without an end, the call counts as
/// not executed.
pub(crate) struct Ticket {
    cache: Arc<RetryCache>,
    key: Key,
    ended: bool,
}

impl Ticket {
    /// Caches the response, and sends it to the waiting calls.
    pub(crate) fn end(mut self, result: &Result, now: Instant) {
        self.ended = true;
        self.cache.end(self.key, Some(result), now);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.ended {
            self.cache.end(self.key, None, Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(call: i32) -> Key {
        Key { client: [7; 16], call }
    }

    fn first(cache: &Arc<RetryCache>, call: i32, now: Instant) -> Ticket {
        match cache.begin(key(call), now) {
            Known::First(ticket) => ticket,
            _ => panic!("call {call} is cached"),
        }
    }

    fn answer(cache: &Arc<RetryCache>, call: i32, now: Instant) -> Option<Bytes> {
        match cache.begin(key(call), now) {
            Known::Answered(answer) => Some(answer),
            _ => None,
        }
    }

    #[test]
    fn an_answer_is_kept_until_it_is_too_old() {
        let cache = RetryCache::new(RetryLimits::default());
        let now = Instant::now();
        first(&cache, 1, now).end(&Ok(Bytes::from_static(b"one")), now);
        let later = now + Duration::from_secs(600);
        assert_eq!(answer(&cache, 1, later).unwrap(), "one");
        first(&cache, 1, later + Duration::from_secs(1));
    }

    #[test]
    fn attempts_that_come_meanwhile_get_the_same_answer() {
        let cache = RetryCache::new(RetryLimits::default());
        let now = Instant::now();
        let ticket = first(&cache, 1, now);
        let Known::Running(mut waiting) = cache.begin(key(1), now) else { panic!("not running") };
        assert!(waiting.try_recv().is_err());
        ticket.end(&Ok(Bytes::from_static(b"one")), now);
        assert_eq!(waiting.try_recv().unwrap().unwrap(), "one");
    }

    #[test]
    fn what_was_refused_or_given_up_is_begun_anew() {
        let cache = RetryCache::new(RetryLimits::default());
        let now = Instant::now();
        let ticket = first(&cache, 1, now);
        let Known::Running(mut waiting) = cache.begin(key(1), now) else { panic!("not running") };
        ticket.end(&Err(Fault::busy("later")), now);
        assert!(waiting.try_recv().unwrap().is_err());
        drop(first(&cache, 1, now));
        drop(first(&cache, 1, now));
        assert!(cache.state.lock().entries.is_empty());
    }

    #[test]
    fn number_and_bytes_are_bounded_and_the_oldest_goes_first() {
        let limits = RetryLimits { entries: 3, bytes: 2_000, ..RetryLimits::default() };
        let cache = RetryCache::new(limits);
        let now = Instant::now();
        for call in 1..=4 {
            first(&cache, call, now).end(&Ok(Bytes::from_static(b"small")), now);
        }
        assert!(answer(&cache, 4, now).is_some());
        drop(first(&cache, 1, now));
        first(&cache, 5, now).end(&Ok(Bytes::from(vec![0; 1_800])), now);
        assert!(answer(&cache, 5, now).is_some());
        drop(first(&cache, 4, now));
        first(&cache, 6, now).end(&Ok(Bytes::from(vec![0; 5_000])), now);
        let state = cache.state.lock();
        assert!(state.entries.is_empty() && state.ends.is_empty() && state.bytes == 0);
    }
}
