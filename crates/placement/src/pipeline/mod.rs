//! Pipelines: their creation, the choice of their nodes, and their removal.

mod board;
pub(crate) mod close;
pub mod create;
mod ec;
mod rebalance;
pub(crate) mod report;

pub use create::PipelinePlan;

use crate::settings::Settings;
use crate::state::nodes::Nodes;
use crate::state::pipeline::Pipelines;

/// State from which pipelines are planned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Planning<'a> {
    pub settings: &'a Settings,
    pub nodes: &'a Nodes,
    pub pipelines: &'a Pipelines,
}
