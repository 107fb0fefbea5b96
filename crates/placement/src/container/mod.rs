//! Containers: how they close, where they are, and when they go.

pub(crate) mod clean;
pub(crate) mod close;
mod evidence;
pub(crate) mod history;
mod holders;
pub(crate) mod last_write;
pub(crate) mod left_over;
pub mod locate;
pub mod reconcilable;

pub(crate) use holders::Holders;

pub use crate::state::container::Usage;

use crate::settings::Settings;
use crate::state::nodes::Nodes;
use crate::state::pipeline::Pipelines;
use crate::state::replica::Replicas;

/// Nodes, the pipelines between them and the replicas on them: the state that rules for a container
/// read in addition to its record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reported<'a> {
    pub settings: &'a Settings,
    pub nodes: &'a Nodes,
    pub pipelines: &'a Pipelines,
    pub replicas: &'a Replicas,
}
