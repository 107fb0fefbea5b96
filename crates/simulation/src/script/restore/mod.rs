//! Disks go back in time: an older copy is put in place of what OMs and SCMs have.

mod machine_back;
mod om_log_back;
mod om_tables_back;
mod scm_tables_back;

use super::Script;

/// The scripts of this subject.
pub const SCRIPTS: &[Script] =
    &[machine_back::SCRIPT, om_log_back::SCRIPT, om_tables_back::SCRIPT, scm_tables_back::SCRIPT];
