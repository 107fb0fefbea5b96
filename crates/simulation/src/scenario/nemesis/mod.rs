//! Fault injection: faults follow each other and overlap, each for a while.

pub mod faults;

use std::collections::BTreeMap;

use self::faults::Kind;
use super::fleet::Fleet;
use super::{now, sleep};
use crate::world::clock::SECOND;
use crate::world::disk::damage::{self, Part};
use crate::world::disk::{Disk, Errors};
use crate::world::link::Delay;
use crate::world::node::End;
use crate::world::random::Random;
use crate::world::world;

/// Severity of the faults.
#[derive(Debug, Clone)]
pub struct FaultPlan {
    /// Between two faults at most, in nanoseconds.
    pub pause: u64,
    /// A fault lasts at most, in nanoseconds.
    pub lasts: u64,
    /// Servers that may be down at the same time.
    pub down: usize,
    /// Kinds of faults, each as often as it is in the list.
    pub kinds: Vec<Kind>,
    /// Servers whose disks may lose what was synced: fewer than half of those that hold the same.
    pub frail: Vec<usize>,
    /// Servers that a long cut parts from others, and those others.
    pub far: (Vec<usize>, Vec<usize>),
}

/// Minimum duration of a long cut.
const MIN_LONG_CUT: u64 = 60 * SECOND;
/// Maximum addition to it.
const LONG_CUT_SPREAD: u64 = 240 * SECOND;

/// Minimum suspension of a machine.
const MIN_SUSPENSION: u64 = 3 * SECOND;
/// Maximum addition to it.
const SUSPENSION_SPREAD: u64 = 20 * SECOND;

enum Repair {
    Start(usize),
    Links,
    Disk(usize),
    Errors(usize),
    Wake(usize),
    Reconnect(Vec<(usize, usize)>),
    /// A server is cut off no more, but without its disk.
    ReconnectWithoutDisk(usize, Vec<(usize, usize)>),
}

/// The faults of one run, active and future ones.
pub struct Nemesis<'a> {
    fleet: &'a mut Fleet,
    plan: FaultPlan,
    random: Random,
    repairs: Vec<(u64, Repair)>,
    faults: BTreeMap<&'static str, usize>,
    /// Machines of clients: links to them may fail, too.
    others: Vec<usize>,
}

impl<'a> Nemesis<'a> {
    /// Faults of servers, and of the links to others.
    pub fn new(fleet: &'a mut Fleet, others: Vec<usize>, plan: FaultPlan, random: Random) -> Self {
        let (repairs, faults) = (Vec::new(), BTreeMap::new());
        Self { fleet, plan, random, repairs, faults, others }
    }

