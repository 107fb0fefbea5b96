//! The keys of a volume, a bucket or a prefix, and the disks that store them.

use client::{Client, KeyPath, KeyStorage, ListKeys};
use config::Configuration;
use config::keys::om::OZONE_DEFAULT_STORAGEPOLICY;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use proto::ozone::BucketInfo;
use types::StoragePolicy;

use crate::ShellError;
use crate::address::Address;

/// Number of keys queried in parallel.
const AT_A_TIME: usize = 16;

/// A key, and the disks that store its bytes, if known.
pub(crate) struct Found {
    pub path: KeyPath,
    pub storage: client::Result<KeyStorage>,
}

/// The default storage policy of keys, which OM has in the same configuration.
pub(crate) fn usual(conf: &Configuration) -> Result<Option<StoragePolicy>, ShellError> {
    let named = conf.get(&OZONE_DEFAULT_STORAGEPOLICY);
    let key = OZONE_DEFAULT_STORAGEPOLICY.name();
    let wrong = |e: types::WireError| ShellError::Usage(format!("{key}: {e}"));
    Some(named).filter(|n| !n.is_empty()).map(|n| n.parse().map_err(wrong)).transpose()
}

/// The buckets of an address: one, or all of a volume except links.
async fn buckets(client: &Client, address: &Address) -> Result<Vec<BucketInfo>, ShellError> {
    let (volume, bucket, _) = address.parts();
    let volume = volume.ok_or_else(|| ShellError::Usage("volume or bucket missing".into()))?;
    match bucket {
        Some(bucket) => Ok(vec![client.bucket_info(volume, bucket).await?]),
        None => {
            let all: Vec<BucketInfo> = client.list_buckets(volume, "", "").try_collect().await?;
            Ok(all.into_iter().filter(|bucket| bucket.source_bucket().is_empty()).collect())
        }
    }
}

/// All keys of an address, with the disks that store them. A key that is deleted concurrently is
/// skipped.
pub(crate) async fn keys(
    client: &Client,
    address: &Address,
    usual: Option<StoragePolicy>,
) -> Result<impl Stream<Item = Result<Found, ShellError>> + use<>, ShellError> {
    let prefix = address.parts().2.unwrap_or_default().to_owned();
    let (buckets, client) = (buckets(client, address).await?, client.clone());
    let of_bucket = move |bucket: BucketInfo| {
        let list = ListKeys::new(&bucket.volume_name, &bucket.bucket_name).prefix(&prefix);
        let (client, lister) = (client.clone(), client.clone());
        lister
            .list_keys(list)
            .try_filter(|key| std::future::ready(key.is_file.unwrap_or(true)))
            .map(move |key| {
                let (client, bucket) = (client.clone(), bucket.clone());
                async move {
                    let key = key?;
                    let path =
                        KeyPath::new(&bucket.volume_name, &bucket.bucket_name, key.key_name());
                    let storage = client.key_storage(&path, &bucket, usual).await;
                    Ok::<_, ShellError>(Found { path, storage })
                }
            })
            .buffered(AT_A_TIME)
    };
    let is_gone = |found: &Found| {
        let error = found.storage.as_ref().err();
        error.is_some_and(|e| e.kind() == client::ErrorKind::NotFound)
    };
    let all = stream::iter(buckets).flat_map(of_bucket);
    Ok(all.try_filter(move |found| std::future::ready(!is_gone(found))))
}
