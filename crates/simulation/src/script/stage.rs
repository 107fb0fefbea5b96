//! Operations of every script: it starts, ends, damages and isolates servers, lets time pass, and
//! checks expectations.
//!
//! A server that ends by itself is restarted, as by a service manager; one that the script ended
//! stays stopped until the script starts it.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail, ensure};

use super::Server;
use crate::scenario::fleet::{Fleet, Run};
use crate::scenario::{now, sleep};
use crate::world::clock::{Clock, SECOND};
use crate::world::disk;
use crate::world::disk::damage::{self, Part};
use crate::world::node::{self, End};
use crate::world::random::Random;
use crate::world::world;

/// Maximum drift of clocks, in millionths.
const MAX_DRIFT_PPM: u64 = 200;

/// A duration of `count` minutes.
pub const fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}

/// A duration of `count` seconds.
pub const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// The machines of a script, each with one server.
#[derive(Default)]
pub struct Machines {
    fleet: Fleet,
    servers: Vec<Server>,
    /// True for each server that should run.
    wanted: Vec<bool>,
    /// Number of servers' unexpected ends.
    pub restarts: usize,
}

impl Machines {
    /// Adds one with a server, which does not run yet.
    pub fn add(&mut self, server: Server, random: &mut Random, run: Run) {
        let drift = random.below(2 * MAX_DRIFT_PPM) as i64 - MAX_DRIFT_PPM as i64;
        self.fleet.add(server.to_string(), Clock { drift, offset: 0 }, run);
        self.servers.push(server);
        self.wanted.push(false);
    }

    fn at(&self, server: Server) -> anyhow::Result<usize> {
        let found = self.servers.iter().position(|other| *other == server);
        found.with_context(|| format!("there is no {server}"))
    }

    /// The number of a server's machine.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn number(&self, server: Server) -> anyhow::Result<usize> {
        Ok(self.fleet.members[self.at(server)?].machine)
    }

    /// The address of a server's machine.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn address(&self, server: Server) -> anyhow::Result<String> {
        Ok(node::address(self.number(server)?))
    }

    /// The server on the machine of an address.
    pub fn server_at(&self, address: &str) -> Option<Server> {
        let here = |server: &&Server| self.address(**server).is_ok_and(|of| of == address);
        self.servers.iter().find(here).copied()
    }

    /// All servers, in the order in which they came.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// Restarts servers that ended by themselves.
    ///
    /// # Errors
    /// When that cannot be done.
    pub fn tick(&mut self) -> anyhow::Result<()> {
        for (at, is_wanted) in self.wanted.iter().enumerate() {
            if *is_wanted && !self.fleet.runs(at) {
                self.restarts += 1;
                self.fleet.start(at)?;
            }
        }
        Ok(())
    }

    fn end(&mut self, servers: impl IntoIterator<Item = Server>, end: End) -> anyhow::Result<()> {
        for server in servers {
            let at = self.at(server)?;
            self.wanted[at] = false;
            self.fleet.kill(at, end);
        }
        Ok(())
    }

    fn each_link(
        &self,
        one: &[Server],
        other: &[Server],
        mut change: impl FnMut(usize, usize),
    ) -> anyhow::Result<()> {
        for (a, b) in one.iter().flat_map(|a| other.iter().map(move |b| (*a, *b))) {
            let (a, b) = (self.number(a)?, self.number(b)?);
            change(a, b);
            change(b, a);
        }
        Ok(())
    }
}

/// The subject of a script.
pub trait Stage: Sized {
    /// Its machines.
    fn machines(&self) -> &Machines;

    /// Its machines, to be changed.
    fn machines_mut(&mut self) -> &mut Machines;

    /// State of all servers, for the text of a failure.
    fn state(&mut self) -> String;

    /// Returns `true` if a server runs.
    fn runs(&self, server: Server) -> bool {
        let machines = self.machines();
        machines.at(server).is_ok_and(|at| machines.fleet.runs(at))
    }

    /// Ends servers as by `kill -9`.
    ///
    /// # Errors
    /// When there is no such server.
    fn kill(&mut self, servers: impl IntoIterator<Item = Server>) -> anyhow::Result<()> {
        self.machines_mut().end(servers, End::Killed)
    }

    /// Takes the power from machines: unsynced data is lost, or a part of it.
    ///
    /// # Errors
    /// When there is no such server.
    fn power_off(&mut self, servers: impl IntoIterator<Item = Server>) -> anyhow::Result<()> {
        self.machines_mut().end(servers, End::PowerLost)
    }

    /// Starts servers that do not run.
    ///
    /// # Errors
    /// When there is no such server.
    fn start(&mut self, servers: impl IntoIterator<Item = Server>) -> anyhow::Result<()> {
        let machines = self.machines_mut();
        for server in servers {
            let at = machines.at(server)?;
            machines.wanted[at] = true;
            machines.fleet.start(at)?;
        }
        Ok(())
    }

    /// Does not restart a server that may end by itself.
    ///
    /// # Errors
    /// When there is no such server.
    fn let_end(&mut self, server: Server) -> anyhow::Result<()> {
        let machines = self.machines_mut();
        let at = machines.at(server)?;
        machines.wanted[at] = false;
        Ok(())
    }

