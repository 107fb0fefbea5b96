//! Rules of containers, blocks and chunks, independent of disks and networks.
//!
//! This crate only decides: no files, no runtime, no clock, no randomness.
//!
//! | module | rule |
//! | --- | --- |
//! | [`checksum`] | checksums of chunks: compute, verify, cut to a part, compute while streaming |
//! | [`state`] | states of a container replica, and the operations allowed in each |
//! | [`chunks`] | valid chunk lists of a PutBlock, and their effect on a block |
//! | [`bcsid`] | block commit sequence ids: does this replica have the reader's commit |
//! | [`segment`] | the file format for packed small blocks |
//! | [`deletion`] | pending work of a deletion transaction |
//! | [`merkle`] | Merkle trees of replicas, and their differences |

// Numbers come from messages, and a log entry that panics would do so on every replica: sums
// saturate or are checked, and casts define the result of an overflow.
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
