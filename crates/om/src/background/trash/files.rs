//! The emptier's view of file systems.

use std::ops::ControlFlow;

use namespace::{Bucket, ReadContext, Table, View};
use prost::Message;
use proto::ozone::{
    BucketInfo, BucketLayoutProto, KeyArgs, ListStatusRequest, OmRequest,
    OzoneFileStatusProtoLight, Status, Type,
};

use crate::background::BackgroundError;
use crate::dispatch::Dispatcher;
use crate::state::SnapshotView;

/// Directory of the trash in a bucket.
const TRASH: &str = ".Trash";
/// Entries of a directory in one request.
const PAGE: u64 = 1000;

/// A user's trash.
pub(super) struct TrashRoot {
    pub(super) volume: String,
    pub(super) bucket: String,
    /// True if a directory is moved and deleted as such; in a LEGACY bucket the keys that begin
    /// with its path are.
    pub(super) is_tree: bool,
    /// `.Trash/<user>`
    pub(super) path: String,
}

/// A file or directory.
pub(super) struct Entry {
    /// The last name of its path.
    pub(super) name: String,
    pub(super) is_directory: bool,
}

/// The buckets that are file systems, each once: links lead to others; and the number of rows that
/// do not decode.
pub(super) fn buckets(dispatcher: &Dispatcher) -> Result<(Vec<Bucket>, u64), BackgroundError> {
    let tables = dispatcher.tables()?;
    let (mut found, mut skipped) = (Vec::new(), 0);
    tables.scan(Table::BucketTable, b"", None, &mut |key, value| {
        match BucketInfo::decode(value).map(Bucket::new) {
            Ok(bucket) if bucket.is_link() => {}
            Ok(bucket) if bucket.layout() == BucketLayoutProto::ObjectStore => {}
            Ok(bucket) => found.push(bucket),
            Err(e) => {
                let row = String::from_utf8_lossy(key);
                tracing::warn!("skipping damaged row of the bucketTable: row {row}: {e}");
                skipped += 1;
            }
        }
        ControlFlow::Continue(())
    })?;
    Ok((found, skipped))
}

/// The trash of each user in a bucket.
pub(super) fn trash_roots(
    dispatcher: &Dispatcher,
    bucket: &Bucket,
) -> Result<Vec<TrashRoot>, BackgroundError> {
    let (volume, name) = (&bucket.volume_name, &bucket.bucket_name);
    let users = entries(dispatcher, volume, name, TRASH)?;
    let root = |user: Entry| TrashRoot {
        volume: volume.clone(),
        bucket: name.clone(),
        is_tree: bucket.is_tree(),
        path: format!("{TRASH}/{}", user.name),
    };
    Ok(users.into_iter().filter(|user| user.is_directory).map(root).collect())
}

/// Entries of a directory; empty if there is no such directory.
pub(super) fn entries(
    dispatcher: &Dispatcher,
    volume: &str,
    bucket: &str,
    path: &str,
) -> Result<Vec<Entry>, BackgroundError> {
    let mut found: Vec<Entry> = Vec::new();
    loop {
        let start = found.last().map(|last| format!("{path}/{}", last.name)).unwrap_or_default();
        let known = found.len();
        for status in page(dispatcher, volume, bucket, path, &start)? {
            let key = status.basic_key_info.as_ref().map(|key| key.key_name());
            let name =
                key.and_then(|key| key.trim_end_matches('/').strip_prefix(path)?.strip_prefix('/'));
            // A page begins with the last entry of the one before.
            if let Some(name) = name
                && found.last().is_none_or(|last| last.name != name)
            {
                let is_directory = status.is_directory == Some(true);
                found.push(Entry { name: name.to_owned(), is_directory });
            }
        }
        if found.len() == known {
            return Ok(found);
        }
    }
}

fn page(
    dispatcher: &Dispatcher,
    volume: &str,
    bucket: &str,
    path: &str,
    start: &str,
) -> Result<Vec<OzoneFileStatusProtoLight>, BackgroundError> {
    let request = OmRequest {
        cmd_type: Type::ListStatusLight as i32,
        list_status_request: Some(Box::new(ListStatusRequest {
            key_args: KeyArgs {
                volume_name: volume.to_owned(),
                bucket_name: bucket.to_owned(),
                key_name: path.to_owned(),
                ..KeyArgs::default()
            },
            recursive: false,
            start_key: start.to_owned(),
            num_entries: PAGE,
            allow_partial_prefix: None,
        })),
        ..OmRequest::default()
    };
    let tables = dispatcher.tables()?;
    let parts = dispatcher.parts();
    let user = parts.default_user.as_str();
    let groups = parts.groups.of(user);
    let view = SnapshotView::of(&tables);
    let cx = ReadContext { view: &view, user, groups: &groups, settings: &parts.settings };
    let response = namespace::read(&request, &cx);
    match response.status() {
        Status::Ok => {
            Ok(response.list_status_light_response.map(|list| list.statuses).unwrap_or_default())
        }
        Status::FileNotFound | Status::BucketNotFound | Status::VolumeNotFound => Ok(Vec::new()),
        _ => Err(BackgroundError::refused(response)),
    }
}
