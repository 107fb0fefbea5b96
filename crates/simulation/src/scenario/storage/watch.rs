//! Checks the disks of all DataNodes repeatedly: a closed replica may be removed only while another
//! one of its index exists, and where no disk damages data, no DataNode may find a replica damaged.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use container::ContainerState;
use types::ContainerId;

use crate::scenario::erasure::layout::{Layout, machine, replica_file};
use crate::scenario::now;
use crate::world::clock::SECOND;
use crate::world::node;

/// A replica on a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replica {
    /// Its container.
    pub container: u64,
    /// Its index, 0 for a full copy.
    pub index: u32,
    /// Its state, as its container file has it.
    pub state: ContainerState,
}

impl Replica {
    fn is_sound(self) -> bool {
        !matches!(
            self.state,
            ContainerState::Unhealthy | ContainerState::Deleted | ContainerState::Recovering
        )
    }

    /// Nothing is written into it any more.
    fn is_over(self) -> bool {
        matches!(self.state, ContainerState::Closed | ContainerState::QuasiClosed)
    }
}

/// A DataNode, and a directory below its home.
type Place = (usize, PathBuf);

/// Time of a file's last change, and its length.
type Stamp = (SystemTime, u64);

/// Observations.
#[derive(Default)]
pub struct Watch {
    there: BTreeMap<Place, (Stamp, Replica)>,
    /// Closed replicas that went although there was no other one of their indexes: where, when in
    /// seconds, and whether their DataNodes ran.
    only: Vec<(Place, u64, Replica)>,
    damaged: BTreeSet<(usize, u64)>,
    /// Copies that arrived somewhere, or began to: DataNodes and containers.
    copies: BTreeSet<(usize, u64)>,
    /// Those that were next to a replica of the same container.
    met: BTreeSet<(usize, u64)>,
}

impl Watch {
    /// Reads all disks.
    pub fn scan(&mut self, layout: &Layout) {
        let before = self.read(layout);
        for (place, (_, replica)) in before {
            let is_kept = || self.replicas().any(|(_, other)| other.stands_in_for(&replica));
            if !self.there.contains_key(&place) && replica.is_over() && !is_kept() {
                tracing::info!(?place, ?replica, "the only replica of its index went");
                self.only.push((place, now() / SECOND, replica));
            }
        }
        let unhealthy = self
            .there
            .iter()
            .filter(|(_, (_, replica))| replica.state == ContainerState::Unhealthy);
        let unhealthy =
            unhealthy.map(|((datanode, _), (_, replica))| (*datanode, replica.container));
        self.damaged.extend(unhealthy);
        let here: BTreeSet<(usize, u64)> =
            self.replicas().map(|(datanode, replica)| (datanode, replica.container)).collect();
        for datanode in 0..layout.datanodes() {
            let arrivals = layout.arrivals(datanode);
            self.copies.extend(arrivals.iter().map(|(id, _)| (datanode, *id)));
        }
        self.met.extend(self.copies.intersection(&here).filter(|(datanode, id)| {
            layout.arrivals(*datanode).iter().any(|(arriving, _)| arriving == id)
        }));
    }

    /// Number of observed copies in flight, and of those next to a replica of their container.
    pub fn copies(&self) -> (u64, u64) {
        (self.copies.len() as u64, self.met.len() as u64)
    }

    /// Reads all disks again after a fault: replicas missing since are not counted as deleted by
    /// servers.
    pub fn rebase(&mut self, layout: &Layout) {
        self.read(layout);
    }

    /// All replicas, and their DataNodes.
    pub fn replicas(&self) -> impl Iterator<Item = (usize, Replica)> {
        self.there.iter().map(|((datanode, _), (_, replica))| (*datanode, *replica))
    }

    /// Replicas that were deleted but are wanted: containers and their indexes. Resets the record.
    pub fn lost(&mut self, wanted: &BTreeSet<(ContainerId, u32)>) -> Vec<String> {
        let wanted: BTreeSet<(u64, u32)> =
            wanted.iter().map(|(id, index)| (id.to_wire().cast_unsigned(), *index)).collect();
        let lost = std::mem::take(&mut self.only).into_iter();
        let lost =
            lost.filter(|(_, _, replica)| wanted.contains(&(replica.container, replica.index)));
        let told = lost.map(|((datanode, dir), at, replica)| {
            let Replica { container, index, state } = replica;
            format!(
                "at {at} s the only replica of index {index} of container {container}, {state}, \
                 was removed from DataNode {datanode}, {}",
                dir.display()
            )
        });
        told.collect()
    }

    /// Replicas that their DataNodes found damaged.
    pub fn damaged(&self) -> Vec<String> {
        let told = self.damaged.iter().map(|(datanode, container)| {
            format!("DataNode {datanode} finds its replica of container {container} damaged")
        });
        told.collect()
    }

    /// Reads the current replicas; returns the previous ones.
    fn read(&mut self, layout: &Layout) -> BTreeMap<Place, (Stamp, Replica)> {
        let mut now = BTreeMap::new();
        for datanode in 0..layout.datanodes() {
            let home = node::home(machine(datanode));
            for (container, dir) in layout.containers(datanode) {
                let Ok(below) = dir.strip_prefix(&home) else { continue };
                let Some(stamp) = stamp(&dir) else { continue };
                let place = (datanode, below.to_owned());
                let seen = self.there.get(&place).filter(|(before, _)| *before == stamp);
                let replica = match seen {
                    Some((_, replica)) => Some(*replica),
                    None => parse(container, &replica_file(&dir)),
                };
                if let Some(replica) = replica {
                    now.insert(place, (stamp, replica));
                }
            }
        }
        std::mem::replace(&mut self.there, now)
    }
}

impl Replica {
    /// Returns `true` if this one has the contents of `other`.
    fn stands_in_for(&self, other: &Self) -> bool {
        (self.container, self.index) == (other.container, other.index) && self.is_sound()
    }
}

fn stamp(dir: &Path) -> Option<Stamp> {
    let name = dir.file_name()?.to_str()?;
    let file = dir.join("metadata").join(format!("{name}.container"));
    let metadata = file.metadata().ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

fn parse(container: u64, text: &str) -> Option<Replica> {
    let value = |key: &str| {
        let mut lines = text.lines();
        lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
    };
    let state = value("state")?.parse().ok()?;
    let index = value("replicaIndex").and_then(|index| index.parse().ok()).unwrap_or(0);
    Some(Replica { container, index, state })
}
