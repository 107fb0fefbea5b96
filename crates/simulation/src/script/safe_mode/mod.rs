//! When SCM leaves safe mode.

mod power_loss;

use super::Script;

/// The scripts of this subject.
pub const SCRIPTS: &[Script] = &[power_loss::SCRIPT];
