//! Pipelines: which are made, of which nodes, and when they go.

mod board;
mod close;
pub mod create;
pub mod ec;
mod rebalance;
mod report;

pub use create::PipelinePlan;
