//! Adds many closed containers to a stopped DataNode, and their records to its SCM: for
//! `benches/dense-datanode`.
//!
//! ```text
//! cargo run --release --example fill_datanode -- SCM_DB CLUSTER DATANODE COUNT DIR...
//! ```
//! SCM_DB is the directory `scm.db`, CLUSTER and DATANODE are the ids in their VERSION files, DIR
//! are the data directories. Each container has one block of 1 KB, packed into a segment; its
//! record says RATIS/ONE.

use std::path::{Path, PathBuf};
use std::time::Instant;

use bytes::Bytes;
use container::checksum;
use containerstore::{
    ContainerStore, DataDirectory, Disk, NewContainer, PipelineStore, Position, StorageOptions,
};
use metastore::{Batch, Durability, Store, StoreOptions};
use placement::Container;
use proto::datanode::{BlockData, ChecksumType, ChunkInfo};
use proto::hdds::LifeCycleState;
use scm::tables;
use types::{
    BlockId, ContainerId, DatanodeId, LocalId, PipelineId, ReplicationConfig, StorageType,
};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const BLOCK: usize = 1 << 10;

/// Concurrently open containers per disk.
const AT_A_TIME: usize = 100;

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    let mut next = |what: &str| args.next().ok_or_else(|| format!("{what} is missing"));
    let scm_db = PathBuf::from(next("SCM_DB")?);
    let cluster = next("CLUSTER")?;
    let datanode: DatanodeId = next("DATANODE")?.parse()?;
    let count: u64 = next("COUNT")?.parse()?;
    let dirs: Vec<DataDirectory> = args.map(DataDirectory::new).collect();
    let begun = Instant::now();
    let mut options = StorageOptions::new(dirs, cluster, datanode);
    (options.io.open_files, options.metadata_open_files) = (50, 50);
    let store = ContainerStore::open(options)?;
    let disks = store.disks();
    std::thread::scope(|scope| {
        let each = disks.iter().enumerate().map(|(at, disk)| {
            let (store, first, step) = (&store, at as u64 + 1, disks.len());
            scope.spawn(move || fill(store, disk, (first..=count).step_by(step)))
        });
        let threads: Vec<_> = each.collect();
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(filled) => filled,
            Err(_) => Err("a thread panicked".into()),
        })
    })?;
    store.flush_all()?;
    record(&scm_db, count)?;
    println!("{count} containers on {} disks in {:.1?}", disks.len(), begun.elapsed());
    Ok(())
}

fn fill(
    store: &ContainerStore,
    disk: &std::sync::Arc<Disk>,
    ids: impl Iterator<Item = u64>,
) -> Outcome<()> {
    let pipe = store.open_pipeline(PipelineId::random(), disk)?;
    let ids: Vec<ContainerId> = ids.map(ContainerId).collect();
    let mut index = 0;
    // Closing a container flushes the tables, and an open one has a file open.
    for some in ids.chunks(AT_A_TIME) {
        for id in some {
            let new = NewContainer { id: *id, disk: Some(disk.clone()), ..Default::default() };
            store.create_container(new)?;
            index += 1;
            put(&pipe, *id, index)?;
        }
        pipe.flush()?;
        some.iter().try_for_each(|id| store.close(*id, None))?;
    }
    Ok(())
}

fn put(pipe: &PipelineStore, container: ContainerId, index: u64) -> Outcome<()> {
    let data = Bytes::from(vec![7; BLOCK]);
    let chunk = ChunkInfo {
        chunk_name: "chunk_1".to_owned(),
        len: BLOCK as u64,
        checksum_data: checksum::compute(ChecksumType::Crc32, 16 << 10, &data),
        ..Default::default()
    };
    let block = BlockData {
        block_id: BlockId::new(container, LocalId(container.0)).to_datanode(0),
        chunks: vec![chunk.clone()],
        ..Default::default()
    };
    let mut batch = pipe.begin();
    batch.put_small_file(Position { term: 1, index }, &block, &chunk, data)?;
    batch.commit()?;
    Ok(())
}

/// SCM's records of the containers.
fn record(path: &Path, count: u64) -> Outcome<()> {
    let store = Store::open(path, &tables::ALL, &StoreOptions::default())?;
    let mut batch = Batch::new();
    for id in 1..=count {
        let container = Container {
            id: ContainerId(id),
            state: LifeCycleState::Closed,
            pipeline: None,
            config: ReplicationConfig::RATIS_ONE,
            storage_type: StorageType::default(),
            owner: "om".into(),
            used_bytes: BLOCK as u64,
            keys: 1,
            state_enter_ms: 1,
            sequence_id: 1,
            delete_transaction: 0,
            suppressed: false,
            evidence: Default::default(),
        };
        let key = tables::ContainerKey(container.id);
        tables::CONTAINERS.put(&mut batch, &key, &tables::ContainerRow(container));
        if batch.bytes() > 4 << 20 || id == count {
            store.write(std::mem::take(&mut batch), Durability::NoWal)?;
        }
    }
    Ok(store.flush()?)
}
