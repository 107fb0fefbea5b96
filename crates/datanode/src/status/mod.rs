//! The status page of a DataNode.

pub(crate) mod container_list;
pub(crate) mod deletion;

use std::sync::{Arc, Weak};

use futures::future::BoxFuture;
use service::{Section, StatusPage, readable_bytes};

use crate::daemon::{Daemon, Stage};
use crate::node::Node;
use crate::status::container_list::time;
use containerstore::scan::{FoundDamage, ScanOverview, ScanStats};
use containerstore::{ScanKind, SecondReplica, Space};

/// Shows a DataNode to people.
pub(crate) struct Page {
    daemon: Weak<Daemon>,
}

impl Page {
    pub fn new(daemon: &Arc<Daemon>) -> Self {
        Self { daemon: Arc::downgrade(daemon) }
    }
}

impl StatusPage for Page {
    fn title(&self) -> String {
        let id =
            self.daemon.upgrade().map(|daemon| daemon.identity.lock().details().id.to_string());
        format!("DataNode {}", id.unwrap_or_default())
    }

    fn trouble(&self) -> Option<String> {
        let daemon = self.daemon.upgrade()?;
        if let Stage::Failed(reason) = &*daemon.stage.borrow() {
            return Some(reason.clone());
        }
        let failed = daemon.node()?.pipelines.in_trouble();
        let (id, why) = failed.first()?;
        Some(format!("{} pipelines do not work, {id} among them: {why}", failed.len()))
    }

    fn sections(&self) -> Vec<Section> {
        let Some(daemon) = self.daemon.upgrade() else { return Vec::new() };
        let mut sections = vec![about(&daemon)];
        if let Some(node) = daemon.node() {
            sections.push(disks(node));
            sections.extend(second_replicas(node));
            sections.push(balancer(node));
            sections.push(scans(node));
            if let Some(cache) = &node.store.options().cache {
                sections.push(crate::settings::chunk_cache::section(cache));
            }
            sections.push(pipelines(node));
        }
        sections.push(Section::memory(&daemon.settings.memory));
        sections.push(Section::rpc("Container commands", &daemon.metrics.commands.rpc));
        sections.push(Section::background(&daemon.services.list()));
        sections
    }

    fn slow_sections(&self) -> BoxFuture<'_, Vec<Section>> {
        Box::pin(async {
            let Some(daemon) = self.daemon.upgrade() else { return Vec::new() };
            match deletion::status(&daemon).await {
                Ok(told) => Section::deletions(&told),
                Err(error) => {
                    vec![Section::facts("Deletions", [("not known", error.to_string())])]
                }
            }
        })
    }
}

fn about(daemon: &Daemon) -> Section {
    let identity = daemon.identity.lock();
    let details = identity.details();
    let stage = match &*daemon.stage.borrow() {
        Stage::Starting => "starting".to_owned(),
        Stage::Ready => "registered".to_owned(),
        Stage::Failed(reason) => format!("failed: {reason}"),
    };
    let ports: Vec<_> = details.ports.iter().map(|p| format!("{} {}", p.name, p.value)).collect();
    let containers = daemon.node().map_or(0, |node| node.store.containers().len());
    let arriving = daemon.node().map_or(0, |node| node.arrivals.len());
    let suspicious = daemon.node().map_or(0, |node| node.store.suspects());
    let unhealthy = daemon.node().map_or(0, |node| node.store.unhealthy());
    Section::facts(
        "DataNode",
        [
            ("state", stage),
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("cluster", identity.cluster_id().unwrap_or("not known yet").to_owned()),
            ("host", format!("{} ({})", details.host, details.ip)),
            ("ports", ports.join(", ")),
            ("SCMs", daemon.sessions.addresses().join(", ")),
            ("containers", containers.to_string()),
            ("containers arriving", arriving.to_string()),
            ("containers suspicious", suspicious.to_string()),
            ("containers UNHEALTHY", unhealthy.to_string()),
        ],
    )
}

/// Columns of the table of disks.
const COLUMNS: [&str; 12] = [
    "state",
    "id",
    "directory",
    "type",
    "capacity",
    "available",
    "used on the file system",
    "used by replicas",
    "failed tests",
    "files not read",
    "late reads refused",
    "workers that hang",
];

