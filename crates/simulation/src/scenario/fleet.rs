//! The servers of a scenario: one process on a machine each, started again from its disk.

use std::path::Path;
use std::sync::Arc;

use crate::world::clock::Clock;
use crate::world::disk::damage::{self, Part};
use crate::world::node::{self, End};
use crate::world::world;

/// Number of times a server with a damaged disk may end by itself before the disk is replaced.
const ATTEMPTS: usize = 3;

/// Work of a server's process, given the directory of its data.
pub type Run = Arc<dyn Fn(&Path) + Send + Sync>;

/// A server.
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its machine.
    pub machine: usize,
    /// Its disk lost or damaged something, and was not replaced since.
    pub damaged: bool,
    /// Bits of its files flipped, or writes went wrong.
    pub corrupt: bool,
    /// Number of its unexpected ends since.
    ended: usize,
    /// It was started, and has not been killed.
    up: bool,
    process: Option<usize>,
    run: Run,
}

/// All servers.
#[derive(Default)]
pub struct Fleet {
    /// In the order of their making.
    pub members: Vec<Member>,
}

impl Fleet {
    /// Adds a server on a machine of its own, not started yet.
    pub fn add(&mut self, name: impl Into<String>, clock: Clock, run: Run) -> usize {
        let machine = node::add_machine(clock);
        let name = name.into();
        self.members.push(Member {
            name,
            machine,
            damaged: false,
            corrupt: false,
            ended: 0,
            up: false,
            process: None,
            run,
        });
        self.members.len() - 1
    }

    /// Returns `true` if a server runs.
    pub fn runs(&self, number: usize) -> bool {
        self.members[number].process.is_some_and(|process| world().processes[process].alive)
    }

    /// Starts a server that does not run.
    pub fn start(&mut self, number: usize) -> std::io::Result<()> {
        if self.runs(number) {
            return Ok(());
        }
        let member = &mut self.members[number];
        // A server that cannot run with its damaged disk gets a new one, as from an operator.
        if member.damaged && std::mem::take(&mut member.up) {
            member.ended += 1;
        }
        if member.ended > ATTEMPTS {
            damage::replace(member.machine, Part::All)?;
            (member.damaged, member.ended) = (false, 0);
        }
        let dir = node::home(member.machine);
        std::fs::create_dir_all(&dir)?;
        let run = member.run.clone();
        let (process, _) = node::start(member.machine, &member.name, move || run(&dir));
        (member.process, member.up) = (Some(process), true);
        Ok(())
    }

    /// Starts all that do not run.
    pub fn start_all(&mut self) -> std::io::Result<()> {
        (0..self.members.len()).try_for_each(|number| self.start(number))
    }

    /// Marks damage to disks as repaired.
    pub fn forget_damage(&mut self) {
        for member in &mut self.members {
            (member.damaged, member.corrupt, member.ended) = (false, false, 0);
        }
    }

    /// Ends a server.
    pub fn kill(&mut self, number: usize, end: End) {
        if let Some(process) = self.members[number].process {
            node::kill(process, end);
            self.members[number].up = false;
        }
    }
}
