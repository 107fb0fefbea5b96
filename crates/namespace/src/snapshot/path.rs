//! Reads of a snapshot's contents: their keys are `.snapshot/NAME/path`. The request is carried out
//! on the snapshot with the bare path, and the names in its answer are those of the request again.

use proto::ozone::{OmRequest, OmResponse, Type};

use super::find;
use crate::error::OmError;
use crate::state::context::ReadContext;
use crate::state::find::bucket;
use crate::state::layers::as_of::AsOf;
use crate::state::locations::for_each_key_info;
use crate::state::names::SNAPSHOT_DIRECTORY;
use crate::state::view::View;

/// A read of a snapshot.
pub(crate) struct Aimed<'a> {
    pub view: AsOf<&'a dyn View>,
    /// The request with bare paths.
    pub request: OmRequest,
    /// `.snapshot/NAME/`
    prefix: String,
}

/// Returns `true` if `request` is a read of a snapshot: it needs the tables as of one moment.
pub fn reads_snapshot(request: &OmRequest) -> bool {
    target(request).is_some_and(|(_, _, key)| split(key).is_some())
}

/// Volume, bucket and key of a read that snapshots answer, too.
fn target(request: &OmRequest) -> Option<(&str, &str, &str)> {
    let args = match Type::try_from(request.cmd_type).ok()? {
        Type::LookupKey => &request.lookup_key_request.as_ref()?.key_args,
        Type::GetKeyInfo => &request.get_key_info_request.as_ref()?.key_args,
        Type::LookupFile => &request.lookup_file_request.as_ref()?.key_args,
        Type::GetFileStatus => &request.get_file_status_request.as_ref()?.key_args,
        Type::ListStatus | Type::ListStatusLight => &request.list_status_request.as_ref()?.key_args,
        Type::GetObjectTagging => &request.get_object_tagging_request.as_ref()?.key_args,
        Type::ListKeys | Type::ListKeysLight => {
            let list = request.list_keys_request.as_ref()?;
            let prefix = list.prefix.as_deref().unwrap_or_default();
            return Some((&list.volume_name, &list.bucket_name, prefix));
        }
        Type::GetAcl => {
            let path = request.get_acl_request.as_ref()?.obj.path.strip_prefix('/')?;
            let (volume, rest) = path.split_once('/')?;
            let (bucket, key) = rest.split_once('/')?;
            return Some((volume, bucket, key));
        }
        _ => return None,
    };
    Some((&args.volume_name, &args.bucket_name, &args.key_name))
}

/// The snapshot's name and the bare path of `.snapshot/NAME/path`.
fn split(key: &str) -> Option<(&str, &str)> {
    let rest = key.trim_start_matches('/').strip_prefix(SNAPSHOT_DIRECTORY)?.strip_prefix('/')?;
    let (name, path) = rest.split_once('/').unwrap_or((rest, ""));
    (!name.is_empty()).then_some((name, path))
}

fn bare(key: &mut String) {
    if let Some((_, path)) = split(key) {
        *key = path.to_owned();
    }
}

/// The snapshot that `request` reads, if it reads one.
///
/// # Errors
/// When there is no such snapshot, or it is deleted.
pub(crate) fn aim<'a>(
    request: &OmRequest,
    cx: &ReadContext<'a>,
) -> Result<Option<Aimed<'a>>, OmError> {
    let Some((volume, bucket, key)) = target(request) else { return Ok(None) };
    let Some((name, _)) = split(key) else { return Ok(None) };
    let Ok(command) = Type::try_from(request.cmd_type) else { return Ok(None) };
    find::check_enabled(command, cx.settings)?;
    let mut volume = volume.to_owned();
    let s3 = request.get_key_info_request.as_ref().and_then(|get| get.assume_s3_context);
    if s3 == Some(true) {
        volume.clone_from(&cx.settings.s3_volume);
    }
    let mut bucket = bucket.to_owned();
    bucket::resolve(cx.view, &mut volume, &mut bucket)?;
    let index = find::readable(cx.view, &volume, &bucket, name)?;
    let prefix = format!("{SNAPSHOT_DIRECTORY}/{name}/");
    let mut request = request.clone();
    strip(&mut request);
    Ok(Some(Aimed { view: AsOf::new(cx.view, index), request, prefix }))
}

/// Leaves the bare paths in a request.
fn strip(request: &mut OmRequest) {
    let args = [
        request.lookup_key_request.as_mut().map(|r| &mut r.key_args),
        request.get_key_info_request.as_mut().map(|r| &mut r.key_args),
        request.lookup_file_request.as_mut().map(|r| &mut r.key_args),
        request.get_file_status_request.as_mut().map(|r| &mut r.key_args),
        request.get_object_tagging_request.as_mut().map(|r| &mut r.key_args),
    ];
    args.into_iter().flatten().for_each(|args| bare(&mut args.key_name));
    if let Some(list) = &mut request.list_status_request {
        bare(&mut list.key_args.key_name);
        bare(&mut list.start_key);
    }
    if let Some(list) = &mut request.list_keys_request {
        list.prefix.iter_mut().chain(&mut list.start_key).for_each(bare);
    }
    if let Some(get) = &mut request.get_acl_request {
        let names = get.obj.path.strip_prefix('/').and_then(|path| {
            let (volume, rest) = path.split_once('/')?;
            let (bucket, key) = rest.split_once('/')?;
            Some(format!("/{volume}/{bucket}/{}", split(key)?.1))
        });
        if let Some(path) = names {
            get.obj.path = path;
        }
    }
}

impl Aimed<'_> {
    /// Puts the snapshot's name before the names in an answer.
    pub fn restore(&self, response: &mut OmResponse) {
        let restored = |name: &mut String| name.insert_str(0, &self.prefix);
        for_each_key_info(response, &mut |key| restored(&mut key.key_name));
        if let Some(list) = &mut response.list_keys_light_response {
            let names = list.basic_key_info.iter_mut().flat_map(|key| &mut key.key_name);
            names.for_each(restored);
        }
        if let Some(list) = &mut response.list_status_light_response {
            let keys = list.statuses.iter_mut().flat_map(|status| &mut status.basic_key_info);
            keys.flat_map(|key| &mut key.key_name).for_each(restored);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_a_snapshot_is_told_from_others() {
        assert_eq!(split(".snapshot/s1/a/b"), Some(("s1", "a/b")));
        assert_eq!(split("/.snapshot/s1/"), Some(("s1", "")));
        assert_eq!(split(".snapshot/s1"), Some(("s1", "")));
        for other in [".snapshot", ".snapshot/", ".snapshots/s1", "a/.snapshot/s1", ""] {
            assert_eq!(split(other), None, "{other}");
        }
    }
}
