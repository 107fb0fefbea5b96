//! `o3 config`: every key with its value, type, default, documentation and origin.

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use config::renamed::current;
use config::{Configuration, Entry, Origin, keys, reference};
use serde_json::{Value, json};

use crate::print;
use crate::settings::Settings;

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// List keys with their values and origins
    #[command(after_help = "Examples:\n  \
        o3 config list                      every key\n  \
        o3 config list --set                only keys that are set\n  \
        o3 config list safemode             keys with 'safemode' in their name\n  \
        o3 config list --conf /etc/ozone --json | jq '.[].key'")]
    List(ListArgs),
    /// Print the value of one key
    #[command(after_help = "Examples:\n  \
        o3 config get ozone.om.address\n  \
        o3 config get ozone.scm.container.size --explain\n  \
        o3 config get ozone.om.db.dirs -D 'ozone.om.db.dirs=${env.HOME}/om'")]
    Get(GetArgs),
    /// Print the reference of all keys, or of one, as Markdown
    #[command(after_help = "Examples:\n  \
        o3 config doc ozone.om.address\n  \
        o3 config doc > docs/reference/configuration.md")]
    Doc(DocArgs),
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only keys whose name contains this text
    pattern: Option<String>,
    /// Only keys that are set
    #[arg(long)]
    set: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: Settings,
}

#[derive(Debug, Args)]
pub struct GetArgs {
    /// The key
    key: String,
    /// Also print its type, default, origin and documentation
    #[arg(long)]
    explain: bool,
    /// Print all information as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: Settings,
}

#[derive(Debug, Args)]
pub struct DocArgs {
    /// Only this key
    key: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(command: ConfigCommand) -> anyhow::Result<ExitCode> {
    match command {
        ConfigCommand::List(args) => list(&args),
        ConfigCommand::Get(args) => get(&args),
        ConfigCommand::Doc(args) => doc(&args),
    }
}

fn list(args: &ListArgs) -> anyhow::Result<ExitCode> {
    let conf = args.settings.load_and_warn()?;
    let entries: Vec<Entry> = conf
        .entries()
        .into_iter()
        .filter(|e| args.pattern.as_ref().is_none_or(|p| e.key.contains(p.as_str())))
        .filter(|e| !args.set || e.origin != Origin::Default)
        .collect();
    if args.json {
        return print::json(&entries.iter().map(entry_json).collect());
    }
    print::out(&table(&entries))
}

/// Formats columns of minimum width: key, value, type, default, origin.
fn table(entries: &[Entry]) -> String {
    let header = ["KEY", "VALUE", "TYPE", "DEFAULT", "FROM"].map(String::from);
    let rows: Vec<[String; 5]> = std::iter::once(header)
        .chain(entries.iter().map(|e| {
            let shown = |s: &str| if s.is_empty() { "-".to_string() } else { s.to_string() };
            let (kind, default) = e.spec.map_or(("unknown", ""), |s| (s.type_name, s.default));
            [e.key.clone(), shown(&e.value), kind.to_string(), shown(default), place(e)]
        }))
        .collect();
    let width = |column: usize| {
        rows.iter().filter_map(|r| r.get(column)).map(|c| c.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..4).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (i, cell) in row.iter().enumerate() {
            let _ = match widths.get(i) {
                Some(width) => write!(line, "{cell:width$}  "),
                None => write!(line, "{cell}"),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The origin of a value, with the deprecated name under which it was set, if any.
fn place(entry: &Entry) -> String {
    match &entry.given_as {
        Some(name) => format!("{} as {name}", entry.origin),
        None => entry.origin.to_string(),
    }
}

fn get(args: &GetArgs) -> anyhow::Result<ExitCode> {
    let conf = args.settings.load()?;
    let entry = conf.entry(&args.key).ok_or_else(|| unknown(&args.key))?;
    if args.json {
        return print::json(&entry_json(&entry));
    }
    if !args.explain {
        return print::out(&format!("{}\n", entry.value));
    }
    let mut text = format!("{} = {}\nfrom: {}\n", entry.key, entry.value, place(&entry));
    if let Some(spec) = entry.spec {
        text.push_str(&reference::entry(spec));
    }
    print::out(&text)
}

fn doc(args: &DocArgs) -> anyhow::Result<ExitCode> {
    let specs: Vec<_> = match &args.key {
        Some(key) => vec![keys::find(current(key)).ok_or_else(|| unknown(key))?],
        None => keys::all().collect(),
    };
    if args.json {
        return print::json(&specs.iter().map(|spec| spec_json(spec)).collect());
    }
    match specs.as_slice() {
        [spec] if args.key.is_some() => print::out(reference::entry(spec).trim_start()),
        _ => print::out(&reference::markdown()),
    }
}

fn unknown(key: &str) -> anyhow::Error {
    match Configuration::suggest(key) {
        Some(meant) => anyhow!("unknown key {key} (did you mean {meant}?)"),
        None => anyhow!("unknown key {key}; see 'o3 config list'"),
    }
}

fn spec_json(spec: &keys::KeySpec) -> Value {
    json!({
        "key": spec.name,
        "type": spec.type_name,
        "default": spec.default,
        "choices": spec.choices,
        "environment": spec.env_name(),
        "roles": spec.tags.iter().map(|tag| reference::role(*tag)).collect::<Vec<_>>(),
        "doc": spec.doc_text(),
    })
}

fn entry_json(entry: &Entry) -> Value {
    let mut whole =
        json!({ "key": entry.key, "value": entry.value, "origin": entry.origin.to_string() });
    if let (Some(name), Some(whole)) = (&entry.given_as, whole.as_object_mut()) {
        whole.insert("givenAs".into(), name.as_str().into());
    }
    if let (Some(spec), Some(whole)) = (entry.spec, whole.as_object_mut())
        && let Value::Object(mut declared) = spec_json(spec)
    {
        // A key of one node of a service has the declaration of the plain key, but its own name.
        declared.remove("key");
        whole.append(&mut declared);
    }
    whole
}
