//! Building blocks of every daemon. Independent of Ozone's terms, except for the names of its
//! files.
//!
//! * [`Shutdown`]: the stop signal of all tasks.
//! * [`Role`] and [`MetricsRegistry`]: the role of a server, and its own set of metrics, even with
//!   several roles in a process.
//! * [`RpcMetrics`]: queue length, queueing and processing time per method.
//! * [`StatusServer`]: `/` for people, `/metrics` and `/prom` for Prometheus, `/status.json` for
//!   scripts.
//! * [`AuditLog`]: one line per operation, written in the background.
//! * [`BackgroundService`]: periodic work, in [`BackgroundServices`] that can list, run and pause
//!   it.
//! * [`Pace`]: throttling of that work in favour of clients.
//! * [`AdminAccess`]: the administrators of the server.
//! * [`Ages`]: ages of increasing numbers.
//! * [`DataDir`] and [`VersionFile`]: a directory that belongs to one process, one cluster and one
//!   layout.
//! * [`Groups`]: users and groups of this machine, from its account files.
//! * [`grpc`]: connections of a gRPC port, within its limits.
//! * [`BindError`]: a port that cannot be bound, with the configuration key of the port.
//! * [`logging`]: structured logs on stderr.

mod admin_access;
mod ages;
pub mod audit;
pub mod background;
mod bind;
pub mod data_dir;
mod groups;
pub mod grpc;
pub mod logging;
pub mod metrics;
mod pace;
mod readable;
mod role;
mod shutdown;
pub mod status;

pub use admin_access::{AccessDenied, AdminAccess, AdminPolicy, Right};
pub use ages::{Age, Ages};
pub use audit::{AuditEvent, AuditLog, AuditOptions};
pub use background::{BackgroundService, BackgroundServices, Progress, ServiceStatus};
pub use bind::BindError;
pub use data_dir::{DataDir, DataDirError, Expected, VersionFile};
pub use groups::{GroupSettings, Groups, own_user};
pub use metrics::{
    Counter, CounterFamily, Gauge, GaugeFamily, Histogram, HistogramFamily, MetricsRegistry,
    RpcCall, RpcMethod, RpcMetrics, Spread, StageMetrics, StagesOfVerb, Took, VerbTimes,
};
pub use pace::{Bounds, ClientLoad, Hours, Pace, PaceError, Portion, Share, Turn};
pub use readable::{readable_bytes, readable_duration};
pub use role::Role;
pub use shutdown::Shutdown;
pub use status::{Section, StatusPage, StatusServer};
