//! The open key of a writer: its blocks from OM, and its commit.

use std::collections::VecDeque;
use std::time::Duration;

use proto::hdds::KeyValue;
use proto::ozone::{KeyArgs, KeyInfo, KeyLocation, KeyLocationList};
use types::{BlockId, Pipeline};

use crate::om::args::{CreateKey, KeyPath, pairs_to_wire};
use crate::{Client, ClientOptions, Error, ErrorKind, Result};

/// Pause before another block request to OM.
const ALLOCATE_RETRY_DELAY: Duration = Duration::from_millis(200);

/// Properties of a key that are known only after it is written.
#[derive(Debug, Clone, Default)]
pub struct FinishOptions {
    /// User metadata in addition to that of the key's creation; the same names are replaced.
    pub metadata: Vec<(String, String)>,
}

/// A key that is open for writing.
pub(super) struct Session {
    pub(super) client: Client,
    pub(super) path: KeyPath,
    args: KeyArgs,
    is_part: bool,
    info: KeyInfo,
    id: u64,
    preallocated: VecDeque<KeyLocation>,
}

impl Session {
    pub(super) async fn open(client: Client, key: CreateKey) -> Result<Self> {
        let mut args = key.args();
        let mut open = match key.file {
            Some(options) => client.open_file_for_write(args.clone(), options).await?,
            None => client.open_for_write(args.clone()).await?,
        };
        // The resolved defaults apply to all later requests for this key.
        args.r#type = Some(open.info.r#type);
        args.factor = open.info.factor;
        args.ec_replication_config = open.info.ec_replication_config.clone();
        let version = open.info.key_location_list.pop();
        let preallocated = version.map(|v| v.key_locations.into()).unwrap_or_default();
        Ok(Self {
            client,
            is_part: key.part.is_some(),
            path: key.path,
            args,
            info: open.info,
            id: open.session,
            preallocated,
        })
    }

    pub(super) fn options(&self) -> &ClientOptions {
        self.client.options()
    }

    /// Metadata of the open key in OM.
    pub(super) fn metadata(&self) -> &[KeyValue] {
        &self.info.metadata
    }

    /// The erasure coding of the key, if it is erasure-coded.
    pub(super) fn erasure_coding(&self) -> Option<&proto::hdds::EcReplicationConfig> {
        self.args.ec_replication_config.as_ref()
    }

    /// The size announced to OM; 0 if unknown.
    pub(super) fn size_hint(&self) -> u64 {
        self.args.data_size.unwrap_or(0)
    }

    /// Capacity of the next block.
    pub(super) fn next_length(&self) -> u64 {
        self.preallocated.front().map_or(self.options().block_size, |location| location.length)
    }

    /// The next block: a preallocated one, or else a new one.
    pub(super) async fn next_location(&mut self) -> Result<KeyLocation> {
        match self.next_preallocated() {
            Some(location) => Ok(location),
            None => self.allocate().await,
        }
    }

    /// The next preallocated block that is not avoided.
    fn next_preallocated(&mut self) -> Option<KeyLocation> {
        let excluded = self.client.excluded();
        while let Some(location) = self.preallocated.pop_front() {
            if excluded.is_empty() {
                return Some(location);
            }
            let pipeline = location.pipeline.as_ref().and_then(|p| Pipeline::from_wire(p).ok());
            let block = BlockId::from_wire(&location.block_id);
            if pipeline.is_some_and(|pipeline| !excluded.avoids(&block, &pipeline)) {
                return Some(location);
            }
        }
        None
    }

    async fn allocate(&mut self) -> Result<KeyLocation> {
        let mut attempt = 0;
        loop {
            // With few DataNodes everything may be excluded: then any block is used.
            let exclude = match attempt % 2 {
                0 => self.client.excluded().to_wire(),
                _ => Default::default(),
            };
            match self.client.allocate_block(&self.args, self.id, exclude).await {
                Ok(location) => return Ok(location),
                Err(error) if attempt >= self.options().write_retries.max(1) => return Err(error),
                Err(error) if !may_pass(error.kind()) => return Err(error),
                Err(error) => {
                    tracing::debug!(key = %self.path, %error, attempt, "cannot allocate block");
                    if attempt % 2 == 1 {
                        tokio::time::sleep(ALLOCATE_RETRY_DELAY * attempt).await;
                    }
                    attempt += 1;
                }
            }
        }
    }

    /// Makes the first `written` bytes, which are in `blocks`, visible; the key stays open.
    pub(super) async fn hsync(&self, written: u64, blocks: Vec<KeyLocation>) -> Result<()> {
        if self.is_part {
            return Err(Error::Usage("a part of a multipart upload cannot be synced".into()));
        }
        let mut args = self.args.clone();
        args.data_size = Some(written);
        args.key_locations = blocks;
        self.client.commit_key(args, self.id, true).await
    }

    /// Makes the key of `written` bytes in `blocks` visible.
    pub(super) async fn commit(
        mut self,
        written: u64,
        blocks: Vec<KeyLocation>,
        options: FinishOptions,
    ) -> Result<KeyInfo> {
        for pair in pairs_to_wire(&options.metadata) {
            self.args.metadata.retain(|old| old.key != pair.key);
            self.args.metadata.push(pair);
        }
        self.args.data_size = Some(written);
        self.args.key_locations = blocks;
        let mut info = self.info;
        info.data_size = written;
        info.metadata = self.args.metadata.clone();
        info.tags = self.args.tags.clone();
        info.key_location_list = vec![KeyLocationList {
            version: Some(info.latest_version.unwrap_or(0)),
            key_locations: self.args.key_locations.clone(),
            ..Default::default()
        }];
        if self.is_part {
            self.client.commit_part(self.args, self.id).await?;
        } else {
            self.client.commit_key(self.args, self.id, false).await?;
        }
        Ok(info)
    }
}

/// Returns `true` if an allocation that failed in this way may succeed soon.
fn may_pass(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Internal | ErrorKind::Unavailable | ErrorKind::SafeMode | ErrorKind::Timeout
    )
}
