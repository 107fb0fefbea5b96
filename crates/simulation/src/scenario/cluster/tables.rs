//! The final tables of all OMs: their background changes end when they are prepared (`ozone admin
//! om prepare`), all at the same entry, and then they must have the same rows.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use metastore::{IterRange, OfflineStore};
use parking_lot::Mutex;
use prost::Message;
use proto::ozone::prepare_status_response::PrepareStatus;
use proto::ozone::{BucketInfo, OmRequest, PrepareRequest, PrepareRequestArgs, Status, Type};

use super::client::{Reads, connect};
use super::configuration::{Layout, OMS, SCMS, om_machine};
use super::{Board, snapshots};
use crate::scenario::fleet::Fleet;
use crate::scenario::process::on_runtime;
use crate::scenario::within;
use crate::world::node::{self, End};

/// Time limit, in simulated seconds.
const TIMEOUT: u64 = 300;
/// Buckets.
const BUCKETS: &str = "bucketTable";
/// Tables whose rows are counted in those of buckets.
const COUNTED: [&str; 3] = ["keyTable", "fileTable", "directoryTable"];
/// Applied position of an OM: each may have entries of its own leadership after the last change.
const POSITION: &str = "transactionInfoTable";

/// Responses for retries: each replica writes its own rows.
const ANSWERS: &str = "trioxideRetryTable";
/// Bytes of a call before its response; followed by the response's length.
const CALL: usize = 20;

