//! Faults of a Raft group: its leader fails, links are cut, logs and disks are lost, members
//! change.

mod all_without_power;
mod behind_the_log;
mod handed_over;
mod leader_cut_off;
mod leader_killed;
mod lost_log;
mod members_change;
mod stale_leader;
mod suspended_leader;
mod wiped;

use super::Script;

/// The scripts of this subject.
pub const SCRIPTS: &[Script] = &[
    all_without_power::SCRIPT,
    behind_the_log::SCRIPT,
    handed_over::SCRIPT,
    leader_cut_off::SCRIPT,
    leader_killed::SCRIPT,
    lost_log::SCRIPT,
    members_change::SCRIPT,
    stale_leader::SCRIPT,
    suspended_leader::SCRIPT,
    wiped::SCRIPT,
];
