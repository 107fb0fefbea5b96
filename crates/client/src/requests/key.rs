//! Keys: write, read, info, list, rename, delete. The bytes themselves are handled by `write` and
//! `read`.

use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{self, Stream, TryStreamExt};
use proto::hdds::ExcludeListProto;
use proto::ozone::{self as om, BasicKeyInfo, KeyArgs, KeyInfo, KeyLocation, Status};
use tokio::time::Instant;

use crate::om::args::{CreateKey, FileOptions, KeyPath, ListKeys, Precondition};
use crate::om::command;
use crate::read::synced::is_being_written;
use crate::{Client, Error, FinishOptions, KeyReader, KeyWriter, Result};

/// Delay between two attempts while SCM is in safe mode.
const SAFE_MODE_RETRY_DELAY: Duration = Duration::from_millis(200);

/// Time for which SCM_IN_SAFE_MODE is retried, within the deadline.
const SAFE_MODE_TIMEOUT: Duration = Duration::from_secs(20);

/// An open key, as returned by OM.
pub(crate) struct OpenKey {
    pub(crate) info: KeyInfo,
    pub(crate) session: u64,
}

impl Client {
    /// Opens a key for writing. Nothing is visible until [`KeyWriter::finish`]; a dropped writer
    /// leaves only blocks that the servers clean up.
    ///
    /// # Errors
    /// `BUCKET_NOT_FOUND`, a failed precondition, or a failure to reach OM.
    pub fn create_key(&self, key: CreateKey) -> BoxFuture<'_, Result<KeyWriter>> {
        Box::pin(async move { KeyWriter::open(self.clone(), key).await })
    }

    /// Writes a whole key from memory.
    ///
    /// # Errors
    /// As [`Client::create_key`] and [`KeyWriter::finish`].
    pub fn put_key(&self, key: CreateKey, data: Bytes) -> BoxFuture<'_, Result<KeyInfo>> {
        Box::pin(async move {
            let mut writer = self.create_key(key.size_hint(data.len() as u64)).await?;
            writer.write(data).await?;
            writer.finish(FinishOptions::default()).await
        })
    }

    /// Opens a key for reading. Of a key that is open for writing, all synced data is readable.
    ///
    /// # Errors
    /// `KEY_NOT_FOUND`, or a failure to reach OM.
    pub fn open_key<'a>(&'a self, path: &'a KeyPath) -> BoxFuture<'a, Result<KeyReader>> {
        Box::pin(async move {
            let info = self.locate_key(path, false).await?;
            KeyReader::open(self.clone(), path.clone(), info).await
        })
    }

    /// All information about a key, without the current locations of its blocks.
    ///
    /// # Errors
    /// `KEY_NOT_FOUND`, or a failure to reach OM.
    pub fn key_info<'a>(&'a self, path: &'a KeyPath) -> BoxFuture<'a, Result<KeyInfo>> {
        Box::pin(
            async move { self.get_key_info(KeyArgs { head_op: Some(true), ..path.args() }).await },
        )
    }

    /// As [`Client::key_info`], with the size for readers of the key: OM's may be out of date if
    /// its writer has synced but not closed it.
    ///
    /// # Errors
    /// As [`Client::key_info`], and if no DataNode returns the length of such a key.
    pub fn readable_key_info<'a>(&'a self, path: &'a KeyPath) -> BoxFuture<'a, Result<KeyInfo>> {
        Box::pin(async move {
            let info = self.key_info(path).await?;
            match is_being_written(&info) {
                true => Ok(self.open_key(path).await?.info().clone()),
                false => Ok(info),
            }
        })
    }

    /// All information about a key, with the pipelines of its blocks; `fresh` makes OM refresh them
    /// from SCM.
    pub(crate) async fn locate_key(&self, path: &KeyPath, fresh: bool) -> Result<KeyInfo> {
        let args = KeyArgs {
            sort_datanodes: Some(self.options().topology_aware_read),
            latest_version_location: Some(true),
            head_op: Some(false),
            force_update_container_cache_from_scm: fresh.then_some(true),
            ..path.args()
        };
        self.get_key_info(args).await
    }

    async fn get_key_info(&self, args: KeyArgs) -> Result<KeyInfo> {
        let request = om::GetKeyInfoRequest { key_args: args, assume_s3_context: None };
        let reply = self.om::<command::GetKeyInfo>(&request).await?;
        reply.key_info.ok_or_else(|| Error::om_reply("no key in GetKeyInfo"))
    }

    /// One page of at most `count` keys in the order of names, and whether there are more.
    ///
    /// # Errors
    /// `BUCKET_NOT_FOUND`, or a failure to reach OM.
    pub fn list_keys_page<'a>(
        &'a self,
        list: &'a ListKeys,
        count: u32,
    ) -> BoxFuture<'a, Result<(Vec<BasicKeyInfo>, bool)>> {
        Box::pin(async move {
            let request = list_request(list, count);
            let reply = self.om::<command::ListKeysLight>(&request).await?;
            let full = reply.basic_key_info.len() >= count as usize;
            Ok((reply.basic_key_info, reply.is_truncated.unwrap_or(full)))
        })
    }

    /// All keys of a listing in the order of names, page by page.
    pub fn list_keys(
        &self,
        list: ListKeys,
    ) -> impl Stream<Item = Result<BasicKeyInfo>> + Send + use<> {
        let count = self.options().list_page;
        stream::try_unfold((self.clone(), Some(list)), move |(client, list)| async move {
            let Some(mut list) = list else { return Ok::<_, Error>(None) };
            let (page, more) = client.list_keys_page(&list, count).await?;
            let Some(last) = page.last() else { return Ok(None) };
            list.start_after = last.key_name().to_owned();
            let keys = stream::iter(page.into_iter().map(Ok));
            Ok(Some((keys, (client, more.then_some(list)))))
        })
        .try_flatten()
    }

    /// One page of at most `count` keys with all their metadata, and whether there are more.
    ///
    /// # Errors
    /// `BUCKET_NOT_FOUND`, or a failure to reach OM.
    pub fn list_key_infos_page<'a>(
        &'a self,
        list: &'a ListKeys,
        count: u32,
    ) -> BoxFuture<'a, Result<(Vec<KeyInfo>, bool)>> {
        Box::pin(async move {
            let reply = self.om::<command::ListKeys>(&list_request(list, count)).await?;
            let full = reply.key_info.len() >= count as usize;
            Ok((reply.key_info, reply.is_truncated.unwrap_or(full)))
        })
    }

    /// Creates a directory and its parents, in a bucket that has directories. Succeeds if it
    /// exists.
    ///
    /// # Errors
    /// `FILE_ALREADY_EXISTS` if there is a file with that name, or a failure to reach OM.
    pub fn create_directory<'a>(&'a self, path: &'a KeyPath) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let request = om::CreateDirectoryRequest { key_args: path.args() };
            let (reply, _) = self.om_reply::<command::CreateDirectory>(&request).await?;
            match reply.status {
                Status::DirectoryAlreadyExists => Ok(()),
                _ => reply.ok().map(drop),
            }
        })
    }

    /// Renames a key within its bucket.
    ///
    /// # Errors
    /// `KEY_NOT_FOUND`, `KEY_ALREADY_EXISTS`, or a failure to reach OM.
    pub fn rename_key<'a>(&'a self, path: &'a KeyPath, to: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let request =
                om::RenameKeyRequest { key_args: path.args(), to_key_name: to.to_owned() };
            self.om::<command::RenameKey>(&request).await.map(drop)
        })
    }

    /// Deletes a key.
    ///
    /// # Errors
    /// `KEY_NOT_FOUND`, or a failure to reach OM.
    pub fn delete_key<'a>(&'a self, path: &'a KeyPath) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let request = om::DeleteKeyRequest { key_args: path.args() };
            self.om::<command::DeleteKey>(&request).await.map(drop)
        })
    }

    /// Deletes a key if `precondition` holds, which OM checks atomically.
    ///
    /// # Errors
    /// `ETAG_MISMATCH`, `KEY_NOT_FOUND` for a missing key or another generation, or a failure to
    /// reach OM.
    pub fn delete_key_if<'a>(
        &'a self,
        path: &'a KeyPath,
        precondition: &'a Precondition,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let mut key_args = path.args();
            precondition.put_into(&mut key_args);
            let request = om::DeleteKeyRequest { key_args };
            self.om::<command::DeleteKey>(&request).await.map(drop)
        })
    }

    /// Deletes keys of one bucket; returns those that could not be deleted, with OM's status name
    /// and message.
    ///
    /// # Errors
    /// `BUCKET_NOT_FOUND`, or a failure to reach OM.
    pub fn delete_keys<'a>(
        &'a self,
        volume: &'a str,
        bucket: &'a str,
        keys: Vec<String>,
    ) -> BoxFuture<'a, Result<Vec<(String, String, String)>>> {
        Box::pin(async move {
            let args = om::DeleteKeyArgs {
                volume_name: volume.to_owned(),
                bucket_name: bucket.to_owned(),
                keys,
                ..om::DeleteKeyArgs::default()
            };
            let request = om::DeleteKeysRequest { delete_keys: Some(args) };
            let (reply, _) = self.om_reply::<command::DeleteKeys>(&request).await?;
            let body = match (reply.status, reply.body) {
                (Status::PartialDelete, Some(body)) => body,
                (status, body) => {
                    return command::Reply {
                        status,
                        message: reply.message,
                        body,
                        written_at: None,
                    }
                    .ok()
                    .map(|_| Vec::new());
                }
            };
            Ok(body
                .errors
                .into_iter()
                .map(|e| {
                    let (key, code) = (e.key.unwrap_or_default(), e.error_code.unwrap_or_default());
                    (key, code, e.error_msg.unwrap_or_default())
                })
                .collect())
        })
    }

    pub(crate) async fn open_for_write(&self, args: KeyArgs) -> Result<OpenKey> {
        let request = om::CreateKeyRequest { key_args: args, client_id: None };
        let reply = self.out_of_safe_mode(|| self.om::<command::CreateKey>(&request)).await?;
        let session = reply.id.ok_or_else(|| Error::om_reply("no ID in CreateKey"))?;
        let info = reply.key_info.ok_or_else(|| Error::om_reply("no key in CreateKey"))?;
        Ok(OpenKey { info, session })
    }

    pub(crate) async fn allocate_block(
        &self,
        args: &KeyArgs,
        session: u64,
        exclude: ExcludeListProto,
    ) -> Result<KeyLocation> {
        let request = om::AllocateBlockRequest {
            key_args: args.clone(),
            client_id: session,
            exclude_list: Some(exclude),
            key_location: None,
        };
        let reply = self.out_of_safe_mode(|| self.om::<command::AllocateBlock>(&request)).await?;
        reply.key_location.ok_or_else(|| Error::om_reply("no location in AllocateBlock"))
    }

    pub(crate) async fn open_file_for_write(
        &self,
        args: KeyArgs,
        options: FileOptions,
    ) -> Result<OpenKey> {
        let request = om::CreateFileRequest {
            key_args: args,
            is_recursive: options.recursive,
            is_overwrite: options.overwrite,
            client_id: None,
        };
        let reply = self.out_of_safe_mode(|| self.om::<command::CreateFile>(&request)).await?;
        let session = reply.id.ok_or_else(|| Error::om_reply("no ID in CreateFile"))?;
        let info = reply.key_info.ok_or_else(|| Error::om_reply("no key in CreateFile"))?;
        Ok(OpenKey { info, session })
    }

    /// Makes a written key visible; with `hsync` it stays open for further data.
    pub(crate) async fn commit_key(&self, args: KeyArgs, session: u64, hsync: bool) -> Result<()> {
        let request = om::CommitKeyRequest {
            key_args: args,
            client_id: session,
            hsync: Some(hsync),
            recovery: Some(false),
        };
        let (reply, repeated) = self.om_reply::<command::CommitKey>(&request).await?;
        if repeated && reply.status == Status::KeyNotFound {
            // The open key does not exist: either the first attempt committed it, or it was cleaned
            // up.
            let args = &request.key_args;
            let path = KeyPath::new(&args.volume_name, &args.bucket_name, &args.key_name);
            let committed = self.key_info(&path).await?;
            if holds_blocks(&committed, &args.key_locations, args.data_size()) {
                return Ok(());
            }
        }
        reply.ok().map(drop)
    }

    async fn out_of_safe_mode<T, F>(&self, mut call: impl FnMut() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let until = Instant::now() + SAFE_MODE_TIMEOUT.min(self.options().deadline);
        loop {
            match call().await {
                Err(error) if error.is_status(Status::ScmInSafeMode) && Instant::now() < until => {
                    tokio::time::sleep(SAFE_MODE_RETRY_DELAY).await;
                }
                other => return other,
            }
        }
    }
}

fn list_request(list: &ListKeys, count: u32) -> om::ListKeysRequest {
    om::ListKeysRequest {
        volume_name: list.volume.clone(),
        bucket_name: list.bucket.clone(),
        start_key: Some(list.start_after.clone()),
        prefix: Some(list.prefix.clone()),
        count: Some(i32::try_from(count).unwrap_or(i32::MAX)),
    }
}

/// Returns `true` if a committed key consists of the blocks in `locations`.
fn holds_blocks(key: &KeyInfo, locations: &[KeyLocation], size: u64) -> bool {
    let Some(version) = key.key_location_list.last() else { return false };
    key.data_size == size
        && version.key_locations.len() == locations.len()
        && version
            .key_locations
            .iter()
            .zip(locations)
            .all(|(a, b)| a.block_id.container_block_id == b.block_id.container_block_id)
}
