//! `cgom`: keys without data, written into the tables of a stopped OM.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use config::Configuration;
use config::keys::om as keys;
use metastore::{Batch, Durability, IterRange, Preset, Store, StoreOptions, Table};
use prost::Message;
use proto::ozone::{BucketInfo, KeyInfo};

use crate::FreonError;
use crate::names::numbered;
use crate::report::Report;
use crate::timer::Timer;

/// Write keys into the tables of a stopped OM.
///
/// Each is a copy of a key of the bucket, with its own name, ids and block. They are written as
/// RocksDB table files that are ingested into the database, without the Raft log: one of several
/// OMs then differs from the others. Names are those of ommg, omkg and ockg with the same prefix.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 freon omkg -n 1 -p first\n  \
                        o3 freon cgom -n 100000000 -p keys --om-db /data/meta/om.db")]
pub struct Cgom {
    /// Number of keys.
    #[arg(short = 'n', long, default_value_t = 1000, value_name = "N")]
    number_of_tests: u64,
    /// Prefix of their names.
    #[arg(short = 'p', long, value_name = "TEXT")]
    prefix: String,
    /// Volume.
    #[arg(short = 'v', long, default_value = "vol1", value_name = "NAME")]
    volume: String,
    /// Bucket, not FILE_SYSTEM_OPTIMIZED.
    #[arg(short = 'b', long, default_value = "bucket1", value_name = "NAME")]
    bucket: String,
    /// The database; by default om.db of the configured OM.
    #[arg(long, value_name = "DIR")]
    om_db: Option<PathBuf>,
    /// Print one JSON object instead of tables.
    #[arg(long)]
    json: bool,
}

const BUCKETS: Table = Table::named("bucketTable");
const KEYS: Table = Table::named("keyTable");

/// Runs it.
pub(crate) async fn run(args: Cgom, conf: &Configuration) -> Result<Report, FreonError> {
    let db = match &args.om_db {
        Some(db) => db.clone(),
        None => conf
            .directory(&keys::OZONE_OM_DB_DIRS)
            .map_err(|_| FreonError::Usage("--om-db is required".into()))?
            .join("om.db"),
    };
    if !db.join("CURRENT").exists() {
        return Err(FreonError::Usage(format!("there is no database at {}", db.display())));
    }
    let json = args.json;
    let report = tokio::task::spawn_blocking(move || generate(&args, &db))
        .await
        .map_err(|e| FreonError::Offline(e.to_string()))??;
    match json {
        true => println!("{}", report.json()),
        false => print!("{}", report.text()),
    }
    Ok(report)
}

fn generate(args: &Cgom, db: &std::path::Path) -> Result<Report, FreonError> {
    let began = Instant::now();
    let failed = |e: metastore::Error| FreonError::Offline(e.to_string());
    let store = Store::open(db, &[], &StoreOptions::default()).map_err(failed)?;
    let bucket_row = format!("/{}/{}", args.volume, args.bucket).into_bytes();
    let found = store.get(BUCKETS, &bucket_row).map_err(failed)?;
    let found = found.ok_or_else(|| {
        let place = String::from_utf8_lossy(&bucket_row);
        FreonError::Offline(format!("there is no bucket {place}"))
    })?;
    let damaged = |e: prost::DecodeError| FreonError::Offline(format!("malformed row: {e}"));
    let mut bucket = BucketInfo::decode(&*found).map_err(damaged)?;
    drop(found);
    let copied = template(&store, &bucket_row)?;
    let info = KeyInfo::decode(copied.as_slice()).map_err(damaged)?;

    let row = |number: u64| {
        let name = numbered(&args.prefix, number);
        let row = [bucket_row.as_slice(), b"/", name.as_bytes()].concat();
        (row, name)
    };
    let (first, end) = (row(0).0, row(args.number_of_tests).0);
    let mut cursor = store.iter(KEYS, IterRange::from(first).until(end)).map_err(failed)?;
    cursor.first();
    if cursor.row().map_err(failed)?.is_some() {
        return Err(FreonError::Offline(format!("there are keys with prefix {}", args.prefix)));
    }
    drop(cursor);

    let mut number = 0;
    let mut key = info.clone();
    let ingest = store.ingest(KEYS, Preset::Scan).map_err(failed)?;
    let bytes = ingest.rows(|| {
        if number >= args.number_of_tests {
            return None;
        }
        let (row, name) = row(number);
        number += 1;
        become_next(&mut key, &info, name, number);
        Some((row, key.encode_to_vec()))
    });
    let bytes = bytes.map_err(failed)?;

    let count = args.number_of_tests;
    let size = info.data_size.saturating_mul(count);
    bucket.used_namespace = Some(bucket.used_namespace.unwrap_or(0).saturating_add(count));
    bucket.used_bytes = Some(bucket.used_bytes.unwrap_or(0).saturating_add(size));
    let mut batch = Batch::new();
    batch.put(BUCKETS, bucket_row, bucket.encode_to_vec());
    store.write(batch, Durability::NoWal).map_err(failed)?;
    store.flush().map_err(failed)?;

    let elapsed = began.elapsed();
    let mut timer = Timer::default();
    timer.record(elapsed);
    Ok(Report {
        prefix: args.prefix.clone(),
        elapsed,
        successes: args.number_of_tests,
        failures: 0,
        timers: [("ingest", timer)].into(),
        bytes,
        entries: 0,
        server_cpu: None,
    })
}

