//! One value of the configuration.

use crate::origin::Origin;

/// A value that is set, as written and as resolved.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    pub raw: String,
    pub resolved: String,
    pub origin: Origin,
    /// The name that the key was set by, when it is an old one.
    pub given_as: Option<String>,
}
