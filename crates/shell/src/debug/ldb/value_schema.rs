//! `o3 debug ldb value-schema`.

use clap::Args;
use metastore::OfflineStore;
use serde_json::{Map, Value, json};

use super::check_table;
use super::tables::TableForm;
use crate::{ShellError, output};

/// Print the possible fields of a table's values and their types.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  \
    o3 debug ldb --db /data/om/om.db value-schema --cf keyTable --depth 1")]
pub(super) struct ValueSchema {
    /// Table name.
    #[arg(long = "cf", aliases = ["column_family", "column-family"], value_name = "TABLE")]
    table: String,
    /// Depth within a value, from 0 to 10.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u8).range(0..=10), value_name = "LEVELS")]
    depth: u8,
    /// Schema of a DataNode's database: V1, V2 or V3.
    #[arg(short = 'd', long = "dn-schema", alias = "dnSchema", default_value = "V3", ignore_case = true, value_parser = ["V1", "V2", "V3"])]
    schema: String,
}

/// Runs the command.
pub(super) fn run(args: &ValueSchema, store: &OfflineStore) -> Result<(), ShellError> {
    check_table(store, &args.table)?;
    let form = TableForm::of(store.tables(), &args.table, &args.schema).value;
    output::value(&json!({ form.name(): schema(&form.example(), args.depth) }))
}

fn schema(example: &Value, depth: u8) -> Value {
    match example {
        Value::Bool(_) => "boolean".into(),
        Value::Number(_) => "long".into(),
        Value::String(_) | Value::Null => "String".into(),
        Value::Array(items) => items.first().map_or("struct".into(), |item| schema(item, depth)),
        Value::Object(_) if depth == 0 => "struct".into(),
        Value::Object(fields) => {
            let fields =
                fields.iter().map(|(name, value)| (name.clone(), schema(value, depth - 1)));
            fields.collect::<Map<_, _>>().into()
        }
    }
}
