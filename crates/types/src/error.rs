//! Errors of converting messages from the wire to domain values.

/// A message that is valid protobuf but not a valid domain value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A required field is absent.
    #[error("{message} lacks {field}")]
    Missing {
        /// Protobuf message name.
        message: &'static str,
        /// Field name.
        field: &'static str,
    },
    /// A field has a value outside its domain.
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
    /// A field has `value`, which is outside its domain.
    pub fn invalid(message: &'static str, field: &'static str, value: impl ToString) -> Self {
        Self::Invalid { message, field, value: value.to_string() }
    }
}