fn disks(node: &Node) -> Section {
    let used = node.store.used_bytes();
    let rows = node
        .store
        .disks()
        .iter()
        .map(|disk| {
            let failure = disk.failure();
            let space = if failure.is_some() { Space::default() } else { disk.space() };
            let log = node.pipelines.failure(disk).map(|why| format!("raft log failed: {why}"));
            let state = failure.map(|why| format!("failed: {why}")).or(log);
            vec![
                state.unwrap_or_else(|| "healthy".to_owned()),
                disk.id().to_owned(),
                disk.path().display().to_string(),
                disk.storage_type().to_string(),
                readable_bytes(space.capacity),
                readable_bytes(space.available),
                readable_bytes(space.fs_used),
                readable_bytes(used.get(disk.id()).copied().unwrap_or_default()),
                disk.failed_tests().to_string(),
                disk.refused_files().to_string(),
                disk.io().metrics().refused_reads().to_string(),
                disk.io().stuck_workers().to_string(),
            ]
        })
        .chain(node.store.unopened().iter().map(|unopened| {
            let state = format!("failed: {}", unopened.reason);
            let none = String::new;
            let path = unopened.path.display().to_string();
            let mut row = vec![state, none(), path];
            row.resize_with(COLUMNS.len(), none);
            row
        }))
        .collect();
    Section::table("Disks", &COLUMNS, rows)
}

/// Replicas that are not served, if there are any.
fn second_replicas(node: &Node) -> Option<Section> {
    let others = node.store.second_replicas();
    let rows: Vec<_> = others
        .into_iter()
        .map(|SecondReplica { info, disk, reason }| {
            let served = node.store.container(info.id).ok();
            let served = served.map_or_else(|| "none".to_owned(), |c| c.disk().id().to_owned());
            vec![
                info.id.to_string(),
                disk,
                info.state.to_string(),
                info.replica_index.to_string(),
                info.blocks.to_string(),
                readable_bytes(info.used),
                served,
                reason,
            ]
        })
        .collect();
    let columns = [
        "container",
        "disk",
        "state",
        "replica index",
        "blocks",
        "bytes",
        "served from",
        "kept because",
    ];
    (!rows.is_empty()).then(|| Section::table("Replicas that are not served", &columns, rows))
}

/// The disk balancer, a line for each disk.
fn balancer(node: &Node) -> Section {
    let report = node.disk_balancer_report();
    let (status, balancer) = (node.disk_balancer.status(), &node.disk_balancer);
    let ideal = report.ideal_usage();
    let percent = |share: f64| format!("{:.2} %", share * 100.0);
    let rows = report.volume_info.iter().map(|volume| {
        vec![
            status.as_str_name().to_owned(),
            volume.storage_path().to_owned(),
            readable_bytes(volume.total_capacity()),
            readable_bytes(volume.effective_used_space()),
            percent(volume.utilization()),
            percent((volume.utilization() - ideal).abs()),
            balancer.running().to_string(),
            report.success_move_count().to_string(),
            report.failure_move_count().to_string(),
        ]
    });
    let columns = [
        "balancer",
        "directory",
        "capacity",
        "used",
        "utilization",
        "differs from all by",
        "moves under way",
        "moved",
        "failed",
    ];
    Section::table("Disk balancer", &columns, rows.collect())
}

fn scans(node: &Node) -> Section {
    let rate = crate::background::scan::data_rate(node);
    let disks = node.store.disks().iter().enumerate();
    let rows = disks.map(|(index, disk)| {
        let ScanOverview { containers, closed, never, oldest } = node.store.scan_overview(disk);
        let total = |figure: fn(&ScanStats) -> u64| {
            ScanKind::ALL.map(|kind| figure(&disk.scans().of(kind))).iter().sum::<u64>().to_string()
        };
        let none = || "none".to_owned();
        let damage = |found: FoundDamage| {
            let FoundDamage { container, at, reason, .. } = found;
            format!("{} container {container}: {reason}", time(at))
        };
        let rate = if node.settings.scans.enabled { rate.to_string() } else { "off".to_owned() };
        vec![
            format!("disk{index}"),
            disk.path().display().to_string(),
            containers.to_string(),
            closed.to_string(),
            never.to_string(),
            oldest.map_or_else(none, time),
            rate,
            total(|figures| figures.bytes),
            total(|figures| figures.damaged),
            disk.scans().last_damage().map_or_else(none, damage),
        ]
    });
    let columns = [
        "disk",
        "directory",
        "containers",
        "closed",
        "never scanned",
        "oldest scan",
        "bytes per second",
        "bytes scanned",
        "damaged",
        "last damage",
    ];
    Section::table("Scans", &columns, rows.collect())
}

fn pipelines(node: &Node) -> Section {
    let mut ids = node.pipelines.ids();
    ids.sort_unstable();
    let rows = ids
        .into_iter()
        .filter_map(|id| node.pipelines.get(id))
        .map(|pipeline| {
            let leader = pipeline.group.leader();
            vec![
                pipeline.id.to_string(),
                pipeline.peers.len().to_string(),
                pipeline.disk.id().to_owned(),
                leader.leader.map_or_else(|| "none".to_owned(), |leader| leader.to_string()),
                leader.term.to_string(),
                pipeline.group.applied().to_string(),
                pipeline.store.containers().len().to_string(),
                pipeline.supervisor.health().trouble().unwrap_or_else(|| "none".to_owned()),
            ]
        })
        .collect();
    let columns = ["id", "members", "disk", "leader", "term", "applied", "containers", "trouble"];
    Section::table("Pipelines", &columns, rows)
}
