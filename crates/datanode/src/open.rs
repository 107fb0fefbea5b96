//! Opening the disks once the cluster is known, and the work that starts then.

use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwap;
use chunkcache::ChunkCache;
use multiraft::{HostOptions, LogError, LogHandle, LogOptions, RaftHost};
use rustc_hash::FxHashMap;
use service::{AuditLog, data_dir};

use crate::DatanodeError;
use crate::background::closing::Closing;
use crate::background::container_checksums::ContainerChecksums;
use crate::background::disk_balancing::DiskBalancing;
use crate::background::disk_check::DiskCheck;
use crate::background::pipeline_liveness::PipelineLiveness;
use crate::background::range_compaction::RangeCompaction;
use crate::background::reclaim::Reclaim;
use crate::background::small_chunks::SmallChunks;
use crate::background::stale_recovering::StaleRecovering;
use crate::command::budget::Budget;
use crate::daemon::Daemon;
use crate::disk_balancer::DiskBalancer;
use crate::node::Node;
use crate::pipeline::{Parts, Pipelines};
use crate::repair::pace::RepairPace;
use crate::repair::push::Pusher;
use crate::repair::reconstruct::Audit;
use crate::settings::Settings;
use crate::storage_type::ContainerTypes;
use blockio::deadline;
use containerstore::{ContainerStore, Disk, StorageOptions};

/// Factor, of SCM's time to count a DataNode as dead, for which a pipeline that is to be closed
/// waits for members that may have more entries: after a power failure machines return minutes
/// apart.
const DECISION_TIMEOUT: u32 = 10;

/// Joins a cluster and opens the disks; once only.
///
/// # Errors
/// When the directory is of another cluster, or too few disks or logs open.
pub(crate) async fn open(
    daemon: &Arc<Daemon>,
    cluster_id: &str,
) -> Result<Arc<Node>, DatanodeError> {
    let _turn = daemon.opening.lock().await;
    daemon.identity.lock().join(cluster_id)?;
    if let Some(node) = daemon.node() {
        return Ok(node.clone());
    }
    let options = crate::settings::disks::options(
        &daemon.settings,
        cluster_id,
        daemon.identity.lock().details().id,
    );
    let cache = daemon.settings.cache.clone();
    let open = move || {
        let dirs = cache.iter().flat_map(|cache| &cache.dirs);
        let cache = cache.as_ref().map(ChunkCache::open).transpose()?;
        // Opened, they are this cache's own.
        for dir in dirs {
            match data_dir::make(dir, options.permissions) {
                // It may be a mount point that is another user's. What others need is not in it.
                Err(error @ data_dir::DataDirError::Permissions { .. }) => {
                    tracing::warn!(%error, "other users of this machine may read the clients' data");
                }
                made => made?,
            }
        }
        Ok::<_, DatanodeError>(ContainerStore::open(StorageOptions { cache, ..options })?)
    };
    let opened = tokio::task::spawn_blocking(open).await;
    let store = opened.map_err(|_| DatanodeError::Shutdown)??;
    let (bad, all) = (store.unopened().len(), daemon.settings.data_dirs.len());
    if let Some(why) = daemon.settings.tolerated.data.exceeded(bad, all) {
        let reasons = store.unopened().iter().map(|unopened| unopened.reason.clone());
        let reasons = reasons.collect::<Vec<_>>().join("; ");
        return Err(DatanodeError::TooFewDisks { why, reasons });
    }
    let node = Arc::new(assemble(daemon, store).await?);
    node.pipelines.reopen(daemon.settings.checks.timeout).await;
    daemon.services.spawn(Arc::new(Reclaim::new(&node)));
    daemon.services.spawn(Arc::new(StaleRecovering::new(&node)));
    if let Some(settings) = &daemon.settings.range_compaction {
        daemon.services.spawn(Arc::new(RangeCompaction::new(&node, settings)));
    }
    daemon.services.spawn(Arc::new(SmallChunks::new(&node)));
    daemon.services.spawn(Arc::new(ContainerChecksums::new(&node)));
    daemon.services.spawn(Arc::new(DiskCheck::new(&node)));
    daemon.services.spawn(Arc::new(PipelineLiveness::new(&node, daemon.settings.liveness)));
    daemon.services.spawn(Arc::new(DiskBalancing::new(&node)));
    crate::background::scan::spawn(daemon, &node);
    daemon.services.spawn(Arc::new(Closing::new(daemon, &node)));
    daemon.metrics.watch(&node);
    crate::background::failed_disks::watch(daemon, &node);
    daemon.set_node(&node);
    Ok(node)
}

