//! Limits on a server's resources per peer, independent of the requests' meaning.
//!
//! * [`Connections`]: number of connections of a port, in total and per address; a connection that
//!   has sent nothing yet is evicted by a new one
//! * [`Guarded`]: a socket that fails if its peer is silent or stalls, for protocols of libraries
//! * [`FairSemaphore`]: a limit that is shared fairly among keys (users, addresses), none of which
//!   can use up everything
//! * [`CallQueue`]: a limit on calls of a kind, in the order of Hadoop's FairCallQueue
//! * [`MemoryBudget`]: the memory of a process for data in flight

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
