//! Repairs of Ozone's that have nothing to repair here.

use clap::Args;

use crate::ShellError;

/// Whatever Ozone's verb takes.
#[derive(Debug, Clone, Args)]
pub struct Inapplicable {
    /// Not looked at.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<String>,
}

/// Says why.
pub(super) fn refuse(why: &str) -> ShellError {
    ShellError::Refused(format!("This does not apply here: {why}."))
}
