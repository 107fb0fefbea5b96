//! Multipart uploads that nobody completes: aborted, with the blocks of their parts.

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
use service::{BackgroundService, Progress};

use super::CleanupOptions;
use super::names::bucket_of;
use crate::ids::now_ms;
use crate::room::Room;

/// Gives up multipart uploads that are older than the threshold.
pub(crate) struct MultipartUploadCleanupService {
    room: Arc<Room>,
    options: CleanupOptions,
}

impl MultipartUploadCleanupService {
    pub(crate) fn new(room: Arc<Room>, options: CleanupOptions) -> Arc<Self> {
        Arc::new(Self { room, options })
    }

    fn expired(&self) -> Result<(BTreeMap<(String, String), Vec<String>>, usize), String> {
        let tables = self.room.tables().map_err(|s| s.to_string())?;
        let before = now_ms().saturating_sub(self.options.expire.as_millis() as u64);
        let (mut found, mut count) = (BTreeMap::new(), 0);
        tables
            .scan(Table::MultipartInfoTable, b"", None, &mut |key, value| {
                let old = MultipartKeyInfo::decode(value).is_ok_and(|u| u.creation_time <= before);
                if let (true, Ok(name)) = (old, std::str::from_utf8(key))
                    && let Some((volume, bucket)) = bucket_of(name)
                {
                    let uploads: &mut Vec<String> =
                        found.entry((volume.to_owned(), bucket.to_owned())).or_default();
                    uploads.push(name.to_owned());
                    count += 1;
                }
                if count < self.options.limit {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            })
            .map_err(|e| e.to_string())?;
        Ok((found, count))
    }

    async fn run(&self) -> Result<Progress, String> {
        let (expired, count) = self.expired()?;
        if count == 0 {
            return Ok(Progress::idle());
        }
        let per_bucket = expired
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
        let response = self.room.submit_own(request).await.map_err(|s| s.to_string())?;
        if response.success == Some(false) {
            return Err(response.message.unwrap_or_default());
        }
        let full = count >= self.options.limit;
        Ok(if full { Progress::more(count as u64) } else { Progress::done(count as u64) })
    }
}

#[async_trait::async_trait]
impl BackgroundService for MultipartUploadCleanupService {
    fn name(&self) -> &str {
        "MultipartUploadCleanupService"
    }

    fn interval(&self) -> Duration {
        self.options.interval
    }

    async fn run_once(&self) -> Progress {
        if !self.room.is_leader() {
            return Progress::idle();
        }
        self.run().await.unwrap_or_else(Progress::failed)
    }
}
