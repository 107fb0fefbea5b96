//! Why a message from the wire is not a valid domain value.

/// A message that parsed as protobuf but makes no sense as a domain value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A field that the type cannot do without is absent.
    #[error("{message} lacks {field}")]
    Missing {
        /// Protobuf message name.
        message: &'static str,
        /// Field name.
        field: &'static str,
    },
    /// A field holds a value outside its domain.
    #[error("{message}.{field} is not valid: {value}")]
    Invalid {
        /// Protobuf message name.
        message: &'static str,
        /// Field name.
        field: &'static str,
        /// The value, as text.
        value: String,
    },
}

impl WireError {
    /// A field holds `value`, which is outside its domain.
    pub fn invalid(message: &'static str, field: &'static str, value: impl ToString) -> Self {
        Self::Invalid { message, field, value: value.to_string() }
    }
}
