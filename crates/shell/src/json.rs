//! JSON in the format of Jackson's default pretty printer.
//!
//! Each field of an object is on its own line, arrays continue on the same line, a colon has a
//! space on both sides, and empty objects and arrays contain a space.

use serde_json::Value;

/// Formats a value.
pub(crate) fn pretty(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, 0);
    out
}

/// Formats a value as an element of a top-level array.
pub(crate) fn element(value: &Value) -> String {
    pretty(value)
}

/// Formats a value as a field of a top-level object.
pub(crate) fn field(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, 1);
    out
}

fn indent(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

fn write(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(fields) if fields.is_empty() => out.push_str("{ }"),
        Value::Object(fields) => {
            out.push('{');
            for (number, (name, value)) in fields.iter().enumerate() {
                if number > 0 {
                    out.push(',');
                }
                indent(out, depth + 1);
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push_str(" : ");
                write(out, value, depth + 1);
            }
            indent(out, depth);
            out.push('}');
        }
        Value::Array(items) if items.is_empty() => out.push_str("[ ]"),
        Value::Array(items) => {
            out.push_str("[ ");
            for (number, item) in items.iter().enumerate() {
                if number > 0 {
                    out.push_str(", ");
                }
                write(out, item, depth);
            }
            out.push_str(" ]");
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn it_looks_like_jackson() {
        let value = json!({
            "metadata": {},
            "name": "vol\"1",
            "acls": [{ "aclList": ["READ", "LIST"] }, { "aclList": [] }],
            "link": false,
        });
        let wanted = r#"{
  "metadata" : { },
  "name" : "vol\"1",
  "acls" : [ {
    "aclList" : [ "READ", "LIST" ]
  }, {
    "aclList" : [ ]
  } ],
  "link" : false
}"#;
        assert_eq!(pretty(&value), wanted);
        assert_eq!(pretty(&json!([])), "[ ]");
        assert_eq!(pretty(&json!([{ "a": 1 }])), "[ {\n  \"a\" : 1\n} ]");
        assert_eq!(field(&json!({ "a": 1 })), "{\n    \"a\" : 1\n  }");
    }
}
