//! ListStatusLight: names, sizes and times of a directory's children.

use proto::ozone::{
    BasicKeyInfo, KeyInfo, ListStatusLightResponse, ListStatusRequest, OmResponse,
    OzoneFileStatusProtoLight, Type,
};

use super::list_status::{Directory, ListStatus, Listed, go_on, limit, walk};
use crate::command::audit::AuditParams;
use crate::command::response;
use crate::command::{Command, Read, Rights, request_part};
use crate::error::OmError;
use crate::key::list_light;
use crate::state::context::ReadContext;
use crate::state::limits::StatusPaths;
use crate::state::tree::directory;

pub(crate) struct ListStatusLight;

impl Command for ListStatusLight {
    const TYPE: Type = Type::ListStatusLight;
    const AUDIT: &'static str = "LIST_STATUS";
    const RIGHTS: Rights<ListStatusRequest> = ListStatus::RIGHTS;
    request_part!(list_status_request: ListStatusRequest);

    fn audit(request: &ListStatusRequest) -> AuditParams {
        ListStatus::audit(request)
    }
}

impl Read for ListStatusLight {
    fn read(request: &ListStatusRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
        let mut statuses = Vec::new();
        let most = limit(request, cx);
        let mut paths = StatusPaths::new();
        walk(request, cx, &mut |bucket, listed| {
            paths.take(listed.path(), statuses.len())?;
            let (basic, is_directory) = match listed {
                Listed::File { path, row } => (list_light::basic(row, path)?, false),
                Listed::Directory { path, entry } => (
                    match entry {
                        Directory::Row(row) => directory::as_basic(row, bucket, path),
                        Directory::Key(key) => of_key(&key),
                    },
                    true,
                ),
            };
            statuses.push(OzoneFileStatusProtoLight {
                volume_name: Some(bucket.volume_name.clone()),
                bucket_name: Some(bucket.bucket_name.clone()),
                basic_key_info: Some(basic),
                block_size: Some(cx.settings.block_size),
                is_directory: Some(is_directory),
            });
            Ok(go_on(statuses.len() < most))
        })?;
        let mut r = response::ok(Type::ListStatusLight);
        r.list_status_light_response = Some(Box::new(ListStatusLightResponse { statuses }));
        Ok(r)
    }
}

fn of_key(key: &KeyInfo) -> BasicKeyInfo {
    BasicKeyInfo {
        key_name: Some(key.key_name.clone()),
        data_size: Some(key.data_size),
        creation_time: Some(key.creation_time),
        modification_time: Some(key.modification_time),
        r#type: Some(key.r#type),
        factor: key.factor,
        ec_replication_config: key.ec_replication_config.clone(),
        owner_name: key.owner_name.clone(),
        is_encrypted: Some(false),
        is_file: Some(false),
        ..BasicKeyInfo::default()
    }
}
