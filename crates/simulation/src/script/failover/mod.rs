//! A server that leads, or that clients write through, fails: others continue with all acknowledged
//! data.

mod balancer_goes_on;
mod datanode_back;
mod datanode_killed;
mod follower_unheard;
mod leader_unheard;
mod member_away;
mod member_behind_the_log;
mod members_apart;
mod om_answers_once;
mod om_leader_killed;
mod om_leaders_under_load;
mod om_local_reads;
mod om_reads_anywhere;
mod pipeline_without_power;
mod scm_hands_over;
mod scm_leader_killed;
mod scm_unheard;

use super::Script;

/// The scripts of this subject.
pub const SCRIPTS: &[Script] = &[
    balancer_goes_on::SCRIPT,
    datanode_back::SCRIPT,
    datanode_killed::SCRIPT,
    follower_unheard::SCRIPT,
    leader_unheard::SCRIPT,
    member_away::SCRIPT,
    member_behind_the_log::SCRIPT,
    members_apart::SCRIPT,
    om_answers_once::SCRIPT,
    om_leader_killed::SCRIPT,
    om_leaders_under_load::SCRIPT,
    om_local_reads::SCRIPT,
    om_reads_anywhere::SCRIPT,
    pipeline_without_power::SCRIPT,
    scm_hands_over::SCRIPT,
    scm_leader_killed::SCRIPT,
    scm_unheard::SCRIPT,
];
