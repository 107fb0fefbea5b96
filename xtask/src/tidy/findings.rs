//! Errors and warnings of the rules.

/// Errors and warnings of the rules.
#[derive(Default)]
pub struct Findings {
    errors: Vec<String>,
    warnings: Vec<String>,
}

impl Findings {
    /// Adds an error.
    pub fn error(&mut self, text: impl Into<String>) {
        self.errors.push(text.into());
    }

    /// All errors.
    pub fn errors(&self) -> &[String] {
        &self.errors
    }

    /// Adds a warning.
    pub fn warning(&mut self, text: impl Into<String>) {
        self.warnings.push(text.into());
    }

    /// All warnings.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}
