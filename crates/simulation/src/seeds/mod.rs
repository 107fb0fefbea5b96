//! From a command line to runs and their sum.

mod fits;
mod many;
mod one;

use std::path::PathBuf;

use clap::{Args, Parser, ValueEnum};

use crate::scenario::nemesis::faults::Faults;
use crate::script;

/// Simulates clusters from seeds.
#[derive(Debug, Parser)]
#[command(name = "simulation")]
pub enum Command {
    /// Runs seeds one after the other; fails when one of them finds something.
    Run(Many),
    /// Runs a script, a directed scenario, with seeds one after the other; fails when something is
    /// not as expected.
    Script(Scripted),
    /// Runs one seed in this process, as `run` does in a process of its own.
    #[command(hide = true)]
    One(One),
}

/// The simulated system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Scenario {
    /// Hosts with several Raft groups of registers.
    Raft,
    /// OMs, SCMs, DataNodes and native clients.
    Cluster,
    /// The state machines of OM and SCM, with losses of power.
    Machines,
    /// An OM, an SCM, seven DataNodes and native clients whose keys are erasure coded.
    Erasure,
    /// An OM, an SCM, DataNodes with several disks, and native clients: whole groups are down,
    /// disks fail separately, DataNodes cannot reach each other.
    Storage,
    /// The servers of `cluster` and S3 gateways, with S3 clients.
    S3,
}

/// Source of settings, in addition to those that a scenario and its faults need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Settings {
    /// Seeds of `cluster` and `storage` draw them from ranges, but for `cluster` with the usual
    /// faults.
    Drawn,
    /// They are the same in all runs: seeds that found something before settings were drawn take
    /// the course of then.
    Usual,
}

/// One seed.
#[derive(Debug, Clone, Args)]
pub struct One {
    /// Scenario to simulate.
    #[arg(long, value_enum, default_value = "raft")]
    scenario: Scenario,
    /// Faults; each scenario has its own.
    #[arg(long, value_enum, default_value = "usual")]
    faults: Faults,
    /// Seed of every choice.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Source of settings.
    #[arg(long, value_enum, default_value = "drawn")]
    settings: Settings,
    /// Simulated seconds of faults, without the time before and after.
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// A file for a line for each pick of a thread, to find where two runs part ways; a run has
    /// millions.
    #[arg(long)]
    picks: Option<PathBuf>,
    /// The simulated second from which on `RUST_LOG` counts. A run that logs may take another
    /// course than one that does not, since some hashes are of addresses. Runs with this option
    /// take the same course up to here: search for a seed with a number that is never reached.
    #[arg(long, default_value_t = 0)]
    log_from: u64,
    /// Directory of the simulated disks.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// A script in place of a scenario and its faults.
    #[arg(long, hide = true)]
    script: Option<String>,
}

/// Several seeds.
#[derive(Debug, Args)]
pub struct Many {
    #[command(flatten)]
    first: One,
    /// Number of seeds, from the first on.
    #[arg(long, default_value_t = 1)]
    count: u64,
    /// Number of parallel runs.
    #[arg(long, default_value_t = 2)]
    jobs: u64,
    /// Something that a result has in its `counts`, such as `containers moved`: it is a failure
    /// when no run of all has counted it. May be given several times.
    #[arg(long, value_name = "NAME")]
    expect: Vec<String>,
}

/// A script.
#[derive(Debug, Args)]
pub struct Scripted {
    /// Names of scripts.
    #[arg(required_unless_present = "list")]
    name: Option<String>,
    /// Prints all scripts, with their subjects.
    #[arg(long)]
    list: bool,
    /// Seed of every choice that the script leaves open.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of seeds, from the first on.
    #[arg(long, default_value_t = 1)]
    count: u64,
    /// Number of parallel runs.
    #[arg(long, default_value_t = 1)]
    jobs: u64,
    /// As of `run`.
    #[arg(long)]
    picks: Option<PathBuf>,
    /// As of `run`.
    #[arg(long, default_value_t = 0)]
    log_from: u64,
}

impl Scripted {
    fn run(self) -> anyhow::Result<bool> {
        let Self { name, list, seed, count, jobs, picks, log_from } = self;
        let Some(name) = name.filter(|_| !list) else {
            script::list();
            return Ok(true);
        };
        let (scenario, faults) = (Scenario::Cluster, Faults::Usual);
        let script = Some(script::find(&name)?.name.to_owned());
        let (settings, seconds, dir) = (Settings::Usual, 0, None);
        let first = One { scenario, faults, seed, settings, seconds, picks, log_from, dir, script };
        many::run(&Many { first, count, jobs, expect: Vec::new() })
    }
}

impl Command {
    /// Does what was asked; false when something was found.
    ///
    /// # Errors
    /// When a run cannot be started.
    pub fn run(self) -> anyhow::Result<bool> {
        match self {
            Self::Run(many) => {
                many.first.scenario.check(many.first.faults)?;
                many::run(&many)
            }
            Self::Script(scripted) => scripted.run(),
            Self::One(one) => one::run(&one),
        }
    }
}
