//! What tests of several crates need. Nothing that is shipped depends on it.
//!
//! * [`until`], [`until_blocking`], [`ended`]: waiting for a condition; [`Gate`]: a step that takes
//!   as long as the test wants.
//! * [`free_ports`]: ports that stay a server's own while it is down.
//! * [`fail_syncs`], [`delay_syncs`], [`hold_syncs`]: fsyncs of the whole process that fail, take
//!   long or wait for a gate, of RocksDB and the Raft log, too.
//! * [`fail_read`]: a read of the whole process that fails, of the Raft log, too.
//! * [`delay_reads`], [`hold_reads`]: reads of the whole process that take long or wait for a gate,
//!   of RocksDB, too.
//! * [`log`]: what `RUST_LOG` asks to be seen of a test that fails.
//! * [`fuzz`](fn@fuzz): parsers against damaged and made-up bytes.
//! * [`S3Request`]: requests as S3 clients sign them, and such as no client library would send.
//! * [`Extremes`]: messages of every kind with numbers at their limits, made from the declarations.

mod extreme;
mod fuzz;
mod gate;
mod log;
mod ports;
mod reads;
mod s3;
mod schema;
mod syncs;
mod wait;

pub use extreme::{Extremes, Known};
pub use fuzz::{FuzzTarget, fuzz};
pub use gate::Gate;
pub use log::log;
pub use ports::{free_addresses, free_ports};
pub use reads::{DelayedReads, FailingRead, delay_reads, fail_read, hold_reads};
pub use s3::{BegunAnswer, S3Answer, S3Request, S3Signer};
pub use schema::{Field, Kind, Label, Schema};
pub use syncs::{FailingSyncs, delay_syncs, fail_syncs, hold_syncs};
pub use wait::{Condition, LIMIT, ended, until, until_blocking};
