//! ListVolume: those of the request's user, of another user, or all.

use std::ops::ControlFlow;

use proto::ozone::list_volume_request::Scope;
use proto::ozone::{ListVolumeRequest, ListVolumeResponse, OmResponse, Type, VolumeInfo};

use super::owner;
use crate::authorizer::Guard;
use crate::command::response;
use crate::command::{Command, Read, Rights, request_part};
use crate::error::OmError;
use crate::state::context::ReadContext;
use crate::state::row;
use crate::state::scan::try_scan;
use crate::state::settings::Settings;
use crate::state::view;
use crate::tables::{Table, prefix_end, volume_key};

pub(crate) struct ListVolume;

impl Command for ListVolume {
    const TYPE: Type = Type::ListVolume;
    const AUDIT: &'static str = "LIST_VOLUMES";
    const RIGHTS: Rights<ListVolumeRequest> = Rights::Required(rights);
    request_part!(list_volume_request: ListVolumeRequest);
}

fn rights(request: &ListVolumeRequest, guard: &Guard<'_>) -> Result<(), OmError> {
    let scope = Scope::try_from(request.scope).map_err(|_| {
        OmError::InvalidRequest(format!("a list of volumes has no scope {}", request.scope))
    })?;
    let asked = match scope {
        Scope::UserVolumes => Some(guard.user),
        Scope::VolumesByUser => request.user_name.as_deref().filter(|u| !u.is_empty()),
        Scope::VolumesByCluster => None,
    };
    match asked {
        Some(user) if user == guard.user => Ok(()),
        _ => guard.may_list_all_volumes(),
    }
}

impl Read for ListVolume {
    fn read(request: &ListVolumeRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
        let page = cx.page(request.max_keys.map(i64::from));
        let prefix = request.prefix.as_deref().unwrap_or("");
        let after = request.prev_key.as_deref().unwrap_or("");
        let user = match Scope::try_from(request.scope) {
            Ok(Scope::UserVolumes) => Some(cx.user),
            Ok(Scope::VolumesByUser) => request.user_name.as_deref().filter(|u| !u.is_empty()),
            Ok(Scope::VolumesByCluster) => None,
            Err(_) => {
                return Err(OmError::InvalidRequest(format!("unknown scope {}", request.scope)));
            }
        };
        let volume_info = match user {
            Some(user) if cx.settings.authorization.enabled => {
                all(cx, prefix, after, page, |volume| lists_volume(volume, user, cx))?
            }
            Some(user) => of_user(cx, user, prefix, after, page)?,
            None => all(cx, prefix, after, page, |_| true)?,
        };
        let mut r = response::ok(Type::ListVolume);
        r.list_volume_response = Some(Box::new(ListVolumeResponse { volume_info }));
        Ok(r)
    }
}

fn of_user(
    cx: &ReadContext<'_>,
    user: &str,
    prefix: &str,
    after: &str,
    page: usize,
) -> Result<Vec<VolumeInfo>, OmError> {
    let mut names = owner::volumes_of(cx.view, user)?.unwrap_or_default().volume_names;
    names.retain(|name| name.starts_with(prefix) && name.as_str() > after);
    names.sort_unstable();
    let mut found = Vec::new();
    for name in names.iter().take(page) {
        // A volume without a row is not listed: the lists are changed with the rows.
        found.extend(view::get::<VolumeInfo>(cx.view, Table::VolumeTable, &volume_key(name))?);
    }
    Ok(found)
}

fn all(
    cx: &ReadContext<'_>,
    prefix: &str,
    after: &str,
    page: usize,
    shown: impl Fn(&VolumeInfo) -> bool,
) -> Result<Vec<VolumeInfo>, OmError> {
    let first = volume_key(prefix);
    let after = volume_key(after);
    let mut found = Vec::new();
    let (start, end) = (first.as_slice().max(&after), prefix_end(&first));
    try_scan(cx.view, Table::VolumeTable, start, end.as_deref(), &mut |key, value| {
        if key == after {
            return Ok(ControlFlow::Continue(()));
        }
        let info = row::decode_slice(Table::VolumeTable, key, value)?;
        found.extend(Some(info).filter(&shown));
        Ok(if found.len() < page { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    Ok(found)
}

/// Returns `true` if a list of volumes made for `user` shows a volume: with authorization on, a
/// user sees those that they may list, whatever their owner.
fn lists_volume(volume: &VolumeInfo, user: &str, cx: &ReadContext<'_>) -> bool {
    let Settings { authorization: policy, s3_volume, .. } = cx.settings;
    // The groups of another user are not available here.
    let groups = if user == cx.user { cx.groups } else { &[] };
    Guard { view: cx.view, policy, user, groups, s3_volume }.may_list(volume)
}
