//! Streams bodies into a writer and out of a reader.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use client::KeyWriter;
use futures::stream::{BoxStream, Stream, StreamExt};
use parking_lot::Mutex;
use s3s::dto::StreamingBlob;
use s3s::stream::{ByteStream, RemainingLength};
use s3s::{S3Error, S3ErrorCode, S3Result, TrailingHeaders};

use crate::digest::{BodyDigest, Claims, Verified};
use crate::errors::{Subject, custom, s3_error};

/// Streams a body into a writer and verifies its digests. The caller finishes the writer.
pub(crate) async fn write_body(
    writer: &mut KeyWriter,
    body: Option<StreamingBlob>,
    length: Option<u64>,
    claims: Claims,
    trailers: Option<&TrailingHeaders>,
) -> S3Result<Verified> {
    let mut digest = BodyDigest::new(claims);
    if let Some(mut body) = body {
        loop {
            // No data is read from the socket before memory is available for it.
            writer.ready().await.map_err(|e| s3_error(Subject::Object, e))?;
            let piece = tokio::select! {
                biased;
                piece = body.next() => piece,
                () = writer.is_wanted() => {
                    writer.give_way().await.map_err(|e| s3_error(Subject::Object, e))?;
                    continue;
                }
            };
            let Some(piece) = piece else { break };
            let piece = piece.map_err(broken_body)?;
            digest.update(&piece);
            writer.write(piece).await.map_err(|e| s3_error(Subject::Object, e))?;
        }
    }
    if length.is_some_and(|length| length != writer.written()) {
        return Err(incomplete_body());
    }
    let trailers = trailers.and_then(TrailingHeaders::take);
    digest.verify(trailers.as_ref())
}

fn incomplete_body() -> S3Error {
    S3Error::with_message(
        S3ErrorCode::IncompleteBody,
        "You did not provide the number of bytes specified by the Content-Length HTTP header",
    )
}

/// Error of a body that ended early, or whose signature is wrong.
fn broken_body(error: s3s::StdError) -> S3Error {
    match error.downcast::<S3Error>() {
        Ok(error) => *error,
        Err(error) => {
            let text = error.to_string();
            if text.contains("SignatureMismatch") {
                return S3Error::with_message(
                    S3ErrorCode::SignatureDoesNotMatch,
                    "The request signature we calculated does not match the signature you provided. Check your key \
                     and signing method.",
                );
            }
            if text.contains("Sha256Mismatch") {
                return custom(
                    "XAmzContentSHA256Mismatch",
                    http::StatusCode::BAD_REQUEST,
                    "The provided 'x-amz-content-sha256' header does not match what was computed.",
                );
            }
            incomplete_body()
        }
    }
}

/// Streams part of an object to the client.
pub(crate) struct ObjectBody {
    /// The mutex only provides `Sync`, which the API requires: the stream is only polled through
    /// `&mut`.
    inner: Mutex<BoxStream<'static, client::Result<Bytes>>>,
    left: u64,
}

impl ObjectBody {
    pub(crate) fn blob(
        inner: BoxStream<'static, client::Result<Bytes>>,
        length: u64,
    ) -> StreamingBlob {
        StreamingBlob::new(Self { inner: Mutex::new(inner), left: length })
    }
}

impl Stream for ObjectBody {
    type Item = Result<Bytes, s3s::StdError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.inner.get_mut().poll_next_unpin(cx) {
            Poll::Ready(Some(Ok(piece))) => {
                self.left = self.left.saturating_sub(piece.len() as u64);
                Poll::Ready(Some(Ok(piece)))
            }
            Poll::Ready(Some(Err(error))) => {
                tracing::error!(%error, "sending an object failed");
                Poll::Ready(Some(Err(Box::new(error))))
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl ByteStream for ObjectBody {
    fn remaining_length(&self) -> RemainingLength {
        RemainingLength::new_exact(usize::try_from(self.left).unwrap_or(usize::MAX))
    }
}
