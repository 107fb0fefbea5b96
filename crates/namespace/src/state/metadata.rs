//! Key-value lists of keys and buckets, and the names in them that the rules use.

use proto::hdds::KeyValue;

/// MD5 of the content, as in S3.
pub(crate) const ETAG: &str = "ETag";
/// Checksum of the content as S3 clients name it, which the S3 gateway has verified.
pub(crate) const CHECKSUM: &str = "s3:checksum";
/// On the open key of an upload: the kind of checksum that its parts have, as the S3 gateway noted
/// it when the upload began. On an open part: the same, for its writer.
pub(crate) const UPLOAD_CHECKSUM: &str = "s3:upload-checksum";
/// On a key whose writer has synced but not closed it: the writer's session.
pub(crate) const HSYNC_CLIENT_ID: &str = "hsyncClientId";
/// On an open key that another client finishes: only the recovery may commit it.
pub(crate) const LEASE_RECOVERY: &str = "leaseRecovery";
/// On an open key whose synced form was deleted.
pub(crate) const DELETED_HSYNC_KEY: &str = "deletedHsyncKey";
/// On an open key whose synced form was overwritten.
pub(crate) const OVERWRITTEN_HSYNC_KEY: &str = "overwrittenHsyncKey";
/// On a row of the deletedTable: a committed key was deleted, whose bytes and name count as
/// used until it is purged.
pub(crate) const COMMITTED_KEY_DELETED: &str = "CKDEL";

/// The value of `key`.
pub(crate) fn get<'a>(list: &'a [KeyValue], key: &str) -> Option<&'a str> {
    list.iter().find(|entry| entry.key == key).map(|entry| entry.value.as_deref().unwrap_or(""))
}

/// Sets one entry, replacing one of the same key.
pub(crate) fn set(list: &mut Vec<KeyValue>, entry: KeyValue) {
    match list.iter_mut().find(|old| old.key == entry.key) {
        Some(old) => old.value = entry.value,
        None => list.push(entry),
    }
}

/// Sets one entry from borrowed text.
pub(crate) fn set_str(list: &mut Vec<KeyValue>, key: &str, value: &str) {
    set(list, KeyValue { key: key.to_owned(), value: Some(value.to_owned()) });
}

/// Removes the entry of `key`.
pub(crate) fn remove(list: &mut Vec<KeyValue>, key: &str) {
    list.retain(|entry| entry.key != key);
}
