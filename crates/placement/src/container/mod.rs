//! Containers: how they close, where they are, and when they go.

pub mod clean;
pub mod close;
mod evidence;
pub mod history;
mod left_over;
pub mod locate;
pub mod reconcilable;

pub use crate::state::container::Usage;
