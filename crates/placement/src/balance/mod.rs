//! The container balancer: replicas move from nodes that are fuller than the others to those that
//! are emptier, until every node's utilisation is within a threshold of the cluster's.
//!
//! * [`Configuration`]: what an operator asked for. With whether the balancer runs, and which
//!   iteration is next, it is replicated ([`Balancer`]): the next leader goes on.
//! * [`Iteration`]: chooses moves within the limits of one iteration, and counts what became of
//!   them.
//! * [`Moves`](crate::replica::moving::Moves): the moves under way. A move is a copy, behind which
//!   the source is what the replication manager deletes of one replica too many; so all that it
//!   promises of deletions holds for moves too.
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
