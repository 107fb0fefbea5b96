//! `o3 debug ldb scan`.

use std::fs::File;
use std::io::{BufWriter, Write, stdout};
use std::path::{Path, PathBuf};

use clap::Args;
use metastore::{Cursor, IterRange, OfflineStore};
use serde_json::Value;

use super::check_table;
use super::fields::Fields;
use super::filter::Filter;
use super::tables::{KeyForm, TableForm};
use crate::{ShellError, json, output};

/// Readahead of a scan, in bytes.
const READAHEAD: usize = 1 << 20;

/// Print the rows of a table as JSON, with the field names of Ozone's own tool.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    o3 debug ldb --db /data/om/om.db scan --cf keyTable -l 10\n  \
    o3 debug ldb --db /data/om/om.db scan --cf keyTable -s /vol1/bucket1/a -e /vol1/bucket1/b\n  \
    o3 debug ldb --db /data/om/om.db scan --cf keyTable --filter dataSize:greater:1000000 --fields keyName,dataSize\n  \
    o3 debug ldb --db /data/hdds/CID/DS/container.db scan --cf block_data --cid 1")]
pub(super) struct Scan {
    /// Table name.
    #[arg(long = "cf", aliases = ["column_family", "column-family"], value_name = "TABLE")]
    table: String,
    /// Print a JSON object of key->value pairs (default) instead of a JSON array of only values.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    with_keys: bool,
    /// Maximum number of rows; -1 for all.
    #[arg(short = 'l', long = "limit", alias = "length", default_value_t = -1, allow_negative_numbers = true, value_name = "N")]
    limit: i64,
    /// File to write the rows to, instead of standard output.
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    out: Option<PathBuf>,
    /// Maximum number of rows per file, which are then named FILE.0, FILE.1, ...; 0 for one file.
    #[arg(long, default_value_t = 0, requires = "out", value_name = "N")]
    max_records_per_file: u64,
    /// Key of the first row.
    #[arg(short = 's', long = "startkey", alias = "sk", value_name = "KEY")]
    start: Option<String>,
    /// Key of the last row.
    #[arg(short = 'e', long = "endkey", alias = "ek", value_name = "KEY")]
    end: Option<String>,
    /// Comma-separated fields of each value to print: name,acls.type
    #[arg(long, value_name = "FIELDS")]
    fields: Option<String>,
    /// Print only rows that meet all of <field>:<operator>:<value>,... Operators are EQUALS,
    /// LESSER, GREATER (of numbers, bound included) and REGEX.
    #[arg(long, value_name = "CONDITIONS")]
    filter: Option<String>,
    /// Schema of a DataNode's database: V1, V2 or V3.
    #[arg(short = 'd', long = "dn-schema", alias = "dnSchema", default_value = "V3", ignore_case = true, value_parser = ["V1", "V2", "V3"])]
    schema: String,
    /// Only rows of this container, for a DataNode's database of schema V3.
    #[arg(long = "cid", alias = "container-id", value_name = "ID")]
    container: Option<u64>,
    /// Print only the estimated number of rows.
    #[arg(long, alias = "show-count")]
    count: bool,
    /// Print one line per row.
    #[arg(long)]
    compact: bool,
    /// Accepted for compatibility: rows are read sequentially.
    #[arg(long, value_name = "N")]
    batch_size: Option<u64>,
    /// Accepted for compatibility: rows are read by one thread.
    #[arg(long, value_name = "N")]
    thread_count: Option<u64>,
}

/// Runs the command.
pub(super) fn run(args: &Scan, store: &OfflineStore) -> Result<(), ShellError> {
    check_table(store, &args.table)?;
    if args.count {
        return output::line(store.estimated_rows(&args.table)?.to_string());
    }
    let form = TableForm::of(store.tables(), &args.table, &args.schema);
    let filter = args.filter.as_deref().map(Filter::parse).transpose()?.unwrap_or_default();
    filter.check_fields(&form.value.example())?;
    let fields = args.fields.as_deref().map(Fields::parse).unwrap_or_default();
    let mut rows = Rows::open(args, store, form, filter, fields)?;
    match &args.out {
        None => write_rows(&mut rows, args, u64::MAX, &mut BufWriter::new(stdout().lock()))
            .map_err(|e| e.at("standard output")),
        Some(path) => write_files(&mut rows, args, path),
    }
}