/// The first key of the bucket.
fn template(store: &Store, bucket_row: &[u8]) -> Result<Vec<u8>, FreonError> {
    let failed = |e: metastore::Error| FreonError::Offline(e.to_string());
    let prefix = [bucket_row, b"/"].concat();
    let mut cursor = store.iter(KEYS, IterRange::prefix(prefix)).map_err(failed)?;
    cursor.first();
    match cursor.row().map_err(failed)? {
        Some((_, value)) => Ok(value.to_vec()),
        None => {
            let reason = "the bucket has no key to make copies of: create one, with omkg -n 1";
            Err(FreonError::Offline(reason.to_owned()))
        }
    }
}

/// Turns `key` into the copy of `first` with this name and number.
fn become_next(key: &mut KeyInfo, first: &KeyInfo, name: String, number: u64) {
    key.key_name = name;
    // The lowest eight bits are for other objects of a transaction.
    key.object_id = first.object_id.map(|id| id.wrapping_add(number << 8));
    let blocks = key.key_location_list.iter_mut().flat_map(|list| &mut list.key_locations);
    let firsts = first.key_location_list.iter().flat_map(|list| &list.key_locations);
    for (block, first) in blocks.zip(firsts) {
        let id = first.block_id.container_block_id.local_id;
        block.block_id.container_block_id.local_id = id.wrapping_add(number.cast_signed());
    }
}

#[cfg(test)]
mod tests {
    use proto::hdds::{BlockId, ContainerBlockId};
    use proto::ozone::{KeyLocation, KeyLocationList};

    use super::*;

    #[test]
    fn copies_are_keys_of_their_own() {
        let at = |local_id| KeyLocation {
            block_id: BlockId {
                container_block_id: ContainerBlockId { container_id: 1, local_id },
                ..BlockId::default()
            },
            ..KeyLocation::default()
        };
        let list = KeyLocationList { key_locations: vec![at(i64::MAX)], ..Default::default() };
        let first = KeyInfo {
            key_name: "first".to_owned(),
            object_id: Some(1 << 8),
            key_location_list: vec![list],
            ..KeyInfo::default()
        };
        let mut key = first.clone();
        become_next(&mut key, &first, "a".to_owned(), 1);
        let ids = |key: &KeyInfo| {
            let block = &key.key_location_list[0].key_locations[0].block_id;
            (key.object_id, block.container_block_id.local_id)
        };
        assert_eq!((key.key_name.as_str(), ids(&key)), ("a", (Some(2 << 8), i64::MIN)));
        become_next(&mut key, &first, "b".to_owned(), 2);
        assert_eq!(ids(&key), (Some(3 << 8), i64::MIN + 1));
    }
}
