//! Repairs of Ozone that do not apply here.

use clap::Args;

use crate::ShellError;

/// All arguments of Ozone's command.
#[derive(Debug, Clone, Args)]
pub struct Inapplicable {
    /// Ignored.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<String>,
}

/// Returns the reason as an error.
pub(super) fn refuse(why: &str) -> ShellError {
    ShellError::Refused(format!("This does not apply here: {why}."))
}
