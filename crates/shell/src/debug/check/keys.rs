//! Keys, and the containers of their blocks: committed keys, keys in snapshots, and parts of
//! uploads. Open and deleted keys need no container.

use std::collections::BTreeMap;

use metastore::{IterRange, OfflineStore};
use namespace::{Table, kept_row};
use prost::Message;
use proto::ozone::{KeyInfo, KeyLocationList, MultipartPartInfo};
use serde_json::{Value, json};

use super::containers::{Containers, Standing};
use super::findings::{Findings, Kind};
use super::rows::{for_each, for_each_message, shown};
use crate::ShellError;

/// Checks all keys.
///
/// # Errors
/// If the database cannot be read.
pub(super) fn check(
    store: &OfflineStore,
    containers: &Containers,
    findings: &mut Findings,
) -> Result<(), ShellError> {
    for table in [Table::KeyTable, Table::FileTable] {
        for_each_message(
            store,
            table,
            IterRange::all(),
            findings,
            |row, key: KeyInfo, findings| {
                let newest = key.key_location_list.last();
                look_up(containers, table, &shown(row), Some(&key), newest, findings);
            },
        )?;
    }
    let table = Table::MultipartPartsTable;
    for_each_message(
        store,
        table,
        IterRange::all(),
        findings,
        |row, part: MultipartPartInfo, findings| {
            let locations = part.key_location_list.as_ref();
            look_up(containers, table, &shown(row), None, locations, findings);
        },
    )?;
    let table = Table::SnapshotRowTable;
    for_each(store, table.name(), IterRange::all(), |row, value| {
        // These include directories, which have other fields.
        let Some(Some(old)) = kept_row(row, value) else { return };
        match KeyInfo::decode(old) {
            Ok(key) => {
                let newest = key.key_location_list.last();
                look_up(containers, table, &shown(row), Some(&key), newest, findings);
            }
            Err(error) => findings.damaged(table.name(), row, error),
        }
    })
}

/// Adds a finding for each missing container, with the number of blocks in it.
fn look_up(
    containers: &Containers,
    table: Table,
    row: &str,
    key: Option<&KeyInfo>,
    locations: Option<&KeyLocationList>,
    findings: &mut Findings,
) {
    let mut missing: BTreeMap<i64, (Standing, u64, u64)> = BTreeMap::new();
    for location in locations.iter().flat_map(|list| &list.key_locations) {
        // A block without bytes may never have been written.
        let id = location.block_id.container_block_id.container_id;
        let standing = containers.standing(id);
        if location.length == 0 || standing == Standing::Kept {
            continue;
        }
        let (_, blocks, bytes) = missing.entry(id).or_insert((standing, 0, 0));
        *blocks = blocks.saturating_add(1);
        *bytes = bytes.saturating_add(location.length);
    }
    for (container, (standing, blocks, bytes)) in missing {
        let mut about = json!({
            "table": table.name(),
            "row": row,
            "container": container,
            "blocks": blocks,
            "bytes": bytes,
        });
        if let (Value::Object(about), Some(key)) = (&mut about, key) {
            about.insert("key".to_owned(), json!(key.key_name));
            about.insert("volume".to_owned(), json!(key.volume_name));
            about.insert("bucket".to_owned(), json!(key.bucket_name));
        }
        let kind = match standing {
            Standing::Kept => continue,
            Standing::Unknown => Kind::KeyInUnknownContainer,
            Standing::Deleted(state) => {
                if let Value::Object(about) = &mut about {
                    about.insert("state".to_owned(), json!(state.as_str_name()));
                }
                Kind::KeyInDeletedContainer
            }
        };
        findings.add(kind, about);
    }
}
