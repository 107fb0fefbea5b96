//! `ommg`: metadata operations.

mod operation;
mod perform;

use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use config::Configuration;
use proto::ozone::Status;

use self::operation::Operation;
use crate::FreonError;
use crate::args::{RunArgs, TargetArgs, size};
use crate::content::Content;
use crate::names::numbered;
use crate::report::Report;
use crate::runner::run_tests;
use crate::target::Target;

/// Metadata operations: create, look up, read and list. Keys are named by their numbers, 19 digits
/// long, below the prefix if there is one. Operations that read keys need --number-of-tests of
/// them, and with --duration read them repeatedly; operations that list need --batch-size of them
/// for each thread. File operations need a bucket with the layout FILE_SYSTEM_OPTIMIZED or LEGACY.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 freon ommg -o CREATE_KEY -n 100000 -t 64 -p run1\n  \
    o3 freon ommg -o HEAD_KEY -n 100000 -t 64 -p run1\n  \
    o3 freon ommg -o MIXED --ops CREATE_KEY,HEAD_KEY --opsnum 16,48 -t 64 --duration 30s")]
pub struct Ommg {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    target: TargetArgs,
    /// Operation to run.
    #[arg(short = 'o', long, value_enum, ignore_case = true)]
    operation: Operation,
    /// With MIXED: the operations.
    #[arg(long, value_enum, value_delimiter = ',', ignore_case = true)]
    ops: Vec<Operation>,
    /// With MIXED: number of threads of each; must add up to --threads.
    #[arg(long, value_delimiter = ',')]
    opsnum: Vec<usize>,
    /// Number of entries per page of a listing.
    #[arg(long, default_value_t = 1000)]
    batch_size: u32,
    /// Pick keys at random instead of in order.
    #[arg(long)]
    random: bool,
    /// Size of a created key: 10240, 10KB, 4MB.
    #[arg(short = 's', long, default_value = "0", value_parser = size, value_name = "SIZE")]
    size: u64,
}

/// The operation of each task.
fn assign(args: &Ommg) -> Result<Vec<Operation>, FreonError> {
    if args.operation != Operation::Mixed {
        return Ok(vec![args.operation; args.run.threads]);
    }
    let total: usize = args.opsnum.iter().sum();
    if args.ops.is_empty() || args.ops.len() != args.opsnum.len() || total != args.run.threads {
        return Err(FreonError::Usage(format!(
            "MIXED needs --ops and --opsnum of equal length, and --opsnum that adds up to --threads \
             {} (it adds up to {total})",
            args.run.threads
        )));
    }
    if args.ops.contains(&Operation::Mixed) {
        return Err(FreonError::Usage("--ops must not contain MIXED".into()));
    }
    Ok(args.ops.iter().zip(&args.opsnum).flat_map(|(op, n)| std::iter::repeat_n(*op, *n)).collect())
}

struct Generator {
    target: Target,
    prefix: String,
    operations: Vec<Operation>,
    random: bool,
    tests: u64,
    batch: u32,
    content: Content,
}

/// Runs the generator.
pub(crate) async fn run(args: Ommg, conf: &Configuration) -> Result<Report, FreonError> {
    let operations = assign(&args)?;
    let target = Target::open(args.run.clients, &args.target, conf)?;
    target.ensure().await?;
    // Unlike in ockg, an empty prefix is valid: reads then find the keys of an earlier run or of
    // Ozone's ommg.
    let prefix = args.run.prefix.clone();
    let generator = Arc::new(Generator {
        target,
        prefix: prefix.clone(),
        operations,
        random: args.random,
        tests: args.run.number_of_tests.max(1),
        batch: args.batch_size.max(1),
        content: Content::new(args.size),
    });
    generator.check_keys().await?;
    run_tests(&args.run, &prefix, move |test, task, mut tally| {
        let generator = generator.clone();
        async move {
            let operation = generator.operations[task];
            let began = Instant::now();
            let result = generator.perform(operation, test, task, &mut tally).await;
            if result.is_ok() {
                tally.timed(operation.name(), began);
            }
            (tally, result)
        }
    })
    .await
}

impl Generator {
    /// Returns an error if keys to be read are missing. Keys that the run itself creates are not
    /// checked.
    async fn check_keys(&self) -> Result<(), FreonError> {
        let Some(reader) = self.operations.iter().find(|operation| operation.reads_key()) else {
            return Ok(());
        };
        if self.operations.iter().any(|operation| operation.creates()) {
            return Ok(());
        }
        let there = async |number| {
            let path = self.target.path(numbered(&self.prefix, number));
            match self.target.client(0).key_info(&path).await {
                Ok(_) => Ok(true),
                Err(error) if error.is_status(Status::KeyNotFound) => Ok(false),
                Err(error) => Err(FreonError::from(error)),
            }
        };
        let present = leading(self.tests, there).await?;
        if present == self.tests {
            return Ok(());
        }
        let name = |number| self.target.path(numbered(&self.prefix, number)).to_string();
        Err(FreonError::Missing {
            operation: reader.name(),
            creator: reader.creator(),
            first: name(0),
            last: name(self.tests - 1),
            missing: name(present),
            present,
            wanted: self.tests,
        })
    }
}

/// The number of existing keys below `count`. All below an existing one exist, because CREATE_KEY
/// creates keys in the order of their numbers, so that a few requests are sufficient.
async fn leading(
    count: u64,
    there: impl AsyncFn(u64) -> Result<bool, FreonError>,
) -> Result<u64, FreonError> {
    let (mut present, mut absent) = (0, count);
    if let Some(last) = count.checked_sub(1)
        && there(last).await?
    {
        return Ok(count);
    }
    while present < absent {
        let middle = present + (absent - present) / 2;
        match there(middle).await? {
            true => present = middle + 1,
            false => absent = middle,
        }
    }
    Ok(present)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn what_is_there_is_counted_with_few_questions() {
        for count in [0, 1, 2, 3, 10, 1000] {
            for present in (0..=count.min(5)).chain([count / 2, count - count.min(1), count]) {
                let asked = Cell::new(0);
                let there = async |number: u64| {
                    assert!(number < count);
                    asked.set(asked.get() + 1);
                    Ok(number < present)
                };
                assert_eq!(leading(count, there).await.unwrap(), present, "of {count}");
                assert!(asked.get() <= 12, "{} of {count}", asked.get());
            }
        }
    }

    #[tokio::test]
    async fn a_failure_is_no_absence() {
        let failed = async |_| Err(FreonError::Usage("no answer".into()));
        assert!(leading(7, failed).await.is_err());
    }
}
