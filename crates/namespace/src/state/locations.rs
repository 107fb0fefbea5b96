//! Block locations inside requests and responses.

use proto::ozone::{KeyInfo, KeyLocation, KeyLocationList, OmResponse};

/// Reduces a location to the stored form: no pipeline, no token.
pub(crate) fn strip(location: &mut KeyLocation) {
    location.pipeline = None;
    location.token = None;
    location.create_version.get_or_insert(0);
    location.part_number.get_or_insert(0);
}

/// The first version of a key without a block.
pub(crate) fn no_blocks() -> KeyLocationList {
    KeyLocationList { version: Some(0), ..KeyLocationList::default() }
}

/// Two locations name the same block.
pub(crate) fn block_id(location: &KeyLocation) -> (i64, i64) {
    let id = &location.block_id.container_block_id;
    (id.container_id, id.local_id)
}

/// All locations of all versions of a key.
pub(crate) fn of_key(key: &KeyInfo) -> impl Iterator<Item = &KeyLocation> {
    key.key_location_list.iter().flat_map(|version| &version.key_locations)
}

/// Calls `each` with every block location in a response: the server fills in pipelines and
/// tokens.
pub fn for_each_location(response: &mut OmResponse, each: &mut dyn FnMut(&mut KeyLocation)) {
    if let Some(allocated) = &mut response.allocate_block_response
        && let Some(location) = &mut allocated.key_location
    {
        each(location);
    }
    for_each_key_info(response, &mut |key| {
        key.key_location_list.iter_mut().flat_map(|v| &mut v.key_locations).for_each(&mut *each);
    });
}

/// Calls `each` with every key in a response.
pub fn for_each_key_info(response: &mut OmResponse, each: &mut dyn FnMut(&mut KeyInfo)) {
    if let Some(r) = &mut response.create_key_response {
        r.key_info.iter_mut().for_each(&mut *each);
    }
    if let Some(r) = &mut response.lookup_key_response {
        r.key_info.iter_mut().for_each(&mut *each);
    }
    if let Some(r) = &mut response.get_key_info_response {
        r.key_info.iter_mut().for_each(&mut *each);
    }
    if let Some(r) = &mut response.recover_lease_response {
        r.key_info.iter_mut().chain(&mut r.open_key_info).for_each(&mut *each);
    }
    if let Some(r) = &mut response.create_file_response {
        r.key_info.iter_mut().for_each(&mut *each);
    }
    if let Some(r) = &mut response.lookup_file_response {
        r.key_info.iter_mut().for_each(&mut *each);
    }
    if let Some(r) = &mut response.get_file_status_response {
        r.status.key_info.iter_mut().for_each(&mut *each);
    }
    if let Some(r) = &mut response.list_status_response {
        r.statuses.iter_mut().flat_map(|s| &mut s.key_info).for_each(&mut *each);
    }
    if let Some(r) = &mut response.list_keys_response {
        r.key_info.iter_mut().for_each(&mut *each);
    }
}
