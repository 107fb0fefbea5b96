//! `o3 admin mover`.

use std::num::NonZeroU64;

use clap::Args;
use client::MoveOutcome;
use config::{ByteSize, Configuration};
use futures::StreamExt;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::storagepolicy::keys::{Found, keys, usual};
use crate::address::Address;
use crate::{ShellError, output};

/// Number of consecutive keys on wrong disks after which the mover stops.
const HOPELESS: u64 = 10;

/// Move keys to disks that match their storage policy, by rewriting them. A key that is changed
/// concurrently keeps the change.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 admin mover /vol1/bucket1\n  \
    o3 admin mover /vol1/bucket1/logs/ --max-rate 50MB --threads 2")]
pub struct Mover {
    /// A volume, a bucket, or a bucket and a key prefix: /vol1/bucket1/logs/
    address: String,
    /// Move nothing; print what would be moved.
    #[arg(long)]
    dry_run: bool,
    /// Number of keys moved in parallel.
    #[arg(short = 't', long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: u32,
    /// Maximum bytes per second of each key, such as 50MB.
    #[arg(long, value_name = "SIZE")]
    max_rate: Option<ByteSize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Default)]
struct Counts {
    keys: u64,
    moved: u64,
    bytes: u64,
    /// Keys that would be moved, and their bytes.
    due: (u64, u64),
    changed: u64,
    being_written: u64,
    elsewhere: u64,
    elsewhere_in_a_row: u64,
    failed: u64,
}

/// Result for a key.
enum Outcome {
    InPlace,
    Due(u64),
    BeingWritten,
    Ended(MoveOutcome),
    Failed(client::Error),
}

/// Runs the command.
pub(crate) async fn run(args: Mover, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let client = address.client(conf)?;
    let rate = args.max_rate.and_then(|rate| NonZeroU64::new(rate.bytes()));
    let found = keys(&client, &address, usual(conf)?).await?;
    let each = found.map(|found| async {
        let Found { path, storage } = found?;
        let outcome = match storage {
            Err(error) => Outcome::Failed(error),
            Ok(storage) if storage.misplaced() == 0 => Outcome::InPlace,
            Ok(storage) if storage.is_being_written => Outcome::BeingWritten,
            Ok(storage) if args.dry_run => Outcome::Due(storage.misplaced()),
            Ok(storage) => match client.move_to_its_storage(&path, &storage, rate).await {
                Ok(outcome) => Outcome::Ended(outcome),
                Err(error) => Outcome::Failed(error),
            },
        };
        Ok::<_, ShellError>((path, outcome))
    });
    let mut ended = std::pin::pin!(each.buffer_unordered(args.threads as usize));
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
        bar.set_style(style);
    }
    let mut counts = Counts::default();
    while let Some(one) = ended.next().await {
        let (path, outcome) = one?;
        counts.keys += 1;
        counts.note(&path.to_string(), outcome, &bar);
        bar.set_message(counts.line());
        bar.tick();
        if counts.elsewhere_in_a_row >= HOPELESS {
            bar.suspend(|| eprintln!("the disks of the storage policies have no space: giving up"));
            break;
        }
    }
    bar.finish_and_clear();
    match args.json {
        true => output::value(&counts.json())?,
        false => output::line(counts.line())?,
    }
    match (counts.failed, counts.elsewhere) {
        (0, 0) => Ok(()),
        (failed, elsewhere) => Err(ShellError::Refused(format!(
            "{failed} keys failed, {elsewhere} were rewritten but are on disks of another type"
        ))),
    }
}

impl Counts {
    fn note(&mut self, path: &str, outcome: Outcome, bar: &ProgressBar) {
        let say = |what: String| bar.suspend(|| eprintln!("{path}: {what}"));
        match outcome {
            Outcome::InPlace => {}
            Outcome::Due(bytes) => {
                self.due = (self.due.0 + 1, self.due.1.saturating_add(bytes));
            }
            Outcome::BeingWritten => self.being_written += 1,
            Outcome::Ended(MoveOutcome::Moved(bytes)) => {
                self.moved += 1;
                self.bytes = self.bytes.saturating_add(bytes);
                self.elsewhere_in_a_row = 0;
            }
            Outcome::Ended(MoveOutcome::Changed) => self.changed += 1,
            Outcome::Ended(MoveOutcome::Elsewhere) => {
                self.elsewhere += 1;
                self.elsewhere_in_a_row += 1;
                say("no space on disks of its policy, it is on others".to_owned());
            }
            Outcome::Failed(error) => {
                self.failed += 1;
                say(error.to_string());
            }
        }
    }

    fn line(&self) -> String {
        let mut parts = vec![format!("{} keys", self.keys)];
        if self.due.0 > 0 {
            parts.push(format!("{} to move ({} bytes)", self.due.0, self.due.1));
        }
        parts.push(format!("{} moved ({} bytes)", self.moved, self.bytes));
        let rest = [
            (self.changed, "changed concurrently"),
            (self.being_written, "open for writing"),
            (self.elsewhere, "without space on disks of their policy"),
            (self.failed, "failed"),
        ];
        parts.extend(rest.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")));
        parts.join(", ")
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "keys": self.keys, "moved": self.moved, "movedBytes": self.bytes,
            "due": self.due.0, "dueBytes": self.due.1, "changed": self.changed,
            "beingWritten": self.being_written, "elsewhere": self.elsewhere, "failed": self.failed,
        })
    }
}
