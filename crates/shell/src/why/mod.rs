//! `o3 why`: explanations of states in sentences, and the conditions they wait for.
//!
//! * `container.rs`, `datanode.rs`, `safemode.rs`: one question each. SCM's responses are collected
//!   first; the answer is a function of them.
//! * [`Answer`]: sentences, and the conditions waited for.

mod answer;
mod container;
mod datanode;
mod safemode;

use clap::Subcommand;
use config::Configuration;
use proto::hdds::Node;
use types::DatanodeDetails;

use self::answer::Answer;
use crate::admin::scm_client::nonsense;
use crate::{ShellError, render};

/// Subjects of explanations.
#[derive(Debug, Clone, Subcommand)]
pub enum WhyCommand {
    /// Explain the state of a container: its replicas, their nodes, and its pipeline
    Container(container::Container),
    /// Explain the state of a DataNode: its heartbeats, its disks, and what delays its
    /// decommissioning or maintenance
    Datanode(datanode::Datanode),
    /// Explain why SCM is in safe mode: the conditions of each of its rules
    Safemode(safemode::Safemode),
}

/// Answers a question.
pub(crate) async fn run(command: WhyCommand, conf: &Configuration) -> Result<(), ShellError> {
    match command {
        WhyCommand::Container(args) => container::run(args, conf).await,
        WhyCommand::Datanode(args) => datanode::run(args, conf).await,
        WhyCommand::Safemode(args) => safemode::run(args, conf).await,
    }
}

/// Current state of a DataNode in SCM.
struct KnownNode {
    details: DatanodeDetails,
    /// HEALTHY, STALE, DEAD, HEALTHY_READONLY.
    health: &'static str,
    /// IN_SERVICE, DECOMMISSIONING and others.
    operational: &'static str,
    wire: Node,
}

impl KnownNode {
    fn of(wire: Node) -> Result<Self, ShellError> {
        let details = DatanodeDetails::from_wire(&wire.node_id).map_err(nonsense)?;
        let health = render::node::health(&wire);
        let operational = render::node::operational(&wire, &details);
        Ok(Self { details, health, operational, wire })
    }

    /// Returns `true` if its replicas count: it is healthy and in service.
    fn serves(&self) -> bool {
        self.health == "HEALTHY" && self.operational == "IN_SERVICE"
    }

    /// `HEALTHY`, with the operational state if that is not IN_SERVICE: `DEAD, DECOMMISSIONING`.
    fn states(&self) -> String {
        match self.operational {
            "IN_SERVICE" => self.health.to_owned(),
            operational => format!("{}, {operational}", self.health),
        }
    }
}

async fn known_nodes(scm: &client::ScmClient) -> Result<Vec<KnownNode>, ShellError> {
    scm.nodes(None, None).await?.into_iter().map(KnownNode::of).collect()
}
