//! What goes wrong: faults come one after the other and beside each other, each for a while.

use std::collections::BTreeMap;

use super::fleet::Fleet;
use super::{now, sleep};
use crate::world::clock::SECOND;
use crate::world::link::Delay;
use crate::world::node::End;
use crate::world::random::Random;
use crate::world::world;

/// How bad it gets.
#[derive(Debug, Clone)]
pub struct Weather {
    /// Between two faults at most, in nanoseconds.
    pub pause: u64,
    /// A fault lasts at most, in nanoseconds.
    pub lasts: u64,
    /// Servers that may be down at the same time.
    pub down: usize,
}

impl Default for Weather {
    fn default() -> Self {
        Self { pause: 4 * SECOND, lasts: 8 * SECOND, down: 2 }
    }
}

enum Cure {
    Start(usize),
    Links,
    Disk(usize),
}

/// See the module.
pub struct Storm<'a> {
    fleet: &'a mut Fleet,
    weather: Weather,
    random: Random,
    cures: Vec<(u64, Cure)>,
    faults: BTreeMap<&'static str, usize>,
    /// Machines of clients: links to them may fail, too.
    others: Vec<usize>,
}

impl<'a> Storm<'a> {
    /// A storm over servers, and over the links to others.
    pub fn new(fleet: &'a mut Fleet, others: Vec<usize>, weather: Weather, random: Random) -> Self {
        let (cures, faults) = (Vec::new(), BTreeMap::new());
        Self { fleet, weather, random, cures, faults, others }
    }

    /// Rages for so long; then heals everything and tells what happened.
    pub fn rage(mut self, nanos: u64) -> std::io::Result<BTreeMap<&'static str, usize>> {
        let end = now() + nanos;
        let mut next = now() + self.random.below(self.weather.pause) + 1;
        while now() < end {
            self.cure(now())?;
            if now() >= next {
                self.strike();
                next = now() + self.random.below(self.weather.pause) + 1;
            }
            sleep(SECOND / 20);
        }
        self.cure(u64::MAX)?;
        for number in 0..self.fleet.members.len() {
            let machine = self.fleet.members[number].machine;
            world().machines[machine].disk.crash = None;
        }
        self.fleet.start_all()?;
        Ok(self.faults)
    }

    fn cure(&mut self, until: u64) -> std::io::Result<()> {
        // Who came down by itself, at a write, comes back as well.
        for number in 0..self.fleet.members.len() {
            let awaited = |(_, cure): &(u64, Cure)| matches!(cure, Cure::Start(n) if *n == number);
            if !self.fleet.runs(number) && !self.cures.iter().any(awaited) {
                let at = now() + self.random.below(self.weather.lasts);
                self.cures.push((at, Cure::Start(number)));
            }
        }
        let (due, left) =
            std::mem::take(&mut self.cures).into_iter().partition(|(at, _)| *at <= until);
        self.cures = left;
        let due: Vec<(u64, Cure)> = due;
        for (_, cure) in due {
            match cure {
                Cure::Start(number) => self.fleet.start(number)?,
                Cure::Links => world().links.heal(),
                Cure::Disk(machine) => {
                    let disk = &mut world().machines[machine].disk;
                    let (writes, crash) = (disk.writes, disk.crash);
                    *disk = Default::default();
                    (disk.writes, disk.crash) = (writes, crash);
                }
            }
        }
        Ok(())
    }

    fn count(&mut self, fault: &'static str) {
        *self.faults.entry(fault).or_default() += 1;
    }

    fn later(&mut self, cure: Cure) {
        let at = now() + self.random.below(self.weather.lasts) + SECOND / 10;
        self.cures.push((at, cure));
    }

    fn down(&self) -> usize {
        (0..self.fleet.members.len()).filter(|n| !self.fleet.runs(*n)).count()
    }

    fn strike(&mut self) {
        let number = self.random.below(self.fleet.members.len() as u64) as usize;
        let machine = self.fleet.members[number].machine;
        let end = *self.random.pick(&[End::Killed, End::PowerLost]);
        match self.random.below(10) {
            0 | 1 if self.down() < self.weather.down => {
                self.count(if end == End::Killed { "kill" } else { "power loss" });
                self.fleet.kill(number, end);
                self.later(Cure::Start(number));
            }
            2 | 3 if self.down() < self.weather.down => {
                self.count("crash at a write");
                let writes = 1 + self.random.below(40);
                world().machines[machine].disk.crash = Some((writes, end));
            }
            4 => {
                self.count("one-way cut");
                let others = self.machines_but(machine);
                for other in others {
                    if self.random.one_in(2) {
                        world().links.cut(machine, other);
                    }
                }
                self.later(Cure::Links);
            }
            5 => {
                self.count("partition");
                let all = self.machines_but(usize::MAX);
                let left: Vec<bool> = all.iter().map(|_| self.random.one_in(2)).collect();
                for (a, a_left) in all.iter().zip(&left) {
                    for (b, b_left) in all.iter().zip(&left) {
                        if a_left != b_left {
                            world().links.cut(*a, *b);
                        }
                    }
                }
                self.later(Cure::Links);
            }
            6 => {
                self.count("slow links");
                let delay = Delay { least: SECOND / 100, more: self.random.below(SECOND) + 1 };
                for other in self.machines_but(machine) {
                    world().links.slow(machine, other, delay);
                }
                self.later(Cure::Links);
            }
            7 => {
                self.count("slow disk");
                let disk = &mut world().machines[machine].disk;
                disk.sync = SECOND / 20;
                disk.sync_more = self.random.below(2 * SECOND) + 1;
                self.later(Cure::Disk(machine));
            }
            8 => {
                self.count("full disk");
                world().machines[machine].disk.full = true;
                self.later(Cure::Disk(machine));
            }
            9 => {
                self.count("calendar jump");
                let hours = self.random.below(4) as i64 - 2;
                world().machines[machine].clock.offset = hours * 1800 * SECOND as i64;
            }
            _ => {}
        }
    }

    fn machines_but(&self, machine: usize) -> Vec<usize> {
        let servers = self.fleet.members.iter().map(|m| m.machine);
        servers.chain(self.others.iter().copied()).filter(|m| *m != machine).collect()
    }
}
