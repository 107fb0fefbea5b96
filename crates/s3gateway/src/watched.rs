//! Request bodies that are checked as they are read: for progress, and against the declared
//! digests.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use client::Client;
use http_body::{Body, Frame, SizeHint};
use limits::{MemoryBudget, MemoryClass};
use parking_lot::Mutex;
use s3s::{S3Error, S3ErrorCode};
use tokio::time::{Instant, Sleep};

use crate::digest::BodyDigest;
use crate::errors::too_large_a_document;

/// Maximum lag behind the minimum rate while other users wait for upload memory.
pub(crate) const SCARCE_GRACE: Duration = Duration::from_secs(5);

/// Interval at which a stalled body checks whether others wait for memory.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Limits on the slowness of a body. Time spent in the gateway does not count.
#[derive(Debug, Clone)]
pub(crate) struct Slowest {
    /// Maximum time without data, and maximum lag behind the rate.
    pub(crate) stall: Duration,
    /// Maximum lag while others wait for the memory that its user holds.
    pub(crate) scarce: Duration,
    /// Minimum rate in bytes per second; zero for no limit.
    pub(crate) rate: u64,
    /// Upload memory, and the uploading user.
    pub(crate) memory: Option<(MemoryBudget, Uploader)>,
}

/// The user of a request as the key for sharing memory, set once the request is authenticated.
/// Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Uploader(Arc<OnceLock<u64>>);

impl Uploader {
    pub(crate) fn is(&self, client: &Client) {
        let _ = self.0.set(MemoryBudget::key(&client.user()));
    }
}

impl Slowest {
    /// Time allowed for this number of bytes.
    fn time_of(&self, bytes: u64) -> Duration {
        let nanos = bytes.saturating_mul(1_000_000_000).checked_div(self.rate);
        nanos.map_or(Duration::MAX, Duration::from_nanos)
    }

    /// The permitted lag of a body behind the rate.
    fn grace(&self) -> Duration {
        let is_scarce = self.memory.as_ref().is_some_and(|(memory, Uploader(user))| {
            user.get().is_some_and(|user| memory.class(MemoryClass::Upload).is_wanted(user))
        });
        match is_scarce {
            true => self.stall.min(self.scarce),
            false => self.stall,
        }
    }
}

/// The fault of a request's body, if any. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct BodyFault(Arc<Mutex<Option<S3Error>>>);

impl BodyFault {
    /// Removes and returns the fault.
    pub(crate) fn take(&self) -> Option<S3Error> {
        self.0.lock().take()
    }

    /// Records the fault; returns the error for the body's stream.
    pub(crate) fn fail(&self, error: S3Error) -> s3s::StdError {
        let reason = error.to_string();
        self.0.lock().get_or_insert(error);
        reason.into()
    }
}

/// The body of a request. It fails if the client stops sending, or if the digests do not match.
pub(crate) struct WatchedBody<B> {
    inner: B,
    slowest: Slowest,
    /// Set while the gateway waits for the client.
    owed: Option<Owed>,
    /// Time spent waiting for the client, less the time allowed for the received bytes.
    behind: Duration,
    received: u64,
    /// Maximum size in bytes.
    most: u64,
    digest: Option<BodyDigest>,
    fault: BodyFault,
}

/// A wait for the client.
struct Owed {
    waited: Duration,
    /// Time of the last check.
    looked: Instant,
    /// Time of the next check.
    until: Pin<Box<Sleep>>,
}

impl Owed {
    fn new(now: Instant) -> Self {
        let until = Box::pin(tokio::time::sleep(LOOK_INTERVAL));
        Self { waited: Duration::ZERO, looked: now, until }
    }

    /// Adds the time since the last check. A late check is not the client's fault: the body is not
    /// polled while its upload waits for memory.
    fn count(&mut self, now: Instant) {
        self.waited += now.saturating_duration_since(self.looked).min(LOOK_INTERVAL);
        self.looked = now;
    }
}

impl<B> WatchedBody<B> {
    pub(crate) fn new(inner: B, slowest: Slowest, fault: BodyFault) -> Self {
        let (owed, behind) = (None, Duration::ZERO);
        Self { inner, slowest, owed, behind, received: 0, most: u64::MAX, digest: None, fault }
    }

