//! An operator who lets OMs and SCMs join their services and decommissions them, leaders too,
//! during faults.
//!
//! A service begins with three members and has one spare node. The operator adds the spare one, as
//! Ozone's documentation describes: its name is added to the configuration file of all, and it is
//! started with `--bootstrap`. When there are four, any of them is decommissioned. One that rejoins
//! has an empty disk: it has another directory for each of its terms.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use client::{Client, ScmClient};
use multiraft::Membership;

use super::Board;
use super::configuration::{Layout, OMS, SCMS, om_machine, scm_machine};
use crate::scenario::process::on_runtime;
use crate::world::node::address;
use crate::world::random::Random;

/// Between two changes at most, in seconds.
const MAX_INTERVAL: u64 = 20;
/// Time limit for OMs' responses to the operator.
const TIMEOUT: Duration = Duration::from_secs(4);
/// Delay before a retry.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// The service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The OMs.
    Om,
    /// The SCMs.
    Scm,
}

/// A node of a service.
#[derive(Debug, Default)]
pub struct Node {
    /// Number of times it joined; 0 for one of the first members.
    pub term: AtomicU64,
    /// It is no member, and is not to run.
    pub out: AtomicBool,
    /// Its server runs.
    pub runs: AtomicBool,
}

/// The nodes of both services, the spare ones last.
#[derive(Debug)]
pub struct Services {
    oms: Vec<Node>,
    scms: Vec<Node>,
    /// Changes that were made.
    pub joined: AtomicU64,
    /// Members that were removed.
    pub decommissioned: AtomicU64,
}

impl Services {
    /// Three members and a spare node of each.
    pub fn new() -> Self {
        let nodes = |members: usize| -> Vec<Node> {
            let node = |number| Node { out: AtomicBool::new(number == members), ..Node::default() };
            (0..=members).map(node).collect()
        };
        let none = || AtomicU64::new(0);
        Self { oms: nodes(OMS), scms: nodes(SCMS), joined: none(), decommissioned: none() }
    }

    /// The nodes of a service.
    pub fn of(&self, kind: Kind) -> &[Node] {
        match kind {
            Kind::Om => &self.oms,
            Kind::Scm => &self.scms,
        }
    }

    /// Names of the members of a service, and of the node that joins.
    pub fn names(&self, kind: Kind) -> String {
        let name = |(number, _)| name(kind, number);
        let nodes = self.of(kind).iter().enumerate();
        let there = nodes.filter(|(_, node)| !node.out.load(Ordering::Acquire));
        there.map(name).collect::<Vec<_>>().join(",")
    }

    /// Nodes that are out and whose servers still run.
    pub fn lingering(&self) -> Vec<String> {
        let of = |kind| {
            let nodes = self.of(kind).iter().enumerate();
            let lingers =
                |node: &Node| node.out.load(Ordering::Acquire) && node.runs.load(Ordering::Acquire);
            nodes.filter(move |(_, node)| lingers(node)).map(move |(n, _)| name(kind, n))
        };
        of(Kind::Om).chain(of(Kind::Scm)).collect()
    }
}

impl Node {
    /// Waits until it should run; returns its term.
    pub async fn is_in(&self) -> u64 {
        self.runs.store(false, Ordering::Release);
        while self.out.load(Ordering::Acquire) {
            tokio::time::sleep(RETRY_DELAY).await;
        }
        self.runs.store(true, Ordering::Release);
        self.term.load(Ordering::Acquire)
    }

    /// Returns when another term has begun: the operator made sure that the server of this one has
    /// stopped.
    pub async fn is_over(&self, term: u64) {
        while self.term.load(Ordering::Acquire) == term {
            tokio::time::sleep(RETRY_DELAY).await;
        }
    }
}

/// The node id of one.
pub fn name(kind: Kind, number: usize) -> String {
    match kind {
        Kind::Om => format!("om{}", number + 1),
        Kind::Scm => format!("scm{}", number + 1),
    }
}

/// Writes the file that all read at their starts, and again when a member is unknown.
pub fn write_file(path: &Path, services: &Services) -> std::io::Result<()> {
    let property = |key: &str, value: &str| {
        format!("<property><name>{key}</name><value>{value}</value></property>\n")
    };
    let text = [
        "<configuration>\n".to_owned(),
        property("ozone.om.nodes.oms", &services.names(Kind::Om)),
        property("ozone.scm.nodes.scms", &services.names(Kind::Scm)),
        "</configuration>\n".to_owned(),
    ];
    let new = path.with_extension("new");
    std::fs::write(&new, text.concat())?;
    std::fs::rename(new, path)
}

/// Connections to all nodes, members or not.
struct Operator {
    oms: Client,
    scms: ScmClient,
}

