//! Blocks: room in an open container, handed out to a writer.

mod allocate;

pub use allocate::{Allocation, Exclude, Slot, Wish};
