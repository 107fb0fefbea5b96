//! Blocks: handed out, taken back, and the order in which to read them.

pub mod allocate;
pub mod create;
pub mod delete;
mod ids;
pub mod sort;
pub mod tree;