impl Operator {
    /// The members of a service as of the last change that any of them reports.
    async fn membership(&self, kind: Kind) -> Option<Membership> {
        match kind {
            Kind::Om => {
                let told = self.oms.om_configurations().await.into_iter();
                let told = told.filter_map(|(_, answer)| answer.ok()?.membership);
                let told = told.filter_map(|bytes| Membership::decode(bytes).ok());
                told.max_by_key(|membership| membership.index)
            }
            Kind::Scm => Membership::decode(self.scms.scm_info().await.ok()?.membership?).ok(),
        }
    }

    /// The index of a change later than `last` since which the node at `host` has a vote, or has
    /// none.
    async fn changed(&self, kind: Kind, last: u64, host: &str, votes: bool) -> Option<u64> {
        let told = self.membership(kind).await.filter(|told| told.index > last)?;
        let at = |address: &str| address.rsplit_once(':').is_some_and(|(h, _)| h == host);
        let has_vote = told.voters().any(|member| at(&member.peer.address));
        (has_vote == votes).then_some(told.index)
    }

    /// Removes a node; returns `true` if that succeeded.
    async fn removes(&self, kind: Kind, number: usize, host: &str) -> bool {
        let name = name(kind, number);
        let refusal = match kind {
            Kind::Om => match self.oms.decommission_om(&name, host).await {
                Ok(answer) if answer.success => return true,
                Ok(answer) => answer.error_msg,
                Err(error) => Some(error.to_string()),
            },
            Kind::Scm => match self.scms.decommission_scm(&name).await {
                Ok(None) => return true,
                Ok(refusal) => refusal,
                Err(error) => Some(error.to_string()),
            },
        };
        tracing::info!(name, refusal, "not decommissioned");
        false
    }
}

/// Host of a node of a service.
fn host(kind: Kind, number: usize) -> String {
    match kind {
        Kind::Om => address(om_machine(number)),
        Kind::Scm => address(scm_machine(number)),
    }
}

/// The operator's process.
pub fn work(layout: &Layout, mut random: Random, board: &Board) {
    let Some((services, file)) = layout.services() else { return };
    on_runtime(async {
        let Some(operator) = connect(layout) else { return };
        // The last observed change of each service: older reports are ignored.
        let mut seen = [0, 0];
        while !board.stop.load(Ordering::Acquire) {
            board.pass(random.below(MAX_INTERVAL)).await;
            let kind = *random.pick(&[Kind::Om, Kind::Scm]);
            let nodes = services.of(kind);
            let is_out = |number: &usize| nodes[*number].out.load(Ordering::Acquire);
            let joins = (0..nodes.len()).find(is_out);
            let number = joins.unwrap_or_else(|| random.below(nodes.len() as u64) as usize);
            let host = host(kind, number);
            let last = &mut seen[usize::from(kind == Kind::Scm)];
            tracing::info!(?kind, number, joins = joins.is_some(), "a change of members begins");
            if joins.is_some() {
                nodes[number].term.fetch_add(1, Ordering::AcqRel);
                nodes[number].out.store(false, Ordering::Release);
                if write_file(file, services).is_err() {
                    board.violations.lock().push("the configuration cannot be written".to_owned());
                }
            } else {
                while !operator.removes(kind, number, &host).await {
                    // It was, when the answer to an earlier attempt was lost.
                    if operator.changed(kind, *last, &host, false).await.is_some() {
                        break;
                    }
                    tokio::time::sleep(RETRY_DELAY).await;
                }
            }
            *last = loop {
                if let Some(index) = operator.changed(kind, *last, &host, joins.is_some()).await {
                    break index;
                }
                tokio::time::sleep(RETRY_DELAY).await;
            };
            if joins.is_some() {
                services.joined.fetch_add(1, Ordering::Relaxed);
            } else {
                nodes[number].out.store(true, Ordering::Release);
                services.decommissioned.fetch_add(1, Ordering::Relaxed);
                if write_file(file, services).is_err() {
                    board.violations.lock().push("the configuration cannot be written".to_owned());
                }
            }
            tracing::info!(?kind, number, joins = joins.is_some(), "a change of members is made");
        }
    });
}

fn connect(layout: &Layout) -> Option<Operator> {
    let all = |kind, count| (0..=count).map(|n| name(kind, n)).collect::<Vec<_>>().join(",");
    let conf = layout.client();
    let conf = conf.with("ozone.om.nodes.oms", all(Kind::Om, OMS));
    let conf = conf.with("ozone.scm.nodes.scms", all(Kind::Scm, SCMS));
    let mut options = client::ClientOptions::from_configuration(&conf);
    // A node that is out does not answer.
    options.deadline = TIMEOUT;
    options.attempt_timeout = TIMEOUT / 2;
    let oms = Client::new(options).ok()?;
    Some(Operator { oms, scms: ScmClient::connect(&conf) })
}

/// Shared state of services with an operator.
pub type Shared = Option<(Arc<Services>, Arc<Path>)>;
