//! Multipart uploads that no client completes: aborted, with the blocks of their parts.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use namespace::{Table, View};
use prost::Message;
use proto::ozone::{
    ExpiredMultipartUploadInfo, ExpiredMultipartUploadsBucket, MultipartKeyInfo,
    MultipartUploadsExpiredAbortRequest, OmRequest, Type,
};
use service::Progress;

use super::BackgroundError;
use super::names::bucket_of;
use super::submit::submit;
use super::while_leading::LeaderWork;
use super::{CleanupOptions, Resume};
use crate::dispatch::Dispatcher;
use crate::ids::now_ms;

/// Aborts multipart uploads that are older than the threshold.
pub(crate) struct MultipartUploadCleanupService {
    dispatcher: Arc<Dispatcher>,
    options: CleanupOptions,
    resume: Resume,
}

/// Uploads to abort: rows of the multipartInfoTable, by bucket.
#[derive(Default)]
struct Expired {
    uploads: BTreeMap<(String, String), Vec<String>>,
    count: usize,
    /// Rows that do not decode.
    skipped: u64,
    /// The last seen row, if more may follow.
    last: Option<Vec<u8>>,
}

impl MultipartUploadCleanupService {
    pub(crate) fn new(dispatcher: Arc<Dispatcher>, options: CleanupOptions) -> Arc<Self> {
        Arc::new(Self { dispatcher, options, resume: Resume::default() })
    }

    fn expired(&self) -> Result<Expired, BackgroundError> {
        let tables = self.dispatcher.tables()?;
        let before = now_ms().saturating_sub(self.options.expire.as_millis() as u64);
        let mut found = Expired::default();
        let start = self.resume.start();
        tables.scan(Table::MultipartInfoTable, &start, None, &mut |key, value| {
            let name = std::str::from_utf8(key).ok();
            let bucket = name.and_then(bucket_of);
            let (Some(name), Some((volume, bucket)), Ok(upload)) =
                (name, bucket, MultipartKeyInfo::decode(value))
            else {
                found.skipped += 1;
                return ControlFlow::Continue(());
            };
            if upload.creation_time <= before {
                let bucket = (volume.to_owned(), bucket.to_owned());
                found.uploads.entry(bucket).or_default().push(name.to_owned());
                found.count += 1;
            }
            if found.count < self.options.limit {
                ControlFlow::Continue(())
            } else {
                found.last = Some(key.to_vec());
                ControlFlow::Break(())
            }
        })?;
        Ok(found)
    }

    async fn abort_expired(&self) -> Result<Progress, BackgroundError> {
        let Expired { uploads, count, skipped, last } = self.expired()?;
        if count == 0 {
            return Ok(Progress::idle().and_skipped(skipped));
        }
        let per_bucket = uploads
            .into_iter()
            .map(|((volume_name, bucket_name), uploads)| ExpiredMultipartUploadsBucket {
                volume_name,
                bucket_name,
                multipart_uploads: uploads
                    .into_iter()
                    .map(|name| ExpiredMultipartUploadInfo { name })
                    .collect(),
            })
            .collect();
        let request = OmRequest {
            cmd_type: Type::AbortExpiredMultiPartUploads as i32,
            client_id: self.name().to_owned(),
            multipart_uploads_expired_abort_request: Some(Box::new(
                MultipartUploadsExpiredAbortRequest {
                    expired_multipart_uploads_per_bucket: per_bucket,
                },
            )),
            ..OmRequest::default()
        };
        submit(&self.dispatcher, request).await?;
        let full = last.is_some();
        self.resume.stopped_at(last);
        let progress =
            if full { Progress::more(count as u64) } else { Progress::done(count as u64) };
        Ok(progress.and_skipped(skipped))
    }
}

#[async_trait::async_trait]
impl LeaderWork for MultipartUploadCleanupService {
    fn name(&self) -> &'static str {
        "MultipartUploadCleanupService"
    }

    fn interval(&self) -> Duration {
        self.options.interval
    }

    async fn run(&self) -> Result<Progress, BackgroundError> {
        self.abort_expired().await
    }
}