/// The selected rows, in order.
struct Rows<'a> {
    cursor: Cursor<'a>,
    form: TableForm,
    end: Option<Vec<u8>>,
    filter: Filter,
    fields: Fields,
    left: u64,
}

impl<'a> Rows<'a> {
    fn open(
        args: &Scan,
        store: &'a OfflineStore,
        form: TableForm,
        filter: Filter,
        fields: Fields,
    ) -> Result<Self, ShellError> {
        let range = match args.container {
            None => IterRange::all(),
            Some(id) if matches!(form.key, KeyForm::OfContainer(_)) => {
                IterRange::prefix([&id.to_be_bytes()[..], b"|"].concat())
            }
            Some(_) => {
                return Err(ShellError::Usage(
                    "--cid is for tables of a DataNode of schema V3".to_owned(),
                ));
            }
        };
        let parse = |key: &Option<String>| key.as_ref().map(|key| form.key.parse(key)).transpose();
        let (start, end) = (parse(&args.start)?, parse(&args.end)?);
        let mut cursor = store.iter(&args.table, range.background(READAHEAD))?;
        match start {
            Some(start) => cursor.seek(&start),
            None => cursor.first(),
        }
        let left = u64::try_from(args.limit).unwrap_or(u64::MAX);
        Ok(Self { cursor, form, end, filter, fields, left })
    }

    fn next(&mut self) -> Result<Option<(String, Value)>, ShellError> {
        while self.left > 0 {
            let Some((key, value)) = self.cursor.row()? else { return Ok(None) };
            if self.end.as_ref().is_some_and(|end| key > end.as_slice()) {
                return Ok(None);
            }
            let shown_key = self.form.key.show(key);
            let row = self.form.value.show(key, value).map_err(|reason| {
                ShellError::Refused(format!("the row of {shown_key} does not decode: {reason}"))
            })?;
            self.cursor.next();
            if self.filter.accepts(&row) {
                self.left -= 1;
                return Ok(Some((shown_key, self.fields.select(&row))));
            }
        }
        Ok(None)
    }
}

/// Error of a row that cannot be read, or output that cannot be written.
enum Failed {
    Rows(ShellError),
    Output(std::io::Error),
}

impl Failed {
    fn at(self, what: impl ToString) -> ShellError {
        match self {
            Self::Rows(error) => error,
            Self::Output(error) => ShellError::local(what)(error),
        }
    }
}

/// Writes up to `most` rows; returns `true` if the limit was reached.
fn write_rows(
    rows: &mut Rows<'_>,
    args: &Scan,
    most: u64,
    out: &mut impl Write,
) -> Result<(), Failed> {
    let (begin, end) = if args.with_keys { ("{ ", " }\n") } else { ("[ ", " ]\n") };
    out.write_all(begin.as_bytes()).map_err(Failed::Output)?;
    let mut count = 0;
    while count < most {
        let Some((key, value)) = rows.next().map_err(Failed::Rows)? else { break };
        let mut text = String::new();
        if count > 0 {
            text.push_str(", ");
        }
        if args.with_keys {
            text.push_str(&Value::from(key).to_string());
            text.push_str(": ");
        }
        text.push_str(&if args.compact { value.to_string() } else { json::pretty(&value) });
        text.push('\n');
        out.write_all(text.as_bytes()).map_err(Failed::Output)?;
        count += 1;
    }
    out.write_all(end.as_bytes()).and_then(|()| out.flush()).map_err(Failed::Output)
}

fn write_files(rows: &mut Rows<'_>, args: &Scan, path: &Path) -> Result<(), ShellError> {
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        std::fs::create_dir_all(parent).map_err(ShellError::local(parent.display()))?;
    }
    let write = |rows: &mut Rows<'_>, path: &Path, most| {
        let file = File::create(path).map_err(ShellError::local(path.display()))?;
        write_rows(rows, args, most, &mut BufWriter::new(file)).map_err(|e| e.at(path.display()))
    };
    if args.max_records_per_file == 0 {
        return write(rows, path, u64::MAX);
    }
    let mut number = 0_u64;
    while rows.left > 0 && rows.cursor.row()?.is_some() {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number}"));
        write(rows, Path::new(&name), args.max_records_per_file)?;
        number += 1;
    }
    Ok(())
}
