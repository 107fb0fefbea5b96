//! Open keys whose writer disappeared: rows of keys that were never synced are removed, and their
//! blocks deleted; synced ones are closed as they are. Both by the row of the session, which a file
//! keeps wherever its directory is moved to.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use namespace::{Table, View};
use prost::Message;
use proto::ozone::{
    BucketLayoutProto, DeleteOpenKeysRequest, KeyInfo, OmRequest, OpenKey, OpenKeyBucket, Type,
};
use service::Progress;

use super::BackgroundError;
use super::submit::submit;
use super::while_leading::LeaderWork;
use super::{CleanupOptions, Resume};
use crate::dispatch::Dispatcher;
use crate::ids::now_ms;

/// Cleans up open keys that are older than the threshold.
pub(crate) struct OpenKeyCleanupService {
    dispatcher: Arc<Dispatcher>,
    options: CleanupOptions,
    lease_hard_limit: Duration,
    /// In the openKeyTable and in the openFileTable.
    resume: [Resume; 2],
}

/// Sessions to end, by bucket.
#[derive(Default)]
struct Expired {
    sessions: BTreeMap<(String, String), Vec<OpenKey>>,
    count: usize,
    /// Rows that do not decode.
    skipped: u64,
    /// The last seen row, if more may follow.
    last: Option<Vec<u8>>,
}

/// Before when something was last touched to count as expired, in milliseconds.
struct Thresholds {
    expire: u64,
    lease: u64,
}

impl OpenKeyCleanupService {
    pub(crate) fn new(
        dispatcher: Arc<Dispatcher>,
        options: CleanupOptions,
        lease_hard_limit: Duration,
    ) -> Arc<Self> {
        Arc::new(Self { dispatcher, options, lease_hard_limit, resume: Default::default() })
    }

    /// Multipart uploads have a cleanup of their own, which also removes their row in the
    /// openKeyTable.
    fn expired(&self, layout: BucketLayoutProto) -> Result<Expired, BackgroundError> {
        let table = match layout {
            BucketLayoutProto::FileSystemOptimized => Table::OpenFileTable,
            _ => Table::OpenKeyTable,
        };
        let start = self.resume(layout).start();
        let tables = self.dispatcher.tables()?;
        let before = |age: Duration| now_ms().saturating_sub(age.as_millis() as u64);
        let thresholds = Thresholds {
            expire: before(self.options.expire),
            lease: before(self.lease_hard_limit),
        };
        let mut found = Expired::default();
        tables.scan(table, &start, None, &mut |key, value| {
            let (Ok(info), Ok(name)) = (KeyInfo::decode(value), std::str::from_utf8(key)) else {
                found.skipped += 1;
                return ControlFlow::Continue(());
            };
            if !is_expired(&info, name, &thresholds) {
                return ControlFlow::Continue(());
            }
            let bucket = (info.volume_name, info.bucket_name);
            let keys = found.sessions.entry(bucket).or_default();
            keys.push(OpenKey { name: name.to_owned(), client_id: None });
            found.count += 1;
            if found.count < self.options.limit {
                ControlFlow::Continue(())
            } else {
                found.last = Some(key.to_vec());
                ControlFlow::Break(())
            }
        })?;
        Ok(found)
    }

    fn resume(&self, layout: BucketLayoutProto) -> &Resume {
        &self.resume[usize::from(layout == BucketLayoutProto::FileSystemOptimized)]
    }

    async fn clean_up(&self, layout: BucketLayoutProto) -> Result<Progress, BackgroundError> {
        let expired = self.expired(layout)?;
        if expired.count > 0 {
            let open_keys_per_bucket = expired
                .sessions
                .into_iter()
                .map(|((volume_name, bucket_name), keys)| OpenKeyBucket {
                    volume_name,
                    bucket_name,
                    keys,
                })
                .collect();
            let request = OmRequest {
                cmd_type: Type::DeleteOpenKeys as i32,
                client_id: self.name().to_owned(),
                delete_open_keys_request: Some(Box::new(DeleteOpenKeysRequest {
                    open_keys_per_bucket,
                    bucket_layout: Some(layout as i32),
                })),
                ..OmRequest::default()
            };
            submit(&self.dispatcher, request).await?;
        }
        let items = expired.count as u64;
        let progress = Progress { items, more: expired.last.is_some(), ..Progress::idle() };
        self.resume(layout).stopped_at(expired.last);
        Ok(progress.and_skipped(expired.skipped))
    }
}

/// Returns `true` if the session of an open row has expired. An upload's own row is removed with
/// its upload; the session of a part that was never committed is a row like any other.
fn is_expired(open: &KeyInfo, row: &str, before: &Thresholds) -> bool {
    // Sessions of clients are numbers.
    let session = row.rsplit_once('/').map(|(_, session)| session.parse::<i64>());
    if !matches!(session, Some(Ok(_))) {
        return false;
    }
    let touched = open.modification_time.max(open.creation_time);
    let marked = |marker| open.metadata.iter().any(|entry| entry.key == marker);
    if marked("deletedHsyncKey") || marked("overwrittenHsyncKey") {
        // The writer may still return and get an error.
        touched <= before.expire.max(before.lease)
    } else if marked("hsyncClientId") {
        // A recovery has touched it, too, and has as long again.
        touched <= before.lease
    } else {
        touched <= before.expire
    }
}

#[async_trait::async_trait]
impl LeaderWork for OpenKeyCleanupService {
    fn name(&self) -> &'static str {
        "OpenKeyCleanupService"
    }

    fn interval(&self) -> Duration {
        self.options.interval
    }

    async fn run(&self) -> Result<Progress, BackgroundError> {
        let mut progress = Progress::idle();
        for layout in [BucketLayoutProto::Legacy, BucketLayoutProto::FileSystemOptimized] {
            let run = self.clean_up(layout).await.unwrap_or_else(Progress::failed);
            progress = Progress {
                items: progress.items + run.items,
                more: progress.more || run.more,
                skipped: progress.skipped + run.skipped,
                failure: progress.failure.or(run.failure),
            };
        }
        Ok(progress)
    }
}
