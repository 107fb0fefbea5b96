//! The status page, and how far deletions are.

pub(crate) mod deletion;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use multiraft::{LogHandle, Supervisor};
use placement::replica::health::STATES;
use service::{Section, StatusPage, readable_bytes, readable_duration};

use crate::core::Core;
use crate::handle::ScmAddresses;
use crate::raft::State;

/// Rows of a table on the page at most.
const ROWS: usize = 200;
/// Maximum of leaving nodes on the page: all containers of each are checked.
const LEAVING_ROWS: usize = 10;

pub struct Status {
    core: Arc<Core>,
    supervisor: Arc<Supervisor>,
    log: LogHandle,
    addresses: ScmAddresses,
}

impl Status {
    pub fn new(core: &Arc<Core>, state: &State, addresses: ScmAddresses) -> Self {
        let (service, core) = (&state.service, core.clone());
        let supervisor = service.handle().supervisor().clone();
        Self { core, supervisor, log: service.log().clone(), addresses }
    }

    fn facts(&self) -> Section {
        let core = &self.core;
        let cluster = core.cluster();
        let safe_mode = if cluster.safe_mode.is_on() { "in safe mode" } else { "out of safe mode" };
        let leader = core.group().leader();
        let deletions = cluster.deletions.summary();
        Section::facts(
            "SCM",
            [
                ("Cluster id", core.identity.cluster_id.clone()),
                ("SCM id", core.identity.scm_id.to_string()),
                ("Safe mode", safe_mode.to_owned()),
                (
                    "Raft",
                    format!(
                        "{}, term {}, applied {}",
                        core.role(),
                        leader.term,
                        core.group().applied()
                    ),
                ),
                ("Raft restarts after a failure", self.supervisor.restarts().to_string()),
                ("Trouble", self.trouble().unwrap_or_else(|| "none".to_owned())),
                ("Endpoint for clients", self.addresses.client.to_string()),
                ("Endpoint for OM", self.addresses.block.to_string()),
                ("Endpoint for DataNodes", self.addresses.datanode.to_string()),
                (
                    "Deletion log",
                    format!("{} transactions, {} blocks", deletions.transactions, deletions.blocks),
                ),
                (
                    "Commands queued",
                    format!("{}, {} dropped", core.commands.len(), core.commands.dropped()),
                ),
                ("Uptime", format!("{} s", core.clock.uptime() / 1_000)),
            ],
        )
    }

    fn rules(&self) -> Section {
        let rules = self.core.cluster().safe_mode_rules();
        let rows = rules.into_iter().map(|r| {
            vec![r.name.to_owned(), if r.holds { "yes" } else { "no" }.to_owned(), r.text]
        });
        Section::table("Safe mode rules", &["rule", "holds", "figures"], rows.collect())
    }

    fn nodes(&self) -> Section {
        let cluster = self.core.cluster();
        let now = self.core.clock.now();
        let rows = cluster.nodes.iter().take(ROWS).map(|n| {
            let id = n.details.id;
            let total = n.total();
            vec![
                id.to_string(),
                format!("{} ({})", n.details.host, n.details.ip),
                n.health.to_string(),
                format!("{} ms ago", now.saturating_sub(n.last_heartbeat)),
                format!("{} of {}", n.healthy_disks(), n.storage.len()),
                format!("{} of {} MiB", total.used >> 20, total.capacity >> 20),
                cluster.pipelines.of_node(id).len().to_string(),
                cluster.replicas.count_on(id).to_string(),
            ]
        });
        Section::table(
            "DataNodes",
            &["id", "host", "health", "heartbeat", "disks", "used", "pipelines", "containers"],
            rows.collect(),
        )
    }

    fn pipelines(&self) -> Section {
        let cluster = self.core.cluster();
        let rows = cluster.pipelines.iter().take(ROWS).map(|e| {
            let p = &e.record;
            vec![
                p.id.to_string(),
                p.config.to_string(),
                p.storage_type.to_string(),
                format!("{:?}", p.state).to_uppercase(),
                p.leader.map(|l| l.to_string()).unwrap_or_default(),
                p.members.iter().map(|m| m.host.as_str()).collect::<Vec<_>>().join(", "),
                cluster.containers.open(p.id).len().to_string(),
            ]
        });
        Section::table(
            "Pipelines",
            &["id", "replication", "disks", "state", "leader", "members", "open containers"],
            rows.collect(),
        )
    }

    /// Nodes that leave service, and their obstacles.
    fn leaving(&self) -> Section {
        let cluster = self.core.cluster();
        let nodes = cluster.nodes.iter().filter(|n| n.leaving_since.is_some()).take(LEAVING_ROWS);
        let rows = nodes.map(|n| {
            let id = n.details.id;
            let progress = cluster.leaving_progress(id);
            let none = String::new;
            vec![
                format!("{id} ({})", n.details.host),
                n.details.op_state.to_wire().as_str_name().to_owned(),
                readable_bytes(progress.bytes_done),
                readable_bytes(progress.bytes_left),
                progress.bytes_per_second.map_or_else(none, readable_bytes),
                progress.left.map_or_else(none, |ms| readable_duration(Duration::from_millis(ms))),
                cluster.destination(id).map_or_else(|| "any".to_owned(), |to| to.to_string()),
                progress.blocked_by.map_or_else(none, |what| what.to_string()),
            ]
        });
        let columns =
            ["datanode", "state", "elsewhere", "left", "a second", "takes", "goes to", "waits for"];
        Section::table("DataNodes that leave", &columns, rows.collect())
    }

    fn containers(&self) -> Section {
        let cluster = self.core.cluster();
        let facts = STATES.map(|s| (s.as_str_name(), cluster.containers.count(s).to_string()));
        Section::facts("Containers", facts)
    }
}

impl StatusPage for Status {
    fn title(&self) -> String {
        format!("Storage Container Manager {}", self.core.identity.host)
    }

    fn trouble(&self) -> Option<String> {
        let log = || self.log.trouble().map(|why| format!("raft log cannot be written: {why}"));
        self.supervisor.health().trouble().or_else(log)
    }

    fn sections(&self) -> Vec<Section> {
        vec![
            self.facts(),
            self.rules(),
            self.nodes(),
            self.pipelines(),
            self.containers(),
            Section::background(&self.core.services.list()),
            Section::rpc("Calls of clients", &self.core.metrics.client),
            Section::rpc("Calls of OM", &self.core.metrics.block),
            Section::rpc("Calls of DataNodes", &self.core.metrics.datanode),
        ]
    }

    fn slow_sections(&self) -> BoxFuture<'_, Vec<Section>> {
        Box::pin(async {
            let mut sections = Section::deletions(&deletion::status(&self.core));
            sections.push(self.leaving());
            sections
        })
    }
}
