//! Opening a data directory.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use blockio::{Backend, DiskOptions, SystemBackend, Trouble};
use metastore::{IterRange, Store, StoreOptions};
use rustc_hash::FxHashMap;
use service::{DataDir, DataDirError, Expected, VersionFile, data_dir};
use types::PipelineId;
use uuid::Uuid;

use super::space::Gauge;
use super::{ANY_TRANSACTION, Database, Deleting, Disk, Flushes, RefusedReads, check};
use crate::error::{Result, StorageError};
use crate::lock_order::{OrderedMutex, Rank};
use crate::options::{DataDirectory, StorageOptions};
use crate::position::PipelinePositions;
use crate::scan_history::DiskScans;
use crate::tables::{self, DELETE_TXNS, PIPELINES, Reach, TABLES};

/// Latest layout of a data volume that this program supports; Ozone's too.
const LAYOUT_VERSION: u32 = 1;

impl Disk {
    /// Opens a directory, formatting it if it is new.
    pub(crate) fn open(
        dir: &DataDirectory,
        options: &StorageOptions,
        backend: Option<Box<dyn Backend>>,
    ) -> Result<Arc<Self>> {
        let root = dir.path.join("hdds");
        let expected = Expected {
            node_type: None,
            cluster_id: Some(options.cluster_id.clone()),
            layout_version: LAYOUT_VERSION,
        };
        let raft_dir = dir.raft_dir.clone().unwrap_or_else(|| dir.path.join("ratis"));
        refuse_without_version(&root)?;
        for path in [&root, &raft_dir] {
            make(path, options)?;
        }
        let (lock, version, _) =
            DataDir::open_or_format(&root, "VERSION", &expected, || new_version(options)).map_err(
                |e| match e {
                    // The disk's own trouble; anything else is the operator's.
                    DataDirError::Io { .. } | DataDirError::Malformed { .. } => {
                        StorageError::disk(&root, e)
                    }
                    _ => StorageError::DataDir(e.to_string()),
                },
            )?;
        let id = version.get("storageID").unwrap_or_default().to_owned();
        let owner = version.get("datanodeUuid").unwrap_or_default();
        if id.is_empty() {
            let why = format!("{}: storageID is missing from VERSION", root.display());
            return Err(StorageError::disk(&root, why));
        }
        if owner != options.datanode.to_string() {
            return Err(StorageError::DataDir(format!(
                "{} belongs to DataNode {owner}, not to {}: give each DataNode its own directories",
                root.display(),
                options.datanode
            )));
        }

        let cluster = root.join(&options.cluster_id);
        let deleted = cluster.join("tmp").join("deleted-containers");
        let arriving = cluster.join("tmp").join("arriving-containers");
        for path in [&cluster.join("current"), &deleted, &arriving] {
            fs::create_dir_all(path).map_err(|e| StorageError::disk(path, e))?;
        }
        let database = cluster.join(&id).join("container.db");
        refuse_without_database(&cluster.join("current"), &database)?;
        let db = Store::open(
            &database,
            &TABLES,
            &StoreOptions {
                block_cache_bytes: options.metadata_cache,
                write_buffer_bytes: options.metadata_buffer,
                max_open_files: i32::try_from(options.metadata_open_files).unwrap_or(i32::MAX),
                ..StoreOptions::default()
            },
        )?;
        let io_options = DiskOptions { name: short_name(&id), ..options.io.clone() };
        let backend = backend.unwrap_or_else(|| Box::new(SystemBackend));
        let io = blockio::Disk::start_on(&root, io_options, backend)
            .map_err(|e| StorageError::disk(&root, e))?;
        let refused = Arc::<RefusedReads>::default();
        let noted = Arc::clone(&refused);
        let tests = check::dir_of(&cluster);
        io.watch(Arc::new(move |trouble| match trouble {
            // What a test of the disk reads counts with the test.
            Trouble::Error(error) if error.op == "read" && !error.path.starts_with(&tests) => {
                noted.note(&error.path);
            }
            Trouble::Error(_) | Trouble::Failed(_) => {}
        }));
        let pipelines = read_pipelines(&db)?;
        let deleting = containers_with_deletions(&db)?;
        Ok(Arc::new(Self {
            id,
            storage_type: dir.storage_type,
            space: Gauge::new(&root, dir.reserved, options),
            cluster,
            raft_dir,
            db: Database::new(db, io.clone()),
            io,
            refused,
            failed_tests: 0.into(),
            scans: DiskScans::default(),
            pipelines: OrderedMutex::of_disk(Rank::Pipelines, pipelines),
            dirty: OrderedMutex::of_disk(Rank::Dirty, FxHashMap::default()),
            pending: 0.into(),
            pending_bound: options.pending_bytes,
            deleting: OrderedMutex::of_disk(Rank::Deleting, deleting),
            flushes: Flushes::default(),
            deletion_look: Arc::default(),
            flushing: OrderedMutex::of_disk(Rank::Flushing, ()),
            root,
            _lock: lock,
        }))
    }
}

