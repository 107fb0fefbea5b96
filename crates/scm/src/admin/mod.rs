//! What administrators, and OM for reading, ask: one file per noun.

pub mod container;
pub mod deletion;
pub mod info;
pub mod node;
pub mod pipeline;
pub mod report;
pub mod safemode;
