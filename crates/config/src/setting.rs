//! One value of the configuration.

use crate::origin::Origin;

/// A value that is set, as written and as resolved.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    pub raw: String,
    pub resolved: String,
    pub origin: Origin,
    /// The name under which the key was set, if that is a deprecated one.
    pub given_as: Option<String>,
}