/// Creates a directory with the permissions of data. One whose permissions cannot be set is used
/// all the same, as in Ozone: it has data that others need.
fn make(path: &Path, options: &StorageOptions) -> Result<()> {
    match data_dir::make(path, options.permissions) {
        Err(error @ DataDirError::Permissions { .. }) => {
            tracing::warn!(%error, "other users of this machine may read the clients' data");
            Ok(())
        }
        made => made.map_err(|error| StorageError::disk(path, error)),
    }
}

/// A directory with data and without a VERSION file is not new: it has lost the file, and
/// formatting it would hide what it holds.
fn refuse_without_version(root: &Path) -> Result<()> {
    let fail = |error: std::io::Error| StorageError::disk(root, error);
    if root.join("VERSION").try_exists().map_err(fail)? {
        return Ok(());
    }
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(fail(error)),
    };
    for entry in entries {
        let entry = entry.map_err(fail)?;
        if entry.file_type().map_err(fail)?.is_dir() {
            let what = entry.file_name();
            let why = format!("there is {} without a VERSION file", what.display());
            return Err(StorageError::disk(root, why));
        }
    }
    Ok(())
}

/// A disk with containers and no database has lost it. Opened with a new one, every container would
/// count as never written, and be copied as empty.
fn refuse_without_database(containers: &Path, database: &Path) -> Result<()> {
    let current = database.join("CURRENT");
    if current.try_exists().map_err(|error| StorageError::disk(&current, error))? {
        return Ok(());
    }
    let io = |error| StorageError::disk(containers, error);
    for group in fs::read_dir(containers).map_err(io)? {
        let group = group.map_err(io)?.path();
        let is_dir = fs::metadata(&group).map_err(io)?.is_dir();
        if is_dir && fs::read_dir(&group).map_err(io)?.next().is_some() {
            let (shown, database) = (containers.display(), database.display());
            let why = format!(
                "{shown} holds containers, but their database {database} is missing: empty the data directory, and the data \
                 it held is copied from other DataNodes"
            );
            return Err(StorageError::disk(containers, why));
        }
    }
    Ok(())
}

fn new_version(options: &StorageOptions) -> VersionFile {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    VersionFile::default()
        .with("datanodeUuid", options.datanode)
        .with("clusterID", &options.cluster_id)
        .with("storageID", format!("DS-{}", Uuid::new_v4()))
        .with("ctime", now)
        .with("layOutVersion", LAYOUT_VERSION)
}

/// Thread names have 15 bytes.
fn short_name(id: &str) -> String {
    id.chars().take(11).collect()
}

fn read_pipelines(db: &Store) -> Result<FxHashMap<PipelineId, PipelinePositions>> {
    let mut found: FxHashMap<PipelineId, PipelinePositions> = FxHashMap::default();
    let mut cursor = db.iter(PIPELINES, IterRange::all())?;
    cursor.first();
    cursor.for_each(|key, value| {
        if let Some((id, reach, position)) = tables::read_pipeline(key, value) {
            let positions = found.entry(id).or_default();
            match reach {
                // Replay starts at the durable position; the applied one is only recorded.
                Reach::Applied => positions.seen = position,
                Reach::Durable => {
                    positions.durable = position;
                    positions.applied = position;
                }
            }
        }
        true
    })?;
    Ok(found)
}

fn containers_with_deletions(db: &Store) -> Result<Deleting> {
    let mut found = Deleting::default();
    let mut cursor = db.iter(DELETE_TXNS, IterRange::all())?;
    cursor.first();
    cursor.for_each(|key, _| {
        if let Some(id) = tables::container_of(key) {
            found.add(id, ANY_TRANSACTION);
        }
        true
    })?;
    Ok(found)
}

/// Removes folders that an earlier run had set aside for removal, except those that `stays`. A
/// failed removal is left to the next start.
pub(crate) fn sweep(dir: &Path, stays: impl Fn(&OsStr) -> bool) -> Result<()> {
    let entries = fs::read_dir(dir).map_err(|e| StorageError::disk(dir, e))?;
    for entry in entries {
        let entry = entry.map_err(|e| StorageError::disk(dir, e))?;
        let path = entry.path();
        if !stays(&entry.file_name())
            && let Err(error) = fs::remove_dir_all(&path)
        {
            tracing::error!(path = %path.display(), %error, "cannot remove a folder that was set aside for removal");
        }
    }
    Ok(())
}
