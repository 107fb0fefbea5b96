//! A server that leads, or that clients write through, goes: others go on with all that was
//! acknowledged.

mod datanode_killed;
mod om_answers_once;
mod om_leader_killed;
mod scm_hands_over;
mod scm_leader_killed;

use super::Script;

/// The scripts of this subject.
pub const SCRIPTS: &[Script] = &[
    datanode_killed::SCRIPT,
    om_answers_once::SCRIPT,
    om_leader_killed::SCRIPT,
    scm_hands_over::SCRIPT,
    scm_leader_killed::SCRIPT,
];
