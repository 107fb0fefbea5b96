//! Scripts: directed scenarios of the unmodified product, with its own default timeouts, on virtual
//! time. docs/dev/testing.md describes how to write one.
//!
//! * [`stage`]: starts, ends, damages and isolates servers; lets time pass; checks expectations.
//!   Start here.
//! * [`cluster`]: OMs, SCMs and DataNodes. [`hosts`]: a Raft group without them, with the values
//!   that clients put into it ([`ledger`]) and clients that search for stale reads ([`watch`]).
//! * [`keys`]: keys that clients write and read, and their replicas on DataNodes.
//! * [`s3`]: requests of S3 clients to gateways, and its scripts.
//! * [`state`], [`scms`]: reports of servers about themselves and each other.
//! * [`pipelines`]: pipelines, and reports of single DataNodes.
//! * The scripts are in folders by subject, a file each.

mod cluster;
mod disks;
mod failover;
mod hosts;
mod keys;
mod layout;
mod ledger;
mod membership;
mod metrics;
mod operator;
mod pipelines;
mod raft;
mod repair;
mod restore;
mod s3;
mod safe_mode;
mod scms;
mod stage;
mod state;
mod watch;

use std::fmt;

use crate::scenario::Outcome;
use crate::world::world;

/// Imports of scripts.
mod prelude {
    pub use anyhow::{Context, Result, bail, ensure};

    pub use super::Script;
    pub use super::Server;
    pub use super::Server::{Datanode, Host, Om, Scm};
    pub use super::cluster::{Cluster, cluster};
    pub use super::hosts::{Hosts, hosts};
    pub use super::keys::Key;
    pub use super::operator::Clients;
    pub use super::stage::{Stage, minutes, seconds};
    pub use crate::world::disk::damage::Part;
}

/// A scenario that takes its course.
#[derive(Debug, Clone, Copy)]
pub struct Script {
    /// Its folder and file, with `-` for `_`.
    pub name: &'static str,
    /// Its subject, in a line.
    pub about: &'static str,
    /// The script; an `Err` has the failed expectation.
    pub run: fn() -> anyhow::Result<()>,
}

/// A server of a script's cluster, by its number among its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Server {
    /// An SCM.
    Scm(usize),
    /// An OM.
    Om(usize),
    /// A DataNode.
    Datanode(usize),
    /// A host of Raft groups.
    Host(usize),
    /// An S3 gateway.
    Gateway(usize),
}

impl fmt::Display for Server {
    /// Its node id.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scm(number) => write!(f, "scm{}", number + 1),
            Self::Om(number) => write!(f, "om{}", number + 1),
            Self::Datanode(number) => write!(f, "dn{}", number + 1),
            Self::Host(number) => write!(f, "host{}", number + 1),
            Self::Gateway(number) => write!(f, "s3g{}", number + 1),
        }
    }
}

/// All scripts.
fn all() -> impl Iterator<Item = Script> {
    let subjects = [
        failover::SCRIPTS,
        membership::SCRIPTS,
        raft::SCRIPTS,
        repair::SCRIPTS,
        restore::SCRIPTS,
        s3::SCRIPTS,
        safe_mode::SCRIPTS,
    ];
    subjects.into_iter().flatten().copied()
}

/// Prints each script with its subject.
pub fn list() {
    for Script { name, about, .. } in all() {
        println!("{name:<44} {about}");
    }
}

/// The script of a name.
///
/// # Errors
/// When there is none.
pub fn find(name: &str) -> anyhow::Result<Script> {
    let found = all().find(|script| script.name == name);
    found.ok_or_else(|| {
        anyhow::anyhow!("no script is called {name}: see `simulation script --list`")
    })
}

/// Runs a script to its end, or to a failed expectation. The rate at which threads yield is left to
/// the seed.
pub fn run(script: Script) -> Outcome {
    let once_in = *world().random.split().pick(&[0, 16, 64]);
    world().preempt_once_in(once_in);
    let violations = (script.run)().err().map(|error| format!("{}: {error:#}", script.name));
    Outcome { violations: violations.into_iter().collect(), ..Outcome::default() }
}