/// Defective tables.
#[derive(Debug, thiserror::Error)]
pub enum TablesError {
    /// They cannot be read.
    #[error(transparent)]
    Store(#[from] metastore::Error),
    /// A copy cannot be unpacked.
    #[error("{0}")]
    Unpack(#[from] std::io::Error),
    /// A row is damaged.
    #[error("a row of {0} does not decode")]
    Row(&'static str),
    /// They are of several moments.
    #[error("buckets count {counted} keys, and there are {there}")]
    Counters {
        /// Count in the buckets.
        counted: u64,
        /// Rows of keys, files and directories.
        there: u64,
    },
}

/// Rows by their keys.
type Rows = BTreeMap<Vec<u8>, Vec<u8>>;
/// Tables by their names.
type Tables = BTreeMap<String, Rows>;

/// Reads all snapshots once more, has all OMs reach the same entry, ends them, and compares their
/// tables. Returns the differences.
pub fn compare(
    fleet: &mut Fleet,
    layout: &Layout,
    board: &Arc<Board>,
    machine: usize,
) -> std::io::Result<Vec<String>> {
    let done = Arc::new(AtomicBool::new(false));
    let (of, here, is_done) = (layout.clone(), board.clone(), done.clone());
    node::start(machine, "prepare for a comparison", move || prepare(&of, &here, &is_done));
    if !within(TIMEOUT, || fleet.start_all().is_ok() && done.load(Ordering::Acquire)) {
        return Ok(vec![format!(
            "snapshots are not read, or OMs not prepared, within {TIMEOUT} s"
        )]);
    }
    let mut all = Vec::new();
    for number in 0..OMS {
        fleet.kill(SCMS + number, End::PowerLost);
        let tables: Arc<Mutex<Option<Result<Tables, TablesError>>>> = Arc::default();
        let there = tables.clone();
        let dir = node::home(om_machine(number));
        let work = move || *there.lock() = Some(read(&dir));
        node::start(om_machine(number), "tables", work);
        if !within(TIMEOUT, || tables.lock().is_some()) {
            return Ok(vec![format!("the tables of OM {number} are not read in {TIMEOUT} s")]);
        }
        match tables.lock().take() {
            Some(Ok(tables)) => all.push(tables),
            Some(Err(error)) => return Ok(vec![format!("the tables of OM {number}: {error}")]),
            None => {}
        }
    }
    let (first, others) = all.split_at(1);
    let others = others.iter().enumerate().map(|(number, other)| (number + 1, other));
    Ok(others.flat_map(|(number, other)| differences(&first[0], number, other)).collect())
}

/// Differences between a table of the first OM and another one's.
fn differences(first: &Tables, number: usize, other: &Tables) -> Vec<String> {
    let mut found = Vec::new();
    let none = Rows::new();
    let names = first.keys().chain(other.keys().filter(|name| !first.contains_key(*name)));
    for name in names {
        let (here, there) = (first.get(name).unwrap_or(&none), other.get(name).unwrap_or(&none));
        let lacking = here.iter().find(|(key, value)| there.get(*key) != Some(*value));
        let more = there.keys().find(|key| !here.contains_key(*key));
        if let Some(key) = lacking.map(|(key, _)| key).or(more) {
            let key = String::from_utf8_lossy(key);
            found.push(format!("OMs 0 and {number} have other rows of {name}, first of {key:?}"));
        }
    }
    found
}

fn prepare(layout: &Layout, board: &Board, done: &AtomicBool) {
    on_runtime(async {
        let Ok(client) = connect(layout, Reads::Leader) else { return };
        snapshots::read_all(&client, board).await;
        let args = PrepareRequestArgs {
            txn_apply_wait_timeout_seconds: Some(TIMEOUT),
            ..PrepareRequestArgs::default()
        };
        let request = OmRequest {
            cmd_type: Type::Prepare as i32,
            prepare_request: Some(Box::new(PrepareRequest { args })),
            ..OmRequest::default()
        };
        let index = loop {
            match client.submit(request.clone()).await {
                Ok(answer) if answer.status() == Status::Ok => {
                    break answer.prepare_response.map_or(0, |response| response.txn_id);
                }
                answer => tracing::debug!(?answer, "OMs are not prepared"),
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        };
        loop {
            let states = client.om_prepare_states(index).await;
            let is_prepared = |state: &client::Result<proto::ozone::PrepareStatusResponse>| {
                state.as_ref().is_ok_and(|s| s.status() == PrepareStatus::PrepareCompleted)
            };
            if states.iter().all(|(_, state)| is_prepared(state)) {
                break;
            }
            tracing::debug!(?states, "OMs are not prepared");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        done.store(true, Ordering::Release);
    });
}

/// The rows of an OM that does not run.
fn read(dir: &Path) -> Result<Tables, TablesError> {
    let tables = OfflineStore::open_read_only(&dir.join("om.db"))?;
    counters(&tables)?;
    let names = tables.tables().iter().filter(|name| *name != POSITION);
    let read = |name: &String| match name.as_str() {
        ANSWERS => answers(&rows(&tables, name)?).ok_or(TablesError::Row(ANSWERS)),
        _ => rows(&tables, name),
    };
    names.map(|name| Ok((name.clone(), read(name)?))).collect()
}

/// The answers in rows, by their calls.
fn answers(rows: &Rows) -> Option<Rows> {
    let mut answers = Rows::new();
    for mut row in rows.values().map(Vec::as_slice) {
        while !row.is_empty() {
            let (call, rest) = row.split_at_checked(CALL)?;
            let (len, rest) = rest.split_first_chunk::<4>()?;
            let (answer, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
            answers.insert(call.to_vec(), answer.to_vec());
            row = rest;
        }
    }
    Some(answers)
}

fn rows(tables: &OfflineStore, name: &str) -> Result<Rows, TablesError> {
    let mut rows = Rows::new();
    let mut cursor = tables.iter(name, IterRange::all())?;
    cursor.first();
    let add = |key: &[u8], value: &[u8]| {
        rows.insert(key.to_vec(), value.to_vec());
        true
    };
    cursor.for_each(add)?;
    Ok(rows)
}

/// Checks that tables are of one moment: buckets count the rows that they have in others.
pub fn counters(tables: &OfflineStore) -> Result<(), TablesError> {
    let mut counted = 0;
    for row in rows(tables, BUCKETS)?.values() {
        let bucket = BucketInfo::decode(&row[..]).map_err(|_| TablesError::Row(BUCKETS))?;
        counted += bucket.used_namespace();
    }
    let mut there = 0;
    for name in COUNTED {
        there += rows(tables, name)?.len() as u64;
    }
    match counted == there {
        true => Ok(()),
        false => Err(TablesError::Counters { counted, there }),
    }
}
