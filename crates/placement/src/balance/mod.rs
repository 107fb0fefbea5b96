//! The container balancer: replicas move from nodes that are fuller than the others to those that
//! are emptier, until every node's utilisation is within a threshold of the cluster's.
//!
//! * [`Configuration`]: the operator's request. With the flag that says if the balancer runs, and
//!   the number of the next iteration, it is replicated ([`Balancer`]): the next leader continues.
//! * [`Iteration`]: chooses moves within the limits of one iteration, and counts their results.
//! * [`Moves`](crate::replica::moving::Moves): the moves in flight. A move is a copy, after which
//!   the replication manager deletes the source as the surplus replica; so its guarantees for
//!   deletions hold for moves, too.
//!
//! Names, limits and results are those of Ozone's `ContainerBalancer`.

mod candidate;
mod iteration;
mod usage;

pub(crate) use candidate::Balancing;
pub use iteration::{Choice, Iteration, IterationResult, NotBegun, Statistics};

pub use crate::state::balancer::{
    Balancer, Configuration, ConfigurationError, container_ids, names,
};