    /// Injects faults for this long; then heals everything and returns the counts.
    pub fn run(mut self, nanos: u64) -> std::io::Result<BTreeMap<&'static str, usize>> {
        let end = now() + nanos;
        let mut next = now() + self.random.below(self.plan.pause) + 1;
        while now() < end {
            self.end_faults(now())?;
            if now() >= next {
                self.inject();
                next = now() + self.random.below(self.plan.pause) + 1;
            }
            sleep(SECOND / 20);
        }
        self.end_faults(u64::MAX)?;
        world().links.heal();
        for number in 0..self.fleet.members.len() {
            let machine = self.fleet.members[number].machine;
            world().machines[machine].disk.crash = None;
        }
        self.fleet.start_all()?;
        Ok(self.faults)
    }

    fn end_faults(&mut self, until: u64) -> std::io::Result<()> {
        // A machine that stopped at a write comes back as well.
        for number in 0..self.fleet.members.len() {
            let awaited =
                |(_, repair): &(u64, Repair)| matches!(repair, Repair::Start(n) if *n == number);
            if !self.fleet.runs(number) && !self.repairs.iter().any(awaited) {
                let at = now() + self.random.below(self.plan.lasts);
                self.repairs.push((at, Repair::Start(number)));
            }
        }
        let (due, left) =
            std::mem::take(&mut self.repairs).into_iter().partition(|(at, _)| *at <= until);
        self.repairs = left;
        let due: Vec<(u64, Repair)> = due;
        for (_, repair) in due {
            match repair {
                Repair::Start(number) => self.fleet.start(number)?,
                Repair::Links => world().links.heal(),
                Repair::Disk(machine) => {
                    let disk = &mut world().machines[machine].disk;
                    let usual = Disk::default();
                    (disk.sync, disk.sync_more) = (usual.sync, usual.sync_more);
                    disk.full = false;
                }
                Repair::Errors(machine) => {
                    world().machines[machine].disk.errors = Errors::default()
                }
                Repair::Wake(machine) => world().resume(machine),
                Repair::Reconnect(links) => reconnect(&links),
                Repair::ReconnectWithoutDisk(number, links) => {
                    self.fleet.kill(number, End::PowerLost);
                    damage::replace(self.fleet.members[number].machine, Part::All)?;
                    reconnect(&links);
                    self.fleet.start(number)?;
                }
            }
        }
        Ok(())
    }

    fn count(&mut self, fault: &'static str) {
        *self.faults.entry(fault).or_default() += 1;
    }

    fn later(&mut self, repair: Repair) {
        let at = now() + self.random.below(self.plan.lasts) + SECOND / 10;
        self.repairs.push((at, repair));
    }

    fn down(&self) -> usize {
        (0..self.fleet.members.len()).filter(|n| !self.fleet.runs(*n)).count()
    }

    fn inject(&mut self) {
        let number = self.random.below(self.fleet.members.len() as u64) as usize;
        let machine = self.fleet.members[number].machine;
        let end = *self.random.pick(&[End::Killed, End::PowerLost]);
        let kind = self.plan.kinds[self.random.below(self.plan.kinds.len() as u64) as usize];
        match kind {
            Kind::Down if self.down() < self.plan.down => {
                self.count(if end == End::Killed { "kill" } else { "power loss" });
                self.fleet.kill(number, end);
                self.later(Repair::Start(number));
            }
            Kind::Crash if self.down() < self.plan.down => {
                self.count("crash at a write");
                let writes = 1 + self.random.below(40);
                world().machines[machine].disk.crash = Some((writes, end));
            }
            Kind::Down | Kind::Crash => {}
            Kind::OneWay => {
                self.count("one-way cut");
                let (others, now) = (self.machines_but(machine), world().now);
                for other in others {
                    if self.random.one_in(2) {
                        world().links.cut(machine, other, now);
                    }
                }
                self.later(Repair::Links);
            }
            Kind::Partition => {
                self.count("partition");
                let (all, now) = (self.machines_but(usize::MAX), world().now);
                let left: Vec<bool> = all.iter().map(|_| self.random.one_in(2)).collect();
                for (a, a_left) in all.iter().zip(&left) {
                    for (b, b_left) in all.iter().zip(&left) {
                        if a_left != b_left {
                            world().links.cut(*a, *b, now);
                        }
                    }
                }
                self.later(Repair::Links);
            }
            Kind::SlowLinks => {
                self.count("slow links");
                let delay = Delay { least: SECOND / 100, more: self.random.below(SECOND) + 1 };
                for other in self.machines_but(machine) {
                    world().links.slow(machine, other, delay);
                }
                self.later(Repair::Links);
            }
            Kind::SlowDisk => {
                self.count("slow disk");
                let disk = &mut world().machines[machine].disk;
                disk.sync = SECOND / 20;
                disk.sync_more = self.random.below(2 * SECOND) + 1;
                self.later(Repair::Disk(machine));
            }
            Kind::FullDisk => {
                self.count("full disk");
                world().machines[machine].disk.full = true;
                self.later(Repair::Disk(machine));
            }
            Kind::Calendar => {
                self.count("calendar jump");
                let hours = self.random.below(4) as i64 - 2;
                world().machines[machine].clock.offset = hours * 1800 * SECOND as i64;
            }
            Kind::LongCut => self.cut_long(),
            Kind::Mangle => {
                self.count("mangled bytes");
                for member in &self.fleet.members {
                    if self.random.one_in(2) {
                        let often = 1 + self.random.below(40);
                        world().links.mangle(machine, member.machine, often);
                        world().links.mangle(member.machine, machine, often);
                    }
                }
                self.later(Repair::Links);
            }
            Kind::Suspend => {
                if self.fleet.runs(number) && world().is_awake(machine) {
                    self.count("suspend");
                    world().suspend(machine);
                    let at = now() + MIN_SUSPENSION + self.random.below(SUSPENSION_SPREAD);
                    self.repairs.push((at, Repair::Wake(machine)));
                }
            }
            kind if kind.is_of_a_process() => {}
            _ => self.damage_disk(kind, end),
        }
    }

    /// Cuts single links for minutes.
    fn cut_long(&mut self) {
        let (near, far) = self.plan.far.clone();
        let long = |(_, repair): &(u64, Repair)| {
            matches!(repair, Repair::Reconnect(_) | Repair::ReconnectWithoutDisk(..))
        };
        if near.is_empty() || self.repairs.iter().any(long) {
            return;
        }
        self.count("long cut");
        let number = *self.random.pick(&near);
        let machine_of = |n: usize| self.fleet.members[n].machine;
        let one = [*self.random.pick(&far)];
        let others = if self.random.one_in(3) { &one[..] } else { &far[..] };
        let there = others.iter().map(|other| (machine_of(number), machine_of(*other)));
        let back = others.iter().map(|other| (machine_of(*other), machine_of(number)));
        let links: Vec<(usize, usize)> = match self.random.below(4) {
            0 => there.collect(),
            1 => back.collect(),
            _ => there.chain(back).collect(),
        };
        let cut_at = world().now;
        for (from, to) in &links {
            world().links.sever(*from, *to, cut_at);
        }
        let at = now() + MIN_LONG_CUT + self.random.below(LONG_CUT_SPREAD);
        let lost = self.plan.frail.contains(&number)
            && self.plan.kinds.contains(&Kind::LostDisk)
            && self.random.one_in(2);
        let repair = match lost {
            true => {
                self.count("long cut, then a lost disk");
                Repair::ReconnectWithoutDisk(number, links)
            }
            false => Repair::Reconnect(links),
        };
        self.repairs.push((at, repair));
    }

    /// A disk that does not keep its promise.
    fn damage_disk(&mut self, kind: Kind, end: End) {
        if self.plan.frail.is_empty() {
            return;
        }
        let number = *self.random.pick(&self.plan.frail);
        let machine = self.fleet.members[number].machine;
        let lost = match kind {
            Kind::LostDisk => Some(("lost disk", Part::All)),
            Kind::LostData => Some(("lost containers", Part::Data)),
            Kind::LostAgain => Some(("disk lost twice", Part::All)),
            Kind::LostLog => Some(("lost log", Part::Log)),
            Kind::LostState => Some(("lost state", Part::State)),
            _ => None,
        };
        let often = 1 + self.random.below(50);
        match kind {
            Kind::SyncErrors | Kind::ReadErrors | Kind::WriteErrors | Kind::WrongWrites => {
                let errors = &mut world().machines[machine].disk.errors;
                let name = match kind {
                    Kind::SyncErrors => {
                        errors.sync = often;
                        "failed fsyncs"
                    }
                    Kind::ReadErrors => {
                        errors.read = often;
                        "failed reads"
                    }
                    Kind::WriteErrors => {
                        errors.write = often;
                        "failed writes"
                    }
                    _ => {
                        (errors.lost, errors.misdirected) = (2 * often, 2 * often);
                        let member = &mut self.fleet.members[number];
                        (member.damaged, member.corrupt) = (true, true);
                        "lost and misdirected writes"
                    }
                };
                self.count(name);
                self.later(Repair::Errors(machine));
                return;
            }
            Kind::RottenBlock | Kind::CutBlock if self.random.one_in(2) => {
                self.spoil_block(kind, number);
                return;
            }
            _ => {}
        }
        // The rest happens to a machine that is off for a moment. The last synced entries of a log
        // are known only while the machine keeps its power (`multiraft/src/log/synced.rs`).
        let end = if kind == Kind::RottenLogEnd { End::Killed } else { end };
        self.fleet.kill(number, end);
        let done = match (kind, lost) {
            (_, Some((name, part))) => {
                let replaced = damage::replace(machine, part);
                replaced.ok().map(|()| (name, String::new()))
            }
            (Kind::RottenBlock | Kind::CutBlock, _) => {
                self.spoil_block(kind, number);
                None
            }
            (Kind::RottenLogEnd, _) => {
                damage::rot_log_end(machine, &mut self.random).map(|at| ("corrupt log end", at))
            }
            _ => damage::rot(machine, &mut self.random).map(|at| ("bit rot", at)),
        };
        if let Some((name, at)) = done {
            tracing::info!(%name, %number, %at, "a disk loses something");
            self.count(name);
            self.fleet.members[number].damaged = true;
            self.fleet.members[number].corrupt |= kind == Kind::Rot;
        }
        match kind {
            Kind::LostAgain => {
                // It comes up, and fails while others still send it the lost entries.
                let writes = 1 + self.random.below(200);
                world().machines[machine].disk.crash = Some((writes, end));
                let _ = self.fleet.start(number);
            }
            _ => self.later(Repair::Start(number)),
        }
    }

    /// Damages a file of blocks.
    fn spoil_block(&mut self, kind: Kind, number: usize) {
        let machine = self.fleet.members[number].machine;
        let (name, done) = match kind {
            Kind::CutBlock => ("cut file", damage::cut_block(machine, &mut self.random)),
            _ => ("rotten block", damage::rot_block(machine, &mut self.random)),
        };
        if let Some(at) = done {
            tracing::info!(%name, %number, %at, "a file of blocks is spoiled");
            self.count(name);
        }
    }

    fn machines_but(&self, machine: usize) -> Vec<usize> {
        let servers = self.fleet.members.iter().map(|m| m.machine);
        servers.chain(self.others.iter().copied()).filter(|m| *m != machine).collect()
    }
}

fn reconnect(links: &[(usize, usize)]) {
    for (from, to) in links {
        world().links.reconnect(*from, *to);
    }
}
