//! Open keys whose writer is gone: their rows go, their blocks are deleted.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use namespace::{Table, View};
use prost::Message;
use proto::ozone::{DeleteOpenKeysRequest, KeyInfo, OmRequest, OpenKey, OpenKeyBucket, Type};
use service::{BackgroundService, Progress};

use super::CleanupOptions;
use super::names::bucket_of;
use crate::ids::now_ms;
use crate::room::Room;

/// Gives up open keys that are older than the threshold.
pub(crate) struct OpenKeyCleanupService {
    room: Arc<Room>,
    options: CleanupOptions,
}

impl OpenKeyCleanupService {
    pub(crate) fn new(room: Arc<Room>, options: CleanupOptions) -> Arc<Self> {
        Arc::new(Self { room, options })
    }

    /// Expired open keys by bucket, and how many. Multipart uploads have a cleanup of their own:
    /// their row in the openKeyTable goes with them.
    fn expired(&self) -> Result<(BTreeMap<(String, String), Vec<OpenKey>>, usize), String> {
        let tables = self.room.tables().map_err(|s| s.to_string())?;
        let before = now_ms().saturating_sub(self.options.expire.as_millis() as u64);
        let (mut found, mut count) = (BTreeMap::new(), 0);
        tables
            .scan(Table::OpenKeyTable, b"", None, &mut |key, value| {
                let Ok(info) = KeyInfo::decode(value) else { return ControlFlow::Continue(()) };
                // An upload's own row; the session of a part that was never committed is a row
                // like any other.
                let multipart =
                    info.key_location_list.last().is_some_and(|v| v.is_multipart_key == Some(true))
                        && tables.exists(Table::MultipartInfoTable, key).unwrap_or(true);
                let hsync = info.metadata.iter().any(|m| m.key == "hsyncClientId");
                let touched = info.modification_time.max(info.creation_time);
                if touched > before || multipart || hsync {
                    return ControlFlow::Continue(());
                }
                let Ok(name) = std::str::from_utf8(key) else { return ControlFlow::Continue(()) };
                if let Some((volume, bucket)) = bucket_of(name) {
                    let keys: &mut Vec<OpenKey> =
                        found.entry((volume.to_owned(), bucket.to_owned())).or_default();
                    keys.push(OpenKey { name: name.to_owned(), client_id: None });
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
        let open_keys_per_bucket = expired
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
                bucket_layout: None,
            })),
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
        self.run().await.unwrap_or_else(Progress::failed)
    }
}
