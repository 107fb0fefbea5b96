//! `--fields`: selection of fields.

use serde_json::{Map, Value};

/// Fields by their paths: `name,acls.type`.
#[derive(Debug, Clone, Default)]
pub(super) struct Fields {
    /// A selected field, with the selected parts of it; none for all of it.
    wanted: Vec<(String, Fields)>,
}

impl Fields {
    /// Parses a comma-separated list.
    pub(super) fn parse(text: &str) -> Self {
        let mut fields = Self::default();
        for path in text.split(',').map(str::trim).filter(|path| !path.is_empty()) {
            fields.add(path);
        }
        fields
    }

    fn add(&mut self, path: &str) {
        let (name, rest) = path.split_once('.').map_or((path, None), |(n, r)| (n, Some(r)));
        let position = self.wanted.iter().position(|(known, _)| known == name);
        let position = position.unwrap_or_else(|| {
            self.wanted.push((name.to_owned(), Self::default()));
            self.wanted.len() - 1
        });
        if let Some(rest) = rest {
            self.wanted[position].1.add(rest);
        }
    }

    /// The selected parts of a value.
    pub(super) fn select(&self, value: &Value) -> Value {
        if self.wanted.is_empty() {
            return value.clone();
        }
        match value {
            Value::Array(items) => items.iter().map(|item| self.select(item)).collect(),
            Value::Object(fields) => {
                let mut shown = Map::new();
                for (name, value) in fields {
                    if let Some((_, parts)) = self.wanted.iter().find(|(wanted, _)| wanted == name)
                    {
                        shown.insert(name.clone(), parts.select(value));
                    }
                }
                shown.into()
            }
            scalar => scalar.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Fields;

    #[test]
    fn only_what_is_wanted_is_shown() {
        let value = json!({ "name": "n", "size": 5, "acls": [{ "type": "USER", "name": "a" }] });
        let shown = |fields| Fields::parse(fields).select(&value);
        assert_eq!(shown("name,acls.type"), json!({ "name": "n", "acls": [{ "type": "USER" }] }));
        assert_eq!(shown("acls"), json!({ "acls": [{ "type": "USER", "name": "a" }] }));
        assert_eq!(shown("acls.type, acls.name"), shown("acls"));
        assert_eq!(shown("nosuch"), json!({}));
        assert_eq!(shown(""), value);
    }
}
