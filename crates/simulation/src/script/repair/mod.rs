//! Replicas that are lost, spoiled or away are made again, and none that is needed is removed.

mod dead_node;
mod long_absence;
mod lost_containers;
mod lost_disk;
mod lost_indexes;
mod missed_writes;
mod whole_group_away;

use super::Script;

/// The scripts of this subject.
pub const SCRIPTS: &[Script] = &[
    dead_node::SCRIPT,
    long_absence::SCRIPT,
    lost_containers::SCRIPT,
    lost_disk::SCRIPT,
    lost_indexes::SCRIPT,
    missed_writes::SCRIPT,
    whole_group_away::SCRIPT,
];