    /// Replaces the disk of a stopped server, or a part of its contents, by nothing.
    ///
    /// # Errors
    /// When it runs.
    fn wipe(&mut self, server: Server, part: Part) -> anyhow::Result<()> {
        if self.runs(server) {
            bail!("{server} runs: its disk cannot be replaced");
        }
        damage::replace(self.machines().number(server)?, part)?;
        Ok(())
    }

    /// Copies a part of the disk of a server, which may run, as of this moment.
    ///
    /// # Errors
    /// When it cannot be copied.
    fn copy(&self, server: Server, part: Part) -> anyhow::Result<()> {
        let number = self.machines().number(server)?;
        damage::copy(number, part, &copy_of(number, part))?;
        Ok(())
    }

    /// Puts the last copy in place of what a server has that does not run.
    ///
    /// # Errors
    /// When it runs.
    fn put_back(&mut self, server: Server, part: Part) -> anyhow::Result<()> {
        if self.runs(server) {
            bail!("{server} runs: its disk cannot be changed");
        }
        let number = self.machines().number(server)?;
        damage::put_back(number, part, &copy_of(number, part))?;
        Ok(())
    }

    /// Starts a server that has to end by itself, and checks that it does and stays stopped.
    ///
    /// # Errors
    /// When it runs.
    fn expect_refusal(&mut self, server: Server, within: Duration) -> anyhow::Result<()> {
        self.start([server])?;
        self.let_end(server)?;
        self.expect(&format!("{server} does not start"), within, |stage| {
            ensure!(!stage.runs(server), "{server} runs");
            Ok(())
        })
    }

    /// Cuts all links between servers of one side and those of the other, both ways.
    ///
    /// # Errors
    /// When there is no such server.
    fn cut(&self, one: &[Server], other: &[Server]) -> anyhow::Result<()> {
        let now = world().now;
        self.machines().each_link(one, other, |from, to| world().links.sever(from, to, now))
    }

    /// Mends the links that [`Stage::cut`] cut.
    ///
    /// # Errors
    /// When there is no such server.
    fn mend(&self, one: &[Server], other: &[Server]) -> anyhow::Result<()> {
        self.machines().each_link(one, other, |from, to| world().links.reconnect(from, to))
    }

    /// Suspends the machine of a server, until it is woken.
    ///
    /// # Errors
    /// When there is no such server.
    fn sleep(&self, server: Server) -> anyhow::Result<()> {
        world().suspend(self.machines().number(server)?);
        Ok(())
    }

    /// Lets a machine go on that is suspended.
    ///
    /// # Errors
    /// When there is no such server.
    fn wake(&self, server: Server) -> anyhow::Result<()> {
        world().resume(self.machines().number(server)?);
        Ok(())
    }

    /// Lets time pass.
    ///
    /// # Errors
    /// When a server that ended by itself cannot be started again.
    fn advance(&mut self, time: Duration) -> anyhow::Result<()> {
        let until = now() + time.as_nanos() as u64;
        while now() < until {
            sleep(SECOND.min(until - now()));
            self.machines_mut().tick()?;
        }
        Ok(())
    }

    /// Waits until a condition holds, checked each second. An `Err` has the current state.
    ///
    /// # Errors
    /// When it does not hold in time: the expectation, the time, and the state of all.
    fn expect<T>(
        &mut self,
        what: &str,
        within: Duration,
        mut holds: impl FnMut(&mut Self) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let begun = now();
        loop {
            let error = match holds(self) {
                Ok(so) => {
                    let restarts = self.machines().restarts;
                    ensure!(restarts == 0, "servers ended by themselves {restarts} times: {what}");
                    return Ok(so);
                }
                Err(error) => error,
            };
            if now() >= begun + within.as_nanos() as u64 {
                return Err(failure(self, what, within, begun, &error));
            }
            self.advance(seconds(1))?;
        }
    }

    /// Checks each second that a condition still holds.
    ///
    /// # Errors
    /// When it does not: the expectation, the time, and the state of all.
    fn expect_always(
        &mut self,
        what: &str,
        during: Duration,
        mut holds: impl FnMut(&mut Self) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let begun = now();
        while now() < begun + during.as_nanos() as u64 {
            if let Err(error) = holds(self) {
                return Err(failure(self, what, during, begun, &error));
            }
            self.advance(seconds(1))?;
        }
        Ok(())
    }
}

/// Destination of a copy of a part of a machine's disk.
fn copy_of(machine: usize, part: Part) -> PathBuf {
    disk::aside(&format!("copy-of-{machine}-{part:?}"))
}

fn failure(
    stage: &mut impl Stage,
    what: &str,
    within: Duration,
    begun: u64,
    error: &anyhow::Error,
) -> anyhow::Error {
    let (from, at) = (begun / SECOND, now() / SECOND);
    let mut state = String::new();
    for server in stage.machines().servers() {
        let runs = if stage.runs(*server) { "runs" } else { "does not run" };
        state += &format!("  {server} {runs}\n");
    }
    state += &format!("  servers ended by themselves {} times\n", stage.machines().restarts);
    state += &stage.state();
    let within = within.as_secs();
    anyhow::anyhow!(
        "expected from second {from} on, within {within} s: {what}\nat second {at}: {error:#}\n{state}"
    )
}
