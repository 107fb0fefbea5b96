//! Progress of deletions in this OM: `o3 admin deletion status`.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use framed::Status;
use namespace::{Table, View, replicated_size};
use prost::Message;
use proto::deletion_status::{DeletionStage, DeletionStatusResponse};
use proto::ozone::{KeyInfo, RepeatedKeyInfo};
use scheduling::{BackgroundError, on_background_thread};
use service::{Age, BackgroundServices};

use crate::background::{DIRECTORY_DELETING, KEY_DELETING};
use crate::dispatch::Dispatcher;
use crate::state::Tables;

/// Time limit for reading a table.
const READ_TIME: Duration = Duration::from_millis(500);
/// Rows between two checks of the clock.
const ROWS_PER_LOOK: u64 = 256;

/// Counts of a table.
#[derive(Default)]
struct Counted {
    rows: u64,
    blocks: u64,
    bytes: u64,
    /// Rows were left.
    more: bool,
    /// The lowest index of the log, and its row.
    oldest: Option<(u64, String)>,
}

/// Pending rows in the tables of deleted keys and directories.
///
/// # Errors
/// When the tables cannot be read now.
pub(crate) async fn status(
    dispatcher: &Arc<Dispatcher>,
    services: &BackgroundServices,
) -> Result<DeletionStatusResponse, Status> {
    // Also while the service is paused, which notes it otherwise.
    dispatcher.parts().deletion_ages.note(dispatcher.parts().group.applied());
    let tables = dispatcher.tables()?;
    let count_both = move || -> Result<_, Status> {
        let keys = count(&tables, Table::DeletedTable, &mut key)?;
        Ok((keys, count(&tables, Table::DeletedDirectoryTable, &mut directory)?))
    };
    let unreadable = |e: BackgroundError| Status::new(framed::Code::Internal, e.to_string());
    let (keys, directories) = on_background_thread(count_both).await.map_err(unreadable)??;
    let active = dispatcher.is_leader();
    let keep = dispatcher.parts().keep_deleted;
    let waits_for = |service: &str, age: Option<&Age>| match age {
        Some(age)
            if service == KEY_DELETING && age.at_least < keep && !services.is_paused(service) =>
        {
            format!("readers: it is kept for {} s after its deletion", keep.as_secs_f32())
        }
        _ => services.waits_for(service),
    };
    let stage = |table: Table, counted: Counted, service: &str| {
        let age = counted.oldest.as_ref().map(|(at, _)| dispatcher.parts().deletion_ages.of(*at));
        let waits_for = (counted.rows > 0 && active).then(|| waits_for(service, age.as_ref()));
        DeletionStage {
            table: table.name().to_owned(),
            rows: counted.rows,
            blocks: counted.blocks,
            bytes: counted.bytes,
            more: counted.more,
            oldest: counted.oldest.map(|(_, row)| row),
            oldest_age_ms: age
                .map(|age| u64::try_from(age.at_least.as_millis()).unwrap_or(u64::MAX)),
            oldest_since_start: age.is_some_and(|age| age.since_start),
            waits_for,
        }
    };
    Ok(DeletionStatusResponse {
        role: "om".to_owned(),
        node_id: dispatcher.parts().facts.members.me.node_id.clone(),
        active,
        stages: vec![
            stage(Table::DeletedDirectoryTable, directories, DIRECTORY_DELETING),
            stage(Table::DeletedTable, keys, KEY_DELETING),
        ],
        nodes: Vec::new(),
        nodes_more: None,
    })
}

/// Adds a row to the counts; returns the index of its log entry.
type Add<'a> = &'a mut dyn FnMut(&[u8], &mut Counted) -> Option<u64>;

fn count(tables: &Tables, table: Table, add: Add<'_>) -> Result<Counted, Status> {
    let until = Instant::now() + READ_TIME;
    let mut counted = Counted::default();
    let scanned = tables.scan(table, &[], None, &mut |row, value| {
        if counted.rows % ROWS_PER_LOOK == 0 && Instant::now() >= until {
            counted.more = true;
            return ControlFlow::Break(());
        }
        counted.rows += 1;
        if let Some(at) = add(value, &mut counted)
            && counted.oldest.as_ref().is_none_or(|(oldest, _)| at < *oldest)
        {
            counted.oldest = Some((at, String::from_utf8_lossy(row).into_owned()));
        }
        ControlFlow::Continue(())
    });
    scanned.map_err(|e| Status::new(framed::Code::Internal, e.to_string()))?;
    Ok(counted)
}

/// A row of the deletedTable: versions of a key.
fn key(value: &[u8], counted: &mut Counted) -> Option<u64> {
    let versions = RepeatedKeyInfo::decode(value).ok()?.key_info;
    for version in &versions {
        let lists = version.key_location_list.iter();
        let blocks: usize = lists.map(|list| list.key_locations.len()).sum();
        counted.blocks = counted.blocks.saturating_add(blocks as u64);
        counted.bytes = counted.bytes.saturating_add(replicated_size(version));
    }
    versions.iter().filter_map(|version| version.update_id).min()
}

/// A row of the deletedDirectoryTable: its children are not counted yet.
fn directory(value: &[u8], _: &mut Counted) -> Option<u64> {
    KeyInfo::decode(value).ok()?.update_id
}
