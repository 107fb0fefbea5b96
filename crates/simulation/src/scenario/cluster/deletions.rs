//! Watches the disks of the DataNodes all the time: a replica may be deleted only while the
//! container's required number of others are on nodes that reach SCM.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use super::configuration::{DATANODES, OMS, SCMS};
use super::unhealthy;
use crate::world::clock::SECOND;
use crate::world::{node, world};

/// Between two scans.
const SCAN_INTERVAL: u64 = SECOND;
/// Isolation after which SCM must not count on a node. It is stale after 20 s; the rest is for a
/// deletion that was decided before and arrives late.
const SILENCE: u64 = 60 * SECOND;
/// Replicas of a container that is not erasure coded.
pub const COPIES: usize = 3;

/// A deleted replica.
pub struct Deletion {
    container: u64,
    /// Seconds since the beginning.
    at: u64,
    from: usize,
    /// Reachable nodes with another replica.
    heard: Vec<usize>,
    /// Nodes with another replica that reached no SCM for long.
    unheard: Vec<usize>,
}

/// Observed deletions.
#[derive(Default)]
pub struct Deletions {
    there: BTreeMap<usize, (PathBuf, BTreeSet<u64>)>,
    heard: BTreeMap<usize, u64>,
    gone: Vec<Deletion>,
}

fn machine(datanode: usize) -> usize {
    1 + SCMS + OMS + datanode
}

/// Watches until the world ends.
pub fn begin(deletions: Arc<Mutex<Deletions>>) {
    let next = world().now + SCAN_INTERVAL;
    world().at(next, move |_| {
        deletions.lock().scan();
        begin(deletions);
    });
}

impl Deletions {
    /// Deletions of replicas of these containers that left fewer than `enough`.
    pub fn judge(&self, wanted: &BTreeSet<u64>, enough: usize) -> Vec<String> {
        let few = self.gone.iter().filter(|gone| gone.heard.len() < enough);
        let few = few.filter(|gone| !gone.unheard.is_empty() && wanted.contains(&gone.container));
        let tell = |gone: &Deletion| {
            let Deletion { container, at, from, heard, unheard } = gone;
            format!(
                "at {at} s a replica of container {container} was deleted from DataNode {from}, \
                 with others on {heard:?}, and on {unheard:?}, which no SCM heard for long"
            )
        };
        few.map(tell).collect()
    }

    fn scan(&mut self) {
        let world = world();
        for datanode in 0..DATANODES {
            let here = machine(datanode);
            // It may have been reachable between two scans.
            let ran_until = |machine: usize| {
                let of_machine = world.processes.iter().filter(|p| p.machine == machine);
                of_machine.map(|p| p.ended.unwrap_or(world.now)).max().unwrap_or(0)
            };
            let until = |scm: usize| {
                let open = world.links.open_until(here, scm, world.now);
                open.min(ran_until(here)).min(ran_until(scm))
            };
            let heard = (1..=SCMS).map(until).max().unwrap_or(0);
            let last = self.heard.entry(datanode).or_default();
            *last = heard.max(*last);
        }
        let mut now = BTreeMap::new();
        for datanode in 0..DATANODES {
            let id = |path: PathBuf| path.file_name()?.to_str()?.parse::<u64>().ok();
            let found = unhealthy::directories(datanode).into_iter().filter_map(id).collect();
            now.insert(datanode, (node::home(machine(datanode)), found));
        }
        for (datanode, (home, before)) in &self.there {
            let (home_now, after) = &now[datanode];
            // A process that ended: what a loss of power or of the disk took was not
            // deleted.
            if home != home_now {
                continue;
            }
            for container in before.difference(after) {
                let others: Vec<usize> = (0..DATANODES)
                    .filter(|other| other != datanode && now[other].1.contains(container))
                    .collect();
                let is_heard = |other: &usize| {
                    self.heard.get(other).is_some_and(|at| at + SILENCE > world.now)
                };
                let (heard, unheard) = others.into_iter().partition(is_heard);
                let at = world.now / SECOND;
                let (container, from) = (*container, *datanode);
                self.gone.push(Deletion { container, at, from, heard, unheard });
            }
        }
        self.there = now;
    }
}
