//! What the rules found.

/// What a rule found.
#[derive(Default)]
pub struct Findings {
    errors: Vec<String>,
    warnings: Vec<String>,
}

impl Findings {
    /// Adds something that must be mended.
    pub fn error(&mut self, text: impl Into<String>) {
        self.errors.push(text.into());
    }

    /// All that must be mended.
    pub fn errors(&self) -> &[String] {
        &self.errors
    }

    /// Adds something to look at.
    pub fn warning(&mut self, text: impl Into<String>) {
        self.warnings.push(text.into());
    }

    /// All that is to be looked at.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}
