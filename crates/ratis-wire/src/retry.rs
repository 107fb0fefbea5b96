//! Retry cache: a client that lost its stream resends its unanswered requests, with the same call
//! ids.
//!
//! Only successful replies are cached; a failed request may be retried. Replies that the client
//! reports as received are removed, so healthy clients occupy little of the cache.

use std::num::NonZeroUsize;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use lru::LruCache;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::group::{Done, Refusal};
use crate::ids::CallKey;

/// Maximum number of cached calls. A client has some tens in flight, and a reply has some hundred
/// bytes.
const MOST_CALLS: NonZeroUsize = NonZeroUsize::new(16 << 10).unwrap();

/// The outcome of a write; several callers may wait for it.
pub(crate) type Outcome = Shared<BoxFuture<'static, Result<Done, Refusal>>>;

/// Writes in progress and completed ones.
pub(crate) struct Retries {
    calls: Mutex<LruCache<CallKey, Outcome>>,
}

/// The result of looking up a write.
pub(crate) enum Claim {
    /// It was executed, or is in progress.
    Known(Outcome),
    /// The caller must execute it, and send the outcome.
    New(oneshot::Sender<Result<Done, Refusal>>, Outcome),
}

impl Retries {
    pub fn new() -> Self {
        Self { calls: Mutex::new(LruCache::new(MOST_CALLS)) }
    }

    /// Returns the outcome of a known call, or records a new one.
    pub fn claim(&self, key: CallKey) -> Claim {
        let mut calls = self.calls.lock();
        if let Some(known) = calls.get(&key)
            && !matches!(known.peek(), Some(Err(_)))
        {
            return Claim::Known(known.clone());
        }
        let (sender, receiver) = oneshot::channel();
        let gone = || Refusal::AlreadyClosed("the request was aborted".to_owned());
        let outcome = async move { receiver.await.unwrap_or_else(|_| Err(gone())) };
        let outcome = outcome.boxed().shared();
        calls.put(key, outcome.clone());
        Claim::New(sender, outcome)
    }

    /// Removes calls whose replies the client has received.
    pub fn forget(&self, key: CallKey, answered: &[u64]) {
        if answered.is_empty() {
            return;
        }
        let mut calls = self.calls.lock();
        for call in answered {
            calls.pop(&CallKey { call: *call, ..key });
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use uuid::Uuid;

    use super::*;

    const KEY: CallKey = CallKey { group: Uuid::nil(), client: Uuid::from_u128(1), call: 1 };

    fn done(index: u64) -> Result<Done, Refusal> {
        Ok(Done { index, message: Bytes::new() })
    }

    #[tokio::test]
    async fn a_call_is_carried_out_once_and_answered_alike_until_forgotten() {
        let retries = Retries::new();
        let Claim::New(sender, first) = retries.claim(KEY) else { panic!("the call is new") };
        let Claim::Known(second) = retries.claim(KEY) else { panic!("the call is in progress") };
        sender.send(done(7)).unwrap();
        assert_eq!((first.await, second.await), (done(7), done(7)));
        assert!(matches!(retries.claim(KEY), Claim::Known(_)));
        let other = CallKey { client: Uuid::from_u128(2), ..KEY };
        assert!(matches!(retries.claim(other), Claim::New(..)));
        retries.forget(KEY, &[2, 1]);
        assert!(matches!(retries.claim(KEY), Claim::New(..)));
    }

    #[tokio::test]
    async fn what_failed_or_was_given_up_may_be_tried_again() {
        let retries = Retries::new();
        let Claim::New(sender, outcome) = retries.claim(KEY) else { panic!("the call is new") };
        sender.send(Err(Refusal::LeaderNotReady)).unwrap();
        assert_eq!(outcome.await, Err(Refusal::LeaderNotReady));
        let Claim::New(sender, outcome) = retries.claim(KEY) else { panic!("it failed") };
        drop(sender);
        assert!(outcome.await.is_err());
        assert!(matches!(retries.claim(KEY), Claim::New(..)));
    }
}
