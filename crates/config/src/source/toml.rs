//! TOML with Ozone's names: `"ozone.om.address" = "…"`, or nested tables whose names are joined
//! with dots.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Malformed, Raw, line_of};

pub(super) fn parse(text: &str) -> Result<Vec<Raw>, Malformed> {
    let table = DeTable::parse(text).map_err(|e| Malformed {
        line: line_of(text, e.span().map_or(0, |s| s.start)),
        message: e.message().to_string(),
    })?;
    let mut found = Vec::new();
    walk(text, "", table.get_ref(), &mut found)?;
    // A table is a map: restore the order of the file.
    found.sort_by_key(|raw: &Raw| raw.line);
    Ok(found)
}

fn walk(
    text: &str,
    prefix: &str,
    table: &DeTable<'_>,
    found: &mut Vec<Raw>,
) -> Result<(), Malformed> {
    for (key, value) in table {
        let name = if prefix.is_empty() {
            key.get_ref().to_string()
        } else {
            format!("{prefix}.{}", key.get_ref())
        };
        match value.get_ref() {
            DeValue::Table(inner) => walk(text, &name, inner, found)?,
            _ => {
                let line = line_of(text, value.span().start);
                found.push(Raw { name, value: scalar(text, value, line)?, line });
            }
        }
    }
    Ok(())
}

fn scalar(text: &str, value: &Spanned<DeValue<'_>>, line: usize) -> Result<String, Malformed> {
    Ok(match value.get_ref() {
        DeValue::String(s) => s.to_string(),
        DeValue::Boolean(b) => b.to_string(),
        DeValue::Float(f) => f.as_str().to_string(),
        DeValue::Integer(i) if i.radix() == 10 => i.as_str().to_string(),
        DeValue::Integer(i) => i64::from_str_radix(i.as_str(), i.radix())
            .map_err(|e| Malformed { line, message: e.to_string() })?
            .to_string(),
        DeValue::Array(items) => {
            let items: Result<Vec<String>, Malformed> = items
                .iter()
                .map(|item| scalar(text, item, line_of(text, item.span().start)))
                .collect();
            items?.join(",")
        }
        DeValue::Datetime(d) => d.to_string(),
        DeValue::Table(_) => {
            return Err(Malformed { line, message: "a table inside a list".into() });
        }
    })
}
