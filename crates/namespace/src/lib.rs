//! The rules of the Ozone Manager: the effects of every command on the tables, and nothing else.
//!
//! A write has two steps. [`prepare`] runs on the leader only: it checks the request,
//! resolves values that depend on time, settings, randomness or the user, and writes them all into
//! the request's own fields, as Ozone does. [`apply`] runs on every replica in log order: it
//! reads a [`View`] of the tables and answers with a response and a list of [`Effect`]s. A read
//! is one step, [`read`] (or [`read_encoded`], which lists keys without building messages).
//!
//! **Architecture invariants.** Nothing here reads a clock, a file, a setting by name or a random
//! number; `apply` depends on the log entry, its position and the view alone, so the same log
//! gives the same tables everywhere. A business error is a response, never an `Err`; the only
//! `Err` of `apply` is a [`ViewError`], upon which the replica must stop. Rows hold Ozone's
//! messages under Ozone's keys ([`tables`]), and never pipelines or tokens.
//!
//! Where to start: [`tables`] for the data, `state/` for access of commands to it, `command/` for
//! the traits of commands, `registry.rs` for the table of all commands, `key/create.rs` and
//! `key/commit.rs` for the life of a key.

// Numbers come out of messages, and an entry of the log that panics would do so on every replica:
// sums saturate or are checked, and casts define the result for values out of range.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss
    )
)]

mod acl;
mod apply;
mod authorizer;
mod bucket;
mod check_access;
mod command;
mod error;
mod file;
mod fso;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod key;
mod multipart;
mod new_key;
mod prepare;
mod quota;
mod read;
mod registry;
mod route;
mod s3secret;
mod service;
mod snapshot;
mod state;
pub mod tables;
mod tagging;
mod upgrade;
mod volume;

pub use apply::{Applied, apply};
pub use command::audit::AuditParams;
pub use error::{OmError, ViewError};
pub use fso::delete::name_in_deleted;
pub use fso::orphan::{
    OrphanChange, Reach, Reaches, delete_orphaned_directory, delete_orphaned_file,
};
pub use key::purge::Purged;
pub use prepare::{Prepared, assign_blocks, prepare, prepare_with};
pub use quota::recount;
pub use read::{read, read_encoded, read_encoded_with, read_with};
pub use registry::Route;
pub use route::{allowed_when_prepared, audit, is_internal, is_read, route};
pub use s3secret::create_s3_secret_request;
pub use snapshot::diff::{DiffEnds, DiffError, FoundEnds, diff, diff_bucket, diff_ends};
pub use snapshot::path::reads_snapshot;
pub use state::chain::{Chains, Layer};
pub use state::context::{BlockDemand, Fresh, PrepareContext, ReadContext, TransactionPosition};
pub use state::effect::Effect;
pub use state::find::bucket::source_bucket;
pub use state::layers::rows::kept_row;
pub use state::locations::{for_each_key_info, for_each_location};
pub use state::names::{validate_bucket_name, validate_key_name, validate_volume_name};
pub use state::overlay::{MemoryTables, Overlay, RowChange};
pub use state::row::Bucket;
pub use state::settings::{AllowedReplications, Authorization, Settings};
pub use state::usage::replicated_size;
pub use state::view::{View, read_snapshots};
pub use tables::Table;
pub use upgrade::{PREPARED_INFO_KEY, parse_prepared_info, prepared_refusal};
pub use volume::create_s3_volume_request;
