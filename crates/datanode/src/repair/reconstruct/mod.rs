//! Rebuilding lost replica indexes of erasure-coded containers, by SCM's order.
//!
//! The DataNode that receives SCM's order is the coordinator. It lists the blocks of the remaining
//! replicas, decodes each stripe of the missing indexes, checks the decoded bytes, and sends them
//! to the targets like any other copy ([`push`](crate::push)); it may be a target itself. All
//! missing indexes are decoded in one pass.
//!
//! | file | subject |
//! | --- | --- |
//! | [`job`] | the order |
//! | [`source`] | a replica that is read from |
//! | [`listing`] | the blocks of all sources, side by side |
//! | [`plan`] | one block: its length, the sources that agree, its rows for the targets |
//! | [`odd`] | errors of a source's block |
//! | [`stripe`] | one stripe: read, decoded, checked |
//! | [`produce`] | all stripes in order, some of them at a time |
//! | [`target`] | the data sent to one target |
//! | [`coordinator`] | a job from the beginning to the end, resumed after interruptions |
//! | [`audit`] | log of results, for operators |
//!
//! # Invariants
//! * **A replica that is not whole is no replica.** Sent data is stored in the target's folder of
//!   arrivals: no client finds it, no scanner reads it, no report names it, nothing closes it. It
//!   is published in one step, as CLOSED. Leftovers of an attempt are removed.
//! * **Nothing is invented.** A stripe is decoded from sources whose bytes match their checksums,
//!   and which agree on the checksums of the whole stripe that the writer stored. Decoded bytes
//!   must match the checksums that the writer stored for them and must encode to the bytes of an
//!   unused source, if there is one.
//! * **Nothing is cut off.** A block that enough sources list is rebuilt, or the job fails. One
//!   that fewer sources list than are needed to read it is skipped and reported: no writer had it
//!   acknowledged, or it was deleted, or it is lost.

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
