//! Replicas of containers: their reports, their counts, and their repair.
//!
//! | files | subject |
//! | --- | --- |
//! | report, reconcile, backoff | what nodes report |
//! | count, ec_count, health, progress | how containers are |
//! | limits, racks, refuses | what nodes can send, get and delete |
//! | repair, urgency | a round over all containers |
//! | full_repair, copy, victim, in_the_way, mend, mending, pair | repair of full copies |
//! | ec_repair, ec_sources, ec_spread, ec_renew, ec_delete | repair of erasure coded containers |
//! | storage_type, wrong_disk, moving | replicas that belong elsewhere |

pub(crate) mod backoff;
mod copy;
pub mod count;
pub mod ec_count;
mod ec_delete;
mod ec_renew;
mod ec_repair;
mod ec_sources;
mod ec_spread;
mod full_repair;
pub mod health;
mod in_the_way;
mod limits;
mod mend;
pub(crate) mod mending;
pub mod moving;
mod order;
mod pair;
pub mod progress;
mod racks;
pub(crate) mod reconcile;
pub(crate) mod refuses;
pub mod repair;
pub(crate) mod report;
pub(crate) mod storage_type;
pub(crate) mod urgency;
mod victim;
mod wrong_disk;

pub use crate::state::pending;

use crate::container::Reported;
use crate::settings::Settings;
use crate::state::container::Containers;
use crate::state::deletion::DeletionLog;
use crate::state::nodes::{Destinations, Nodes};
use crate::state::pending::PendingTasks;
use crate::state::pipeline::Pipelines;
use crate::state::replica::Replicas;
use mending::Mending;
use moving::Moves;
use storage_type::StorageTypeRepairs;
use urgency::Urgency;

/// Nodes, the replicas on them, and pending orders: the state that rules for the replicas of a
/// container read in addition to its record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Replication<'a> {
    pub settings: &'a Settings,
    pub nodes: &'a Nodes,
    pub pipelines: &'a Pipelines,
    pub replicas: &'a Replicas,
    pub pending: &'a PendingTasks,
}

impl<'a> Replication<'a> {
    fn reported(&self) -> Reported<'a> {
        let Self { settings, nodes, pipelines, replicas, .. } = *self;
        Reported { settings, nodes, pipelines, replicas }
    }
}

/// State that the choice of the next repair also reads: replicas that belong elsewhere, and results
/// of the current round over all containers.
#[derive(Debug, Clone, Copy)]
struct Repairing<'a> {
    on: Replication<'a>,
    containers: &'a Containers,
    deletions: &'a DeletionLog,
    moves: &'a Moves,
    destinations: &'a Destinations,
    storage_types: &'a StorageTypeRepairs,
    mending: &'a Mending,
    urgency: &'a Urgency,
}
