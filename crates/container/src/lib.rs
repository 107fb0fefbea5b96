//! What is true of containers, blocks and chunks, whatever disk or network they live on.
//!
//! This crate decides and does nothing else: no files, no runtime, no clock, no randomness.
//!
//! | module | rule |
//! | --- | --- |
//! | [`checksum`] | checksums of chunks: compute, verify, cut to a part, compute while streaming |
//! | [`state`] | what a container replica may become, and what may be done to it |
//! | [`chunks`] | which chunk lists a PutBlock may carry, and how they change a block |
//! | [`bcsid`] | block commit sequence ids: does this replica know what the reader asks for |
//! | [`segment`] | the file format that small blocks are packed into |
//! | [`deletion`] | what a deletion transaction still has to do |

pub mod bcsid;
pub mod checksum;
pub mod chunks;
pub mod deletion;
pub mod segment;
pub mod state;

pub use state::ContainerState;
