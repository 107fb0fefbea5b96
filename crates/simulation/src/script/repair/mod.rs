//! Replicas that are lost, damaged or unreachable are recreated, and none that is needed is
//! removed.

mod all_dead;
mod coordinator_killed;
mod copy_meets_log;
mod dead_node;
mod deleted_meanwhile;
mod lacking_member;
mod long_absence;
mod lost_containers;
mod lost_disk;
mod lost_indexes;
mod missed_writes;
mod no_spare_node;
mod undecided;
mod whole_group_away;

use super::Script;

/// The scripts of this subject.
pub const SCRIPTS: &[Script] = &[
    all_dead::SCRIPT,
    coordinator_killed::SCRIPT,
    copy_meets_log::SCRIPT,
    dead_node::SCRIPT,
    deleted_meanwhile::SCRIPT,
    lacking_member::SCRIPT,
    long_absence::SCRIPT,
    lost_containers::SCRIPT,
    lost_disk::SCRIPT,
    lost_indexes::SCRIPT,
    missed_writes::SCRIPT,
    no_spare_node::SCRIPT,
    undecided::SCRIPT,
    whole_group_away::SCRIPT,
];
