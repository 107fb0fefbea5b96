//! Erasure codes as Apache Ozone has them, and the arithmetic of block groups and stripes.
//!
//! This crate decides and computes, and does nothing else: no files, no runtime, no clock, no
//! randomness, no threads of its own.
//!
//! | module | rule |
//! | --- | --- |
//! | [`scheme`] | which replications there can be: data, parity, chunk size; Ozone's replica index |
//! | [`layout`] | which replica has which bytes of a block group, and how long replicas are |
//! | [`codec`] | parity of data cells, at once or as the cells come |
//! | [`decoder`] | lost cells from those that are left, and the check of what was decoded |
//! | [`kernel`] | the loops over bytes, one for each instruction set, chosen at run time |
//!
//! Start with [`Scheme`], which every other type is made of. A writer uses [`Codec`], a reader and
//! a reconstruction keep one [`Decoder`] for each set of replicas that are left.
//!
//! **Invariant:** the bytes are those of Ozone's own coders and of ISA-L, for ever: replicas that
//! either of them wrote are decoded together with ours.

// Lengths and offsets come out of messages: sums saturate or are checked, and casts say what
// becomes of what does not fit.
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
