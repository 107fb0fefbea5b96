//! When SCM leaves safe mode.

mod followers;
mod power_loss;

use super::Script;

/// The scripts of this subject.
pub const SCRIPTS: &[Script] = &[followers::SCRIPT, power_loss::SCRIPT];
