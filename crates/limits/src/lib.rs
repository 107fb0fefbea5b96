//! Bounds on what a peer may cost a server before anything is known of it.
//!
//! * [`Connections`]: how many connections a port has, in all and from one address; a connection
//!   that has said nothing yet gives way to a new one
//! * [`Guarded`]: a socket that fails when its peer is silent or stalls, for protocols of libraries
//! * [`FairSemaphore`]: a bound that is shared fairly among keys (users, addresses), and of which
//!   no key gets everything
//! * [`CallQueue`]: a bound on calls of a kind, in the order of Hadoop's FairCallQueue
//! * [`MemoryBudget`]: the bytes that a process spends on data in flight

mod calls;
mod connections;
mod fair;
mod guarded;
mod memory;
mod options;
mod peer;

pub use calls::{
    Asks, CallQueue, CallQueueOptions, CallQueueStats, Identity, OptionsError, Permit, Rank,
    Refused, Shares,
};
pub use connections::{ConnectionStats, Connections, Open};
pub use fair::{FairPermit, FairSemaphore};
pub use guarded::Guarded;
pub use memory::{MemoryBudget, MemoryClass, MemoryPermit};
pub use options::ConnectionOptions;
pub use peer::PeerKey;
