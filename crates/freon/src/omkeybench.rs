//! `omkeybench`: creates, deletes and lists keys in a mix, like the users of a bucket.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use clap::Args;
use client::{CreateKey, ErrorKind, ListKeys};
use config::Configuration;
use rand::RngExt;

use crate::FreonError;
use crate::args::{RunArgs, TargetArgs, size};
use crate::content::Content;
use crate::live_keys::LiveKeys;
use crate::names::numbered;
use crate::rates::Rates;
use crate::report::Report;
use crate::runner::{Generator, Tally, run_generator};
use crate::target::Target;

/// Operations, by their names in timers and the progress line.
const OPERATIONS: [&str; 3] = ["CREATE", "DELETE", "LIST"];
const CREATE: usize = 0;
const DELETE: usize = 1;
const LIST: usize = 2;

/// Shares of the operations, in the order of [`OPERATIONS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weights([u32; 3]);

/// Malformed weights.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum WeightsError {
    #[error("{0} is not an operation with a weight, such as create:20")]
    Form(String),
    #[error("{0} is not an operation (create, delete, list)")]
    Operation(String),
    #[error("create must have a weight: nothing can be deleted or listed without it")]
    NoCreate,
}

impl std::str::FromStr for Weights {
    type Err = WeightsError;

    fn from_str(text: &str) -> Result<Self, WeightsError> {
        let mut weights = [0; 3];
        for part in text.split(',').map(str::trim) {
            let form = || WeightsError::Form(part.to_owned());
            let (name, weight) = part.split_once(':').ok_or_else(form)?;
            let kind = OPERATIONS.iter().position(|known| known.eq_ignore_ascii_case(name));
            let kind = kind.ok_or_else(|| WeightsError::Operation(name.to_owned()))?;
            weights[kind] = weight.parse::<u16>().map_err(|_| form())?.into();
        }
        match weights[CREATE] {
            0 => Err(WeightsError::NoCreate),
            _ => Ok(Self(weights)),
        }
    }
}

impl Weights {
    /// The operation selected by a number below the sum of all weights.
    fn operation(self, mut dice: u32) -> usize {
        for (kind, weight) in self.0.into_iter().enumerate() {
            if dice < weight {
                return kind;
            }
            dice -= weight;
        }
        CREATE
    }

    fn sum(self) -> u32 {
        self.0.iter().fold(0, |sum, weight| sum.saturating_add(*weight))
    }
}

/// Create, delete and list keys in a weighted mix. Keys are named by their numbers, 19 digits long,
/// below the prefix if there is one. A deletion takes a random key that the run created; a listing
/// starts at one. Both are skipped if there is none. Keys above --max-live-keys are also created,
/// and never deleted.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  \
    o3 freon omkeybench --duration 10m -t 100 --weights create:20,delete:8,list:1 \
    --max-live-keys 25000")]
pub struct Omkeybench {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    target: TargetArgs,
    /// Operations and their weights.
    #[arg(long, default_value = "create:1,delete:1,list:1", value_name = "WEIGHTS")]
    weights: Weights,
    /// Number of keys per page of a listing.
    #[arg(long, default_value_t = 1000, value_name = "N")]
    batch_size: u32,
    /// Size of a key: 10240, 10KB, 4MB.
    #[arg(short = 's', long, default_value = "0", value_parser = size, value_name = "SIZE")]
    size: u64,
    /// Maximum number of keys kept for deletions and listings.
    #[arg(long, default_value_t = 100_000, value_name = "N")]
    max_live_keys: usize,
}

struct Bench {
    target: Target,
    prefix: String,
    weights: Weights,
    batch: u32,
    content: Content,
    /// Number of the next key. Repeated test numbers do not repeat it: an overwrite would be a
    /// different load than a creation.
    next: AtomicU64,
    live: LiveKeys,
    rates: Rates<3>,
}

/// Runs the generator.
pub(crate) async fn run(args: Omkeybench, conf: &Configuration) -> Result<Report, FreonError> {
    let target = Target::open(args.run.clients, &args.target, conf)?;
    target.ensure().await?;
    let prefix = args.run.prefix.clone();
    let bench = Bench {
        target,
        prefix: prefix.clone(),
        weights: args.weights,
        batch: args.batch_size.max(1),
        content: Content::new(args.size),
        next: AtomicU64::new(0),
        live: LiveKeys::new(args.max_live_keys),
        rates: Rates::new(OPERATIONS, Instant::now()),
    };
    run_generator(&args.run, &prefix, bench).await
}

impl Bench {
    async fn create(&self, test: u64, tally: &mut Tally) -> Result<(), FreonError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let key = CreateKey::new(self.target.path(numbered(&self.prefix, number)));
        self.target.write(test, key, &self.content).await?;
        tally.bytes += self.content.size();
        self.live.add(number);
        Ok(())
    }

    /// Deletes a key; a missing one, which an earlier attempt has deleted, is a success.
    async fn delete(&self, test: u64, number: u64) -> Result<(), FreonError> {
        let path = self.target.path(numbered(&self.prefix, number));
        match self.target.client(test).delete_key(&path).await {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(e.into()),
            _ => Ok(()),
        }
    }

    async fn list(&self, test: u64, from: u64, tally: &mut Tally) -> Result<(), FreonError> {
        let Target { volume, bucket, .. } = &self.target;
        let list = ListKeys::new(volume, bucket).start_after(numbered(&self.prefix, from));
        let page = self.target.client(test).list_key_infos_page(&list, self.batch).await?.0;
        tally.entries += page.len() as u64;
        Ok(())
    }
}

impl Generator for Bench {
    async fn test(&self, number: u64, _: usize, tally: &mut Tally) -> Result<(), FreonError> {
        let kind = self.weights.operation(rand::rng().random_range(0..self.weights.sum()));
        let began = Instant::now();
        match kind {
            DELETE => match self.live.pop() {
                Some(key) => self.delete(number, key).await?,
                None => return Ok(()),
            },
            LIST => match self.live.any() {
                Some(key) => self.list(number, key, tally).await?,
                None => return Ok(()),
            },
            _ => self.create(number, tally).await?,
        }
        tally.timed(OPERATIONS[kind], began);
        self.rates.count(kind);
        Ok(())
    }

    fn status(&self) -> String {
        let (live, limit) = (self.live.count(), self.live.limit());
        let reached = if live >= limit { " [LIMIT_REACHED]" } else { "" };
        let (created, deleted) = (self.rates.done(CREATE), self.rates.done(DELETE));
        let rates = self.rates.line(Instant::now());
        format!("live={live}/{limit} created={created} deleted={deleted}{reached} {rates}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_shares_of_the_operations() {
        let weights: Weights = "create:20,DELETE:8, list:1".parse().unwrap();
        assert_eq!(weights, Weights([20, 8, 1]));
        let mut done = [0; 3];
        (0..weights.sum()).for_each(|dice| done[weights.operation(dice)] += 1);
        assert_eq!(done, [20, 8, 1]);
        assert_eq!("create:3".parse(), Ok(Weights([3, 0, 0])));
    }

    #[test]
    fn weights_that_make_no_sense_are_refused() {
        for wrong in ["", "create", "create:-1", "create:1,list:many", "create:70000"] {
            assert!(matches!(wrong.parse::<Weights>(), Err(WeightsError::Form(_))), "{wrong}");
        }
        let unknown = WeightsError::Operation("rename".to_owned());
        assert_eq!("create:1,rename:2".parse::<Weights>(), Err(unknown));
        assert_eq!("delete:1,list:2".parse::<Weights>(), Err(WeightsError::NoCreate));
    }
}
