//! Erasure codes as in Apache Ozone, and the arithmetic of block groups and stripes.
//!
//! This crate only decides and computes: no files, no runtime, no clock, no randomness, no threads
//! of its own.
//!
//! | module | rule |
//! | --- | --- |
//! | [`scheme`] | supported replications: data, parity, chunk size; Ozone's replica index |
//! | [`layout`] | mapping of a block group to its replicas, and lengths of replicas |
//! | [`codec`] | parity of data cells, at once or incrementally |
//! | [`decoder`] | lost cells from the remaining ones, and verification of the result |
//! | [`kernel`] | the loops over bytes, one for each instruction set, chosen at run time |
//!
//! Start with [`Scheme`], on which every other type is based. A writer uses [`Codec`], a reader and
//! a reconstruction keep one [`Decoder`] for each set of remaining replicas.
//!
//! **Invariant:** the bytes are those of Ozone's own coders and of ISA-L, permanently: replicas
//! written by either of them are decoded together with ours.

// Lengths and offsets come from messages: sums saturate or are checked, and casts define the result
// of an overflow.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss
    )
)]

mod buffers;
pub mod codec;
pub mod decoder;
mod error;
mod galois;
pub mod kernel;
pub mod layout;
mod matrix;
mod replica_index;
pub mod scheme;
mod slices;

pub use codec::Codec;
pub use decoder::Decoder;
pub use error::{Error, ErrorKind};
pub use layout::{BlockGroup, CellLengths};
pub use replica_index::ReplicaIndex;
pub use scheme::Scheme;
