//! Rebuilding lost replica indexes of erasure-coded containers, on SCM's word.
//!
//! The DataNode that SCM orders to is the coordinator. It lists the blocks of the replicas that are
//! left, decodes each stripe of the missing indexes, checks what it decoded, and sends it to the
//! targets as any other copy is sent ([`push`](crate::push)), one of which it may be itself. All
//! missing indexes are decoded in one pass.
//!
//! | file | what |
//! | --- | --- |
//! | [`job`] | what was ordered |
//! | [`source`] | a replica that is read from |
//! | [`listing`] | the blocks of all sources, side by side |
//! | [`plan`] | one block: its length, which sources agree, what the targets are told of it |
//! | [`odd`] | why a source is not used for a block |
//! | [`stripe`] | one stripe: read, decoded, checked |
//! | [`produce`] | all stripes in order, some of them at a time |
//! | [`target`] | what is sent to one target |
//! | [`coordinator`] | a job from the beginning to the end, again where it was cut off |
//! | [`audit`] | what became of it, for people |
//!
//! # Invariants
//! * **A replica that is not whole is no replica.** What is sent lies in the target's folder of
//!   arrivals: no client finds it, no scanner reads it, no report names it, nothing closes it. It
//!   is published in one step, as CLOSED. What is left of an attempt is removed.
//! * **Nothing is invented.** A stripe is decoded from sources whose bytes have their checksums,
//!   and which agree on the checksums of the whole stripe that the writer left. What was decoded
//!   must have the checksums that the writer stored for it and must encode to what a source has
//!   that was not used, as far as there is such a one.
//! * **Nothing is cut off.** A block that enough sources list is rebuilt, or the job fails. One
//!   that fewer list than it takes to read it is skipped and named: no writer had it acknowledged,
//!   or it was deleted, or it is lost.

mod audit;
mod coordinator;
mod error;
mod job;
mod listing;
mod odd;
mod plan;
mod produce;
mod source;
mod stripe;
mod target;

pub(crate) use audit::Audit;
pub(crate) use coordinator::{Coordinator, Counts};
pub(crate) use error::{NotOrdered, ReconstructError};
pub(crate) use job::Job;
