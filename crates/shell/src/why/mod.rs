//! `o3 why`: why something is as it is, in words, and what is waited for.
//!
//! * `container.rs`, `datanode.rs`, `safemode.rs`: one question each. What SCM says is gathered
//!   first; the answer is a function of that.
//! * [`Answer`]: sentences, and what is waited for.

mod answer;
mod container;
mod datanode;
mod safemode;

use clap::Subcommand;
use config::Configuration;
use proto::hdds::Node;
use types::DatanodeDetails;

use self::answer::Answer;
use crate::admin::nonsense;
use crate::{ShellError, render};

/// What can be asked about.
#[derive(Debug, Clone, Subcommand)]
pub enum WhyCommand {
    /// Why a container is as it is: its replicas, the nodes that have them, and its pipeline
    Container(container::Container),
    /// Why a DataNode is as it is: whether SCM hears of it, its disks, and what keeps it from
    /// leaving
    Datanode(datanode::Datanode),
    /// Why SCM is in safe mode: what each of its rules waits for, by name
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

/// A DataNode as SCM knows it now.
struct KnownNode {
    details: DatanodeDetails,
    /// HEALTHY, STALE, DEAD, HEALTHY_READONLY.
    health: &'static str,
    /// IN_SERVICE, DECOMMISSIONING and so on.
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

    /// Whether its replicas count: it is heard of and stays.
    fn serves(&self) -> bool {
        self.health == "HEALTHY" && self.operational == "IN_SERVICE"
    }

    /// `HEALTHY`, or with what an operator wants of it, if that is something: `DEAD,
    /// DECOMMISSIONING`.
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
