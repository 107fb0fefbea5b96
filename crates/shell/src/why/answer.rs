//! Answers of `o3 why`.

use serde_json::{Value, json};

use crate::{ShellError, output};

/// Sentences about a state, and the conditions it waits for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) says: Vec<String>,
    pub(super) waits_for: Vec<String>,
}

impl Answer {
    pub(super) fn say(&mut self, sentence: impl Into<String>) {
        self.says.push(sentence.into());
    }

    pub(super) fn wait_for(&mut self, what: impl Into<String>) {
        self.waits_for.push(what.into());
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = self.says.clone();
        match &self.waits_for[..] {
            [] => lines.push("It waits for nothing.".to_owned()),
            waits => lines.extend(waits.iter().map(|what| format!("Waits for: {what}"))),
        }
        lines
    }

    /// Prints the answer, or with `json` as `{"about":…,"says":[…],"waitsFor":[…]}`.
    ///
    /// # Errors
    /// If standard output fails.
    pub(super) fn print(&self, about: &str, json: bool) -> Result<(), ShellError> {
        if json {
            return output::value(&self.json(about));
        }
        self.lines().into_iter().try_for_each(output::line)
    }

    fn json(&self, about: &str) -> Value {
        json!({ "about": about, "says": self.says, "waitsFor": self.waits_for })
    }
}

/// `1 replica`, `2 replicas`.
pub(super) fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// The first names, and the number of others: `a, b and 3 more`.
pub(super) fn some_of(names: &[String], at_most: usize) -> String {
    let shown = names.iter().take(at_most).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(at_most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_ends_with_what_is_waited_for() {
        let mut answer = Answer::default();
        answer.say("It is so.");
        assert_eq!(answer.lines(), ["It is so.", "It waits for nothing."]);
        answer.wait_for("a copy");
        assert_eq!(answer.lines(), ["It is so.", "Waits for: a copy"]);
        let wanted = json!({ "about": "x", "says": ["It is so."], "waitsFor": ["a copy"] });
        assert_eq!(answer.json("x"), wanted);
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!([count(1, "replica"), count(0, "disk")], ["1 replica", "0 disks"]);
    }

    #[test]
    fn of_many_names_the_first_are_shown() {
        let names = ["a", "b", "c"].map(String::from);
        assert_eq!(some_of(&names, 3), "a, b, c");
        assert_eq!(some_of(&names, 1), "a and 2 more");
        assert_eq!(some_of(&[], 1), "");
    }
}
