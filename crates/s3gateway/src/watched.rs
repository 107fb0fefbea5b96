//! A body that is watched as it is read: that it comes, and that it is what was claimed of it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use s3s::{S3Error, S3ErrorCode};
use tokio::time::{Instant, Sleep};

use crate::digest::BodyDigest;
use crate::errors::too_large_a_document;

/// Bytes per second at which a body comes at least, on top of the time for a stall. Time that we
/// take is not counted.
const SLOWEST: u64 = 8 << 10;

/// What is wrong with the body of a request, if anything is. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct BodyFault(Arc<Mutex<Option<S3Error>>>);

impl BodyFault {
    /// Whether something is wrong, and what; it is known here no longer.
    pub(crate) fn take(&self) -> Option<S3Error> {
        self.0.lock().take()
    }

    /// Notes what is wrong; what a body fails with then.
    pub(crate) fn fail(&self, error: S3Error) -> s3s::StdError {
        let reason = error.to_string();
        self.0.lock().get_or_insert(error);
        reason.into()
    }
}

/// The body of a request. It fails when the client does not send it, or when it is not what the
/// client claims.
pub(crate) struct WatchedBody<B> {
    inner: B,
    stall: Duration,
    /// Runs while the client owes something: since when, and until when.
    owed: Option<(Instant, Pin<Box<Sleep>>)>,
    /// How long the client was waited for.
    waited: Duration,
    received: u64,
    /// More bytes are refused.
    most: u64,
    digest: Option<BodyDigest>,
    fault: BodyFault,
}

impl<B> WatchedBody<B> {
    pub(crate) fn new(inner: B, stall: Duration, fault: BodyFault) -> Self {
        let (owed, waited) = (None, Duration::ZERO);
        Self { inner, stall, owed, waited, received: 0, most: u64::MAX, digest: None, fault }
    }

    /// A body that has to be what was claimed of it.
    pub(crate) fn verified_by(mut self, digest: BodyDigest) -> Self {
        self.digest = Some(digest);
        self
    }

    /// A document of so many bytes at most, said or not said how long it is.
    pub(crate) fn of_document(mut self, most: u64) -> Self {
        self.most = most;
        self
    }

    /// How long the client may be waited for altogether, after what it has sent.
    fn allowed(&self) -> Duration {
        self.stall + Duration::from_millis(self.received.saturating_mul(1000) / SLOWEST)
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
            let left = this.allowed().saturating_sub(this.waited).min(this.stall);
            let (_, until) = this
                .owed
                .get_or_insert_with(|| (Instant::now(), Box::pin(tokio::time::sleep(left))));
            ready!(until.as_mut().poll(cx));
            return Poll::Ready(Some(Err(this.too_slow())));
        };
        if let Some((since, _)) = this.owed.take() {
            this.waited += since.elapsed();
        }
        match frame {
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    this.received += data.len() as u64;
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

    fn data(bytes: &'static [u8]) -> Result<Frame<Bytes>, s3s::StdError> {
        Ok(Frame::data(Bytes::from_static(bytes)))
    }

    #[tokio::test]
    async fn a_body_that_does_not_come_ends() {
        let fault = BodyFault::default();
        let pieces = futures::stream::iter([data(b"a")]);
        let pieces = futures::StreamExt::chain(pieces, futures::stream::pending());
        let body = WatchedBody::new(StreamBody::new(pieces), TIMEOUT, fault.clone());
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
        let body = WatchedBody::new(StreamBody::new(Box::pin(pieces)), TIMEOUT, fault.clone());
        assert!(body.collect().await.is_err());
        assert_eq!(fault.take().unwrap().code(), &S3ErrorCode::RequestTimeout);
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
            let body = WatchedBody::new(StreamBody::new(pieces), TIMEOUT, fault.clone());
            let read = body.verified_by(digest).collect().await;
            assert_eq!((read.is_ok(), fault.take().is_none()), (is_right, is_right));
        }
    }
}
