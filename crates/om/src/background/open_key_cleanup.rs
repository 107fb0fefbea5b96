//! Open keys whose writer is gone: rows of those that were never synced go, and their blocks are
//! deleted; those that were synced are closed as they are.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use namespace::{Table, View};
use prost::Message;
use proto::hdds::KeyValue;
use proto::ozone::{
    BucketLayoutProto, CommitKeyRequest, DeleteOpenKeysRequest, KeyArgs, KeyInfo, OmRequest,
    OpenKey, OpenKeyBucket, Type,
};
use service::{BackgroundService, Progress};

use super::CleanupOptions;
use crate::ids::now_ms;
use crate::room::Room;
use crate::state::Tables;

/// Gives up open keys that are older than the threshold.
pub(crate) struct OpenKeyCleanupService {
    room: Arc<Room>,
    options: CleanupOptions,
    lease_hard_limit: Duration,
}

/// What is to be done.
#[derive(Default)]
struct Expired {
    /// Sessions to give up, by bucket.
    given_up: BTreeMap<(String, String), Vec<OpenKey>>,
    /// Synced keys to close.
    closed: Vec<CommitKeyRequest>,
    count: usize,
}

/// What an open row is to us.
enum Fate {
    Stays,
    GivenUp,
    Closed(Box<CommitKeyRequest>),
}

/// Before when something was last touched to count as expired, in milliseconds.
struct Thresholds {
    expire: u64,
    lease: u64,
}

impl OpenKeyCleanupService {
    pub(crate) fn new(
        room: Arc<Room>,
        options: CleanupOptions,
        lease_hard_limit: Duration,
    ) -> Arc<Self> {
        Arc::new(Self { room, options, lease_hard_limit })
    }

    /// Multipart uploads have a cleanup of their own: their row in the openKeyTable goes with
    /// them.
    fn expired(&self, layout: BucketLayoutProto) -> Result<Expired, String> {
        let table = match layout {
            BucketLayoutProto::FileSystemOptimized => Table::OpenFileTable,
            _ => Table::OpenKeyTable,
        };
        let tables = self.room.tables().map_err(|s| s.to_string())?;
        let before = |age: Duration| now_ms().saturating_sub(age.as_millis() as u64);
        let thresholds = Thresholds {
            expire: before(self.options.expire),
            lease: before(self.lease_hard_limit),
        };
        let mut found = Expired::default();
        tables
            .scan(table, b"", None, &mut |key, value| {
                let (Ok(info), Ok(name)) = (KeyInfo::decode(value), std::str::from_utf8(key))
                else {
                    return ControlFlow::Continue(());
                };
                match fate(&tables, table, &info, name, &thresholds) {
                    Fate::Stays => return ControlFlow::Continue(()),
                    Fate::Closed(commit) => found.closed.push(*commit),
                    Fate::GivenUp => {
                        let keys =
                            found.given_up.entry((info.volume_name, info.bucket_name)).or_default();
                        keys.push(OpenKey { name: name.to_owned(), client_id: None });
                    }
                }
                found.count += 1;
                if found.count < self.options.limit {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            })
            .map_err(|e| e.to_string())?;
        Ok(found)
    }

    async fn run(&self, layout: BucketLayoutProto) -> Result<Progress, String> {
        let expired = self.expired(layout)?;
        for commit in expired.closed {
            let key = commit.key_args.key_name.clone();
            let request = OmRequest {
                cmd_type: Type::CommitKey as i32,
                client_id: self.name().to_owned(),
                commit_key_request: Some(Box::new(commit)),
                ..OmRequest::default()
            };
            // Its writer may have come back: then this one is late, and the next run looks again.
            if let Err(e) = self.submit(request).await {
                tracing::info!(key, "a synced key was not closed: {e}");
            }
        }
        if !expired.given_up.is_empty() {
            let open_keys_per_bucket = expired
                .given_up
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
            self.submit(request).await?;
        }
        let count = expired.count;
        Ok(match count {
            0 => Progress::idle(),
            count if count >= self.options.limit => Progress::more(count as u64),
            count => Progress::done(count as u64),
        })
    }

    async fn submit(&self, request: OmRequest) -> Result<(), String> {
        let response = self.room.submit_own(request).await.map_err(|s| s.to_string())?;
        match response.success {
            Some(false) => Err(response.message.unwrap_or_default()),
            _ => Ok(()),
        }
    }
}

fn fate(tables: &Tables, table: Table, open: &KeyInfo, row: &str, before: &Thresholds) -> Fate {
    let Some((committed_row, session)) = row.rsplit_once('/') else { return Fate::Stays };
    let touched = open.modification_time.max(open.creation_time);
    // An upload's own row; the session of a part that was never committed is a row like any other.
    // Sessions of clients are numbers.
    let Ok(client_id) = session.parse::<i64>() else { return Fate::Stays };
    let marked = |marker| value(&open.metadata, marker).is_some();
    if marked("deletedHsyncKey") || marked("overwrittenHsyncKey") {
        return if touched <= before.expire.max(before.lease) {
            Fate::GivenUp
        } else {
            Fate::Stays
        };
    }
    if !marked("hsyncClientId") {
        return if touched <= before.expire { Fate::GivenUp } else { Fate::Stays };
    }
    // Who recovers a key closes it, too. A commit needs the path, which the row of a file does
    // not tell: a synced file stays until somebody recovers it.
    let has_path = table == Table::OpenKeyTable;
    if touched > before.lease || marked("leaseRecovery") || !has_path {
        return Fate::Stays;
    }
    let Ok(Some(synced)) = tables.message::<KeyInfo>(Table::KeyTable, committed_row.as_bytes())
    else {
        return Fate::Stays;
    };
    if value(&synced.metadata, "hsyncClientId") != Some(session) {
        return Fate::Stays;
    }
    Fate::Closed(Box::new(close(synced, client_id as u64)))
}

/// The commit that closes a key as it was last synced.
fn close(synced: KeyInfo, client_id: u64) -> CommitKeyRequest {
    CommitKeyRequest {
        key_args: KeyArgs {
            volume_name: synced.volume_name,
            bucket_name: synced.bucket_name,
            key_name: synced.key_name,
            data_size: Some(synced.data_size),
            r#type: Some(synced.r#type),
            factor: synced.factor,
            ec_replication_config: synced.ec_replication_config,
            key_locations: synced
                .key_location_list
                .into_iter()
                .last()
                .map(|list| list.key_locations)
                .unwrap_or_default(),
            ..KeyArgs::default()
        },
        client_id,
        hsync: Some(false),
        recovery: Some(false),
    }
}

fn value<'a>(metadata: &'a [KeyValue], key: &str) -> Option<&'a str> {
    metadata.iter().find(|entry| entry.key == key).map(|entry| entry.value.as_deref().unwrap_or(""))
}

#[async_trait::async_trait]
impl BackgroundService for OpenKeyCleanupService {
    fn name(&self) -> &str {
        "OpenKeyCleanupService"
    }

    fn interval(&self) -> Duration {
        self.options.interval
    }

    async fn run_once(&self) -> Progress {
        if !self.room.is_leader() {
            return Progress::idle();
        }
        let mut progress = Progress::idle();
        for layout in [BucketLayoutProto::Legacy, BucketLayoutProto::FileSystemOptimized] {
            let run = self.run(layout).await.unwrap_or_else(Progress::failed);
            progress = Progress {
                items: progress.items + run.items,
                more: progress.more || run.more,
                failure: progress.failure.or(run.failure),
            };
        }
        progress
    }
}
