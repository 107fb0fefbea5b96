//! Members of services and DataNodes join and leave.

mod balancer;
mod decommission;
mod decommission_to;
mod om_away;
mod om_gives_up;
mod om_joins;
mod om_killed_while_joining;
mod om_wiped;
mod scm_first_start;
mod scm_joins;
mod scm_wiped;
mod scms_replaced;

use super::Script;

/// The scripts of this subject.
pub const SCRIPTS: &[Script] = &[
    balancer::SCRIPT,
    decommission::SCRIPT,
    decommission_to::SCRIPT,
    om_away::SCRIPT,
    om_gives_up::SCRIPT,
    om_joins::SCRIPT,
    om_killed_while_joining::SCRIPT,
    om_wiped::SCRIPT,
    scm_first_start::SCRIPT,
    scm_joins::SCRIPT,
    scm_wiped::SCRIPT,
    scms_replaced::SCRIPT,
];