    /// Sets the digests to verify.
    pub(crate) fn verified_by(mut self, digest: BodyDigest) -> Self {
        self.digest = Some(digest);
        self
    }

    /// Limits the body to the size of a document, with or without a declared length.
    pub(crate) fn of_document(mut self, most: u64) -> Self {
        self.most = most;
        self
    }

    /// The remaining time to wait for the client after a wait of `waited`.
    fn left(&self, waited: Duration) -> Duration {
        let of_stall = self.slowest.stall.saturating_sub(waited);
        match self.slowest.rate {
            0 => of_stall,
            _ => {
                let behind = self.behind.saturating_add(waited);
                self.slowest.grace().saturating_sub(behind).min(of_stall)
            }
        }
    }

    fn too_slow(&mut self) -> s3s::StdError {
        self.fault.fail(S3Error::with_message(
            S3ErrorCode::RequestTimeout,
            "Your socket connection to the server was not read from or written to within the timeout period.",
        ))
    }
}

impl<B> Body for WatchedBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<s3s::StdError>,
{
    type Data = Bytes;
    type Error = s3s::StdError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, s3s::StdError>>> {
        let this = &mut *self;
        let Poll::Ready(frame) = Pin::new(&mut this.inner).poll_frame(cx) else {
            let now = Instant::now();
            let owed = this.owed.get_or_insert_with(|| Owed::new(now));
            owed.count(now);
            let waited = owed.waited;
            let left = this.left(waited);
            if !left.is_zero() {
                let pause = left.min(LOOK_INTERVAL);
                if let Some(owed) = &mut this.owed {
                    owed.until.as_mut().reset(now + pause);
                    if owed.until.as_mut().poll(cx).is_ready() {
                        // It is polled once more.
                        cx.waker().wake_by_ref();
                    }
                }
                return Poll::Pending;
            }
            return Poll::Ready(Some(Err(this.too_slow())));
        };
        if let Some(mut owed) = this.owed.take() {
            owed.count(Instant::now());
            this.behind = this.behind.saturating_add(owed.waited);
        }
        match frame {
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    this.received += data.len() as u64;
                    let may_take = this.slowest.time_of(data.len() as u64);
                    this.behind = this.behind.saturating_sub(may_take);
                    if this.received > this.most {
                        return Poll::Ready(Some(Err(this.fault.fail(too_large_a_document()))));
                    }
                    if let Some(digest) = &mut this.digest {
                        digest.update(data);
                    }
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Some(Err(error)) => Poll::Ready(Some(Err(error.into()))),
            None => match this.digest.take().map(|digest| digest.verify(None)) {
                Some(Err(error)) => Poll::Ready(Some(Err(this.fault.fail(error)))),
                Some(Ok(_)) | None => Poll::Ready(None),
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        self.digest.is_none() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http_body_util::{BodyExt, StreamBody};

    use super::*;
    use crate::digest::Claims;

    const TIMEOUT: Duration = Duration::from_millis(20);
    const SLOWEST: Slowest =
        Slowest { stall: TIMEOUT, scarce: TIMEOUT, rate: 8 << 10, memory: None };

    fn data(bytes: &'static [u8]) -> Result<Frame<Bytes>, s3s::StdError> {
        Ok(Frame::data(Bytes::from_static(bytes)))
    }

    #[tokio::test]
    async fn a_body_that_does_not_come_ends() {
        let fault = BodyFault::default();
        let pieces = futures::stream::iter([data(b"a")]);
        let pieces = futures::StreamExt::chain(pieces, futures::stream::pending());
        let body = WatchedBody::new(StreamBody::new(pieces), SLOWEST, fault.clone());
        assert!(body.collect().await.is_err());
        assert_eq!(fault.take().unwrap().code(), &S3ErrorCode::RequestTimeout);
    }

    #[tokio::test]
    async fn a_body_that_drips_ends_too() {
        let fault = BodyFault::default();
        let pieces = futures::stream::unfold((), |()| async {
            tokio::time::sleep(TIMEOUT / 4).await;
            Some((data(b"a"), ()))
        });
        let body = WatchedBody::new(StreamBody::new(Box::pin(pieces)), SLOWEST, fault.clone());
        assert!(body.collect().await.is_err());
        assert_eq!(fault.take().unwrap().code(), &S3ErrorCode::RequestTimeout);
    }

    #[tokio::test]
    async fn a_body_comes_as_slowly_as_it_is_allowed_to() {
        for rate in [0, 1] {
            let fault = BodyFault::default();
            let pieces = futures::stream::unfold(0, |sent| async move {
                tokio::time::sleep(TIMEOUT / 4).await;
                (sent < 20).then(|| (data(b"a"), sent + 1))
            });
            let slowest = Slowest { rate, ..SLOWEST };
            let body = WatchedBody::new(StreamBody::new(Box::pin(pieces)), slowest, fault.clone());
            assert_eq!(body.collect().await.unwrap().to_bytes().len(), 20);
        }
    }

    #[tokio::test]
    async fn what_came_fast_once_does_not_pay_for_all_that_drips_later() {
        let fault = BodyFault::default();
        let pieces = futures::stream::unfold(0, |sent| async move {
            if sent == 0 {
                return Some((data(&[0; 1 << 20]), 1));
            }
            tokio::time::sleep(TIMEOUT / 4).await;
            Some((data(b"a"), 1))
        });
        let body = WatchedBody::new(StreamBody::new(Box::pin(pieces)), SLOWEST, fault.clone());
        assert!(body.collect().await.is_err());
        assert_eq!(fault.take().unwrap().code(), &S3ErrorCode::RequestTimeout);
    }

    #[tokio::test]
    async fn time_in_which_a_body_is_not_asked_for_is_not_counted() {
        let mut owed = Owed::new(Instant::now());
        let begun = owed.looked;
        let second = Duration::from_secs(1);
        owed.count(begun + second / 2);
        assert_eq!(owed.waited, second / 2);
        owed.count(begun + 1000 * second);
        assert_eq!(owed.waited, second / 2 + LOOK_INTERVAL);
        owed.count(begun);
        assert_eq!(owed.waited, second / 2 + LOOK_INTERVAL);
    }

    #[tokio::test]
    async fn a_body_that_drips_ends_early_while_others_wait_for_memory() {
        let budget = MemoryBudget::new(1000);
        let upload = budget.class(MemoryClass::Upload).clone();
        let user = Uploader::default();
        let memory = Some((budget, user.clone()));
        let (stall, scarce) = (Duration::MAX, 10 * TIMEOUT);
        let slowest = Slowest { stall, scarce, rate: 8 << 10, memory };
        let body = || {
            let drips = futures::stream::unfold((), |()| async {
                tokio::time::sleep(TIMEOUT).await;
                Some((data(b"a"), ()))
            });
            let drips = StreamBody::new(Box::pin(drips));
            WatchedBody::new(drips, slowest.clone(), BodyFault::default())
        };
        let others = [1, 2].map(|user| upload.try_acquire(&user, 150).unwrap());
        let waits = tokio::spawn({
            let upload = upload.clone();
            async move { upload.acquire(&3, 300).await }
        });
        while upload.waiting() == 0 {
            tokio::task::yield_now().await;
        }
        user.0.set(1).unwrap();
        let mut slow = body();
        while let Some(frame) = slow.frame().await {
            if frame.is_err() {
                break;
            }
        }
        assert_eq!(slow.fault.take().unwrap().code(), &S3ErrorCode::RequestTimeout);
        let received = slow.received;
        drop(others);
        waits.await.unwrap();
        // With memory for all uploads it continues.
        let mut slow = body();
        while slow.received <= 2 * received {
            slow.frame().await.unwrap().unwrap();
        }
    }

    #[tokio::test]
    async fn what_was_claimed_is_verified_at_the_end() {
        for (md5, is_right) in
            [("JfnnlDI7RTiF9RgfG2JNCw==", true), ("JfnnlDI7RTiF9RgfG2JNCA==", false)]
        {
            let mut headers = http::HeaderMap::new();
            headers.insert("content-md5", http::HeaderValue::from_static(md5));
            let digest = BodyDigest::new(Claims::of_headers(&headers).unwrap());
            let fault = BodyFault::default();
            let pieces = futures::stream::iter([data(b"1234"), data(b"56789")]);
            let body = WatchedBody::new(StreamBody::new(pieces), SLOWEST, fault.clone());
            let read = body.verified_by(digest).collect().await;
            assert_eq!((read.is_ok(), fault.take().is_none()), (is_right, is_right));
        }
    }
}
