//! Blocks: room in an open container, handed out to a writer.

mod allocate;

pub(crate) use allocate::Allocating;
pub use allocate::{Allocation, Exclude, Slot, Wish};
