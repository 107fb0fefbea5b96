//! Volumes: create, info, change, list, delete.

use futures::future::BoxFuture;
use futures::stream::{self, Stream, TryStreamExt};
use proto::ozone::{self as om, VolumeInfo, list_volume_request::Scope};

use crate::om::command::{CreateVolume, DeleteVolume, InfoVolume, ListVolume, SetVolumeProperty};
use crate::{Client, Error, Result};

/// Scope of a listing of volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeScope {
    /// Volumes that the user owns or may read.
    ByUser,
    /// All volumes of the cluster.
    Cluster,
}

/// Changes of a volume; `None` leaves a property unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VolumeChange {
    /// New owner.
    pub owner: Option<String>,
    /// Maximum bytes; -1 for no limit.
    pub quota_in_bytes: Option<i64>,
    /// Maximum number of buckets; -1 for no limit.
    pub quota_in_namespace: Option<i64>,
}

impl Client {
    /// Creates a volume, owned by `owner` or by the caller.
    ///
    /// # Errors
    /// `VOLUME_ALREADY_EXISTS`, or a failure to reach OM.
    pub fn create_volume<'a>(
        &'a self,
        volume: &'a str,
        owner: Option<&'a str>,
        quota_in_bytes: i64,
        quota_in_namespace: i64,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let info = VolumeInfo {
                admin_name: self.user().to_owned(),
                owner_name: owner.unwrap_or(self.user()).to_owned(),
                volume: volume.to_owned(),
                quota_in_bytes: Some(quota_in_bytes as u64),
                quota_in_namespace: Some(quota_in_namespace),
                ..Default::default()
            };
            self.om::<CreateVolume>(&om::CreateVolumeRequest { volume_info: info }).await.map(drop)
        })
    }

    /// All information about a volume.
    ///
    /// # Errors
    /// `VOLUME_NOT_FOUND`, or a failure to reach OM.
    pub fn volume_info<'a>(&'a self, volume: &'a str) -> BoxFuture<'a, Result<VolumeInfo>> {
        Box::pin(async move {
            let request = om::InfoVolumeRequest { volume_name: volume.to_owned() };
            let reply = self.om::<InfoVolume>(&request).await?;
            reply.volume_info.ok_or_else(|| Error::om_reply("no volume in InfoVolume"))
        })
    }

    /// Changes owner or quotas of a volume.
    ///
    /// # Errors
    /// `VOLUME_NOT_FOUND`, or a failure to reach OM.
    pub fn change_volume<'a>(
        &'a self,
        volume: &'a str,
        change: VolumeChange,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let request = om::SetVolumePropertyRequest {
                volume_name: volume.to_owned(),
                owner_name: change.owner,
                quota_in_bytes: change.quota_in_bytes.map(|q| q as u64),
                quota_in_namespace: change.quota_in_namespace.map(|q| q as u64),
                ..Default::default()
            };
            self.om::<SetVolumeProperty>(&request).await.map(drop)
        })
    }

    /// Deletes an empty volume.
    ///
    /// # Errors
    /// `VOLUME_NOT_FOUND`, `VOLUME_NOT_EMPTY`, or a failure to reach OM.
    pub fn delete_volume<'a>(&'a self, volume: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let request = om::DeleteVolumeRequest { volume_name: volume.to_owned() };
            self.om::<DeleteVolume>(&request).await.map(drop)
        })
    }

    /// One page of volumes after `start_after`; empty at the end.
    ///
    /// # Errors
    /// A failure to reach OM.
    pub fn list_volumes_page<'a>(
        &'a self,
        scope: VolumeScope,
        user: Option<&'a str>,
        prefix: &'a str,
        start_after: &'a str,
        count: u32,
    ) -> BoxFuture<'a, Result<Vec<VolumeInfo>>> {
        Box::pin(async move {
            let scope = match scope {
                VolumeScope::ByUser => Scope::VolumesByUser,
                VolumeScope::Cluster => Scope::VolumesByCluster,
            };
            let request = om::ListVolumeRequest {
                scope: scope as i32,
                user_name: Some(user.unwrap_or(self.user()).to_owned()),
                prefix: Some(prefix.to_owned()),
                prev_key: Some(start_after.to_owned()),
                max_keys: Some(count),
            };
            Ok(self.om::<ListVolume>(&request).await?.volume_info)
        })
    }

    /// All volumes, page by page.
    pub fn list_volumes<'a>(
        &'a self,
        scope: VolumeScope,
        user: Option<&'a str>,
        prefix: &'a str,
        start_after: &str,
    ) -> impl Stream<Item = Result<VolumeInfo>> + Send + 'a {
        let count = self.options().list_page;
        stream::try_unfold(Some(start_after.to_owned()), move |after| async move {
            let Some(after) = after else { return Ok::<_, Error>(None) };
            let page = self.list_volumes_page(scope, user, prefix, &after, count).await?;
            let Some(last) = page.last() else { return Ok(None) };
            let next = (page.len() >= count as usize).then(|| last.volume.clone());
            Ok(Some((stream::iter(page.into_iter().map(Ok)), next)))
        })
        .try_flatten()
    }
}