/// Opens the Raft logs of all disks at a time; one that hangs holds up no other.
async fn open_logs(
    daemon: &Daemon,
    store: &ContainerStore,
    host: &RaftHost,
) -> Result<FxHashMap<String, LogHandle>, DatanodeError> {
    let (disks, host) = (store.disks().to_vec(), host.clone());
    let timeout = daemon.settings.checks.timeout;
    let open = move || {
        let begin = |disk: &Arc<Disk>| {
            let (host, dir) = (host.clone(), disk.raft_dir().to_path_buf());
            let options =
                LogOptions { manifest: Some(disk.raft_manifest()), ..LogOptions::default() };
            deadline::begin("open-raft-log", move || host.open_log(&dir, options))
        };
        let begun: Vec<_> = disks.iter().map(begin).collect();
        let deadline = Instant::now().checked_add(timeout);
        let finish = |(opening, disk): (deadline::Begun<_>, Arc<Disk>)| {
            let opened = opening.wait_until(deadline).unwrap_or_else(|late| {
                let detail = format!("{late} within {timeout:?}");
                if crate::background::failed_disks::shares_device(&disk) {
                    disk.io().fail("open the raft log", disk.raft_dir(), detail.as_str());
                }
                Err(LogError::Io { path: disk.raft_dir().to_path_buf(), detail })
            });
            (disk, opened)
        };
        begun.into_iter().zip(disks).map(finish).collect::<Vec<_>>()
    };
    let opened = tokio::task::spawn_blocking(open).await;
    let mut logs = FxHashMap::default();
    for (disk, opened) in opened.map_err(|_| DatanodeError::Shutdown)? {
        match opened {
            Ok(log) => _ = logs.insert(disk.id().to_owned(), log),
            // The disk's replicas are there to be read; its pipelines are lost.
            Err(error) => {
                tracing::error!(disk = disk.id(), %error, "cannot open a raft log");
                if store.disks().len() == 1 {
                    return Err(error.into());
                }
            }
        }
    }
    Ok(logs)
}

fn open_audit(settings: &Settings) -> Result<AuditLog, DatanodeError> {
    let Some(options) = &settings.audit else { return Ok(AuditLog::disabled()) };
    let path = options.path.clone();
    AuditLog::open(options.clone()).map_err(|source| DatanodeError::AuditLog { path, source })
}

async fn assemble(daemon: &Daemon, store: ContainerStore) -> Result<Node, DatanodeError> {
    let settings = &daemon.settings;
    let audit = open_audit(settings)?;
    let details = daemon.identity.lock().details().clone();
    let mut options = HostOptions::new(details.id.0);
    options.election_timeout = settings.election_timeout;
    options.heartbeat = settings.election_timeout / 5;
    options.tick = options.heartbeat.min(options.tick);
    options.max_pending_bytes = usize::try_from(settings.pending_bytes).unwrap_or(usize::MAX);
    let host = RaftHost::start(options, daemon.transport())?;
    let logs = open_logs(daemon, &store, &host).await?;
    daemon.metrics.watch_raft(&host, &logs.values().cloned().collect::<Vec<_>>());
    let pace = Arc::new(RepairPace::new(settings.repair_rates));
    let pipelines = Pipelines::new(Parts {
        me: details.id.0,
        host: host.clone(),
        logs,
        store: store.clone(),
        pending_reports: daemon.pending_reports.clone(),
        pace: pace.clone(),
        small: settings.small_block_size,
        sync_chunks: settings.sync_chunks,
        trim_entries: settings.trim_entries,
        decision_timeout: settings.scm_silence.saturating_mul(DECISION_TIMEOUT),
    });
    daemon.set_raft(host);
    Ok(Node {
        settings: settings.clone(),
        details: ArcSwap::from_pointee(details),
        store,
        pipelines,
        pending_reports: daemon.pending_reports.clone(),
        write_budget: Budget::new(settings.pending_bytes),
        read_budget: Budget::new(settings.pending_bytes),
        container_types: ContainerTypes::new(daemon.sessions.clone()),
        late_reads: Default::default(),
        under_way: Default::default(),
        pusher: Pusher::new(settings.copy_streams, settings.copy_queue, pace.clone()),
        pace,
        reconstructions: Default::default(),
        reconciliations: Default::default(),
        audit: Audit(audit),
        arrivals: Default::default(),
        disk_balancer: DiskBalancer::open(settings.disk_balancer.clone()),
        services: daemon.services.clone(),
    })
}
