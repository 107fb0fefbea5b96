//! `--filter`: selection of rows.

use regex::Regex;
use serde_json::Value;

use crate::ShellError;

/// Conditions, all of which a row must meet.
#[derive(Debug, Default)]
pub(super) struct Filter {
    conditions: Vec<Condition>,
}

#[derive(Debug)]
struct Condition {
    path: Vec<String>,
    test: Test,
}

#[derive(Debug)]
enum Test {
    Equals(String),
    Greater(f64),
    Lesser(f64),
    Matches(Regex),
}

impl Filter {
    /// Parses `<field>:<operator>:<value>,...`.
    ///
    /// # Errors
    /// If a condition is malformed.
    pub(super) fn parse(text: &str) -> Result<Self, ShellError> {
        let conditions = text.split(',').map(Condition::parse).collect::<Result<_, _>>()?;
        Ok(Self { conditions })
    }

    /// Returns `true` if a row meets every condition. A row without the field meets it, as in
    /// Ozone: the possible fields of a table are checked before.
    pub(super) fn accepts(&self, row: &Value) -> bool {
        self.conditions.iter().all(|condition| condition.accepts(row, 0))
    }

    /// Rejects conditions on fields that rows like `example` never have.
    ///
    /// # Errors
    /// With the name of the field.
    pub(super) fn check_fields(&self, example: &Value) -> Result<(), ShellError> {
        for condition in &self.conditions {
            let mut at = example;
            for name in &condition.path {
                at = match at {
                    Value::Array(items) => items.first().unwrap_or(&Value::Null),
                    other => other,
                };
                at = match at.get(name) {
                    Some(value) => value,
                    // Names in a map are user-defined.
                    None if at.as_object().is_some_and(serde_json::Map::is_empty) => break,
                    None => {
                        return Err(ShellError::Usage(format!(
                            "Error: Invalid field \"{name}\" passed for filter"
                        )));
                    }
                };
            }
        }
        Ok(())
    }
}

impl Condition {
    fn parse(text: &str) -> Result<Self, ShellError> {
        let malformed = |why: &str| {
            ShellError::Usage(format!(
                "Error: Invalid format for filter \"{text}\" ({why}). Usage: <field>:<operator>:<value>"
            ))
        };
        let mut parts = text.splitn(3, ':');
        let (Some(path), Some(operator), Some(value)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(malformed("expected three parts"));
        };
        let number = || value.parse().map_err(|_| malformed("the value is not a number"));
        let test = match operator.to_ascii_uppercase().as_str() {
            "EQUALS" => Test::Equals(value.to_owned()),
            "GREATER" => Test::Greater(number()?),
            "LESSER" => Test::Lesser(number()?),
            "REGEX" => Test::Matches(Regex::new(value).map_err(|e| malformed(&e.to_string()))?),
            _ => return Err(malformed("the operator is one of EQUALS, LESSER, GREATER, REGEX")),
        };
        Ok(Self { path: path.split('.').map(str::to_owned).collect(), test })
    }

    fn accepts(&self, value: &Value, depth: usize) -> bool {
        if let Value::Array(items) = value {
            return items.iter().any(|item| self.accepts(item, depth));
        }
        match self.path.get(depth) {
            Some(name) => value.get(name).is_none_or(|value| self.accepts(value, depth + 1)),
            None => self.test.accepts(value),
        }
    }
}

impl Test {
    fn accepts(&self, value: &Value) -> bool {
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let number = || text.parse::<f64>().ok();
        match self {
            Test::Equals(wanted) => text == *wanted,
            // Ozone's operator includes the bound.
            Test::Greater(bound) => number().is_some_and(|n| n >= *bound),
            Test::Lesser(bound) => number().is_some_and(|n| n <= *bound),
            Test::Matches(pattern) => pattern.is_match(&text),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Filter;

    #[test]
    fn a_row_meets_every_condition() {
        let row = json!({
            "keyName": "k2", "dataSize": 100, "acls": [{ "name": "ann" }, { "name": "bob" }],
            "isFile": true,
        });
        for (filter, expected) in [
            ("keyName:equals:k2", true),
            ("keyName:equals:k", false),
            ("keyName:regex:^k", true),
            ("keyName:REGEX:^K", false),
            ("dataSize:greater:100", true),
            ("dataSize:greater:101", false),
            ("dataSize:lesser:99", false),
            ("dataSize:lesser:100,keyName:equals:k2", true),
            ("dataSize:lesser:100,keyName:equals:k3", false),
            ("acls.name:equals:bob", true),
            ("acls.name:equals:eve", false),
            ("isFile:equals:true", true),
            ("keyName:greater:1", false),
            ("encInfo:equals:x", true),
        ] {
            assert_eq!(Filter::parse(filter).unwrap().accepts(&row), expected, "{filter}");
        }
        for malformed in ["keyName", "keyName:equals", "a:like:b", "a:regex:(", "a:greater:x"] {
            assert!(Filter::parse(malformed).is_err(), "{malformed}");
        }
        let check = |filter: &str| Filter::parse(filter).unwrap().check_fields(&row).is_ok();
        assert!(check("acls.name:equals:bob"));
        assert!(!check("acls.nosuch:equals:bob"));
        assert!(!check("nosuch:equals:bob"));
    }
}
