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
//! | [`merkle`] | Merkle trees of replicas, and what one lacks that another has |

// Numbers come out of messages, and an entry of the log that panics would do so on every replica:
// sums saturate or are checked, and casts say what becomes of what does not fit.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss
    )
)]

pub mod bcsid;
pub mod checksum;
pub mod chunks;
pub mod deletion;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod merkle;
pub mod segment;
pub mod state;

pub use state::ContainerState;
