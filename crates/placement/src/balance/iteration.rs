//! One iteration of the container balancer: which replicas move where.
//!
//! Utilisation is the used share of a node's capacity, and the cluster's is that of all
//! participating nodes together. A node is over-utilised (under-utilised) when it is more than the
//! threshold above (below) the cluster's. A replica moves from the fullest node to the emptiest
//! that may get it when one of them is over- or under-utilised, neither becomes so by it, and the
//! target stays emptier than the source was: the nodes become more even with every move, so an
//! iteration ends.
//!
//! Where nodes have disks of several storage types, each type is balanced separately: replicas move
//! between disks of one type only. Ozone balances a node by all of its disks together, which is the
//! same where they are all alike.
//!
//! While replicas move, some of them count on both nodes in the nodes' reports. So an iteration
//! uses the usage reported when it began, plus its own moves since.

use std::collections::{BTreeMap, BTreeSet};

use types::{ContainerId, DatanodeId, OperationalState, StorageType};

use super::candidate::{Balancing, is_named};
use super::usage::{Bounds, Disks, Usage, measure};
use crate::replica::moving::{Move, MoveResult};
use crate::replica::refuses::NotThere;
use crate::state::balancer::Configuration;
use crate::state::node::{Health, Node};
use crate::state::nodes::Nodes;
use crate::state::order::Order;
use crate::time::Millis;

/// Replicas checked under one lock.
const PORTION: usize = 1_000;

/// Next step of an iteration.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice {
    /// A replica moves: the order for its source.
    Move(Order),
    /// Nodes that could send or get one are busy.
    Wait,
    /// More replicas have to be checked.
    More,
    /// Nothing more is moved in this iteration.
    Exhausted,
}

/// Result of an iteration, with Ozone's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IterationResult {
    /// All that its limits allow is moved.
    Completed,
    /// The balancer was stopped, or another SCM leads.
    Interrupted,
    /// Nodes are not even, and no replica can be moved.
    CannotBalanceAnyMore,
}

impl IterationResult {
    /// Ozone's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "ITERATION_COMPLETED",
            Self::Interrupted => "ITERATION_INTERRUPTED",
            Self::CannotBalanceAnyMore => "CAN_NOT_BALANCE_ANY_MORE",
        }
    }
}

/// Reason for not starting an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotBegun {
    /// No node takes part.
    NoNodes,
    /// Every node's utilisation is within the threshold.
    Balanced,
}

/// Counts of an iteration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Bytes of the moves that began.
    pub scheduled_bytes: u64,
    /// Bytes of those that completed.
    pub moved_bytes: u64,
    /// Moves that began.
    pub scheduled: u64,
    /// Moves that completed.
    pub completed: u64,
    /// Moves that failed.
    pub failed: u64,
    /// Moves that took too long.
    pub timed_out: u64,
    /// Bytes that nodes have got.
    pub entered: BTreeMap<DatanodeId, u64>,
    /// Bytes that nodes have sent away.
    pub left: BTreeMap<DatanodeId, u64>,
}

/// One iteration.
#[derive(Debug)]
pub struct Iteration {
    configuration: Configuration,
    bounds: BTreeMap<StorageType, Bounds>,
    usage: BTreeMap<Disks, Usage>,
    max_involved: usize,
    involved: BTreeSet<DatanodeId>,
    leaving: BTreeMap<DatanodeId, u64>,
    entering: BTreeMap<DatanodeId, u64>,
    /// Replicas on the disks that are or were sources, the largest last. Checked ones are removed.
    candidates: BTreeMap<Disks, Vec<(u64, ContainerId)>>,
    /// Containers whose move has failed: they are left to the next iteration.
    failed: BTreeSet<ContainerId>,
    statistics: Statistics,
}

impl Iteration {
    /// Begins one, with the usage that nodes have reported.
    ///
    /// # Errors
    /// When there is nothing to do.
    pub fn begin(nodes: &Nodes, configuration: Configuration) -> Result<Self, NotBegun> {
        let in_service: Vec<_> = nodes
            .iter()
            .filter(|n| n.health == Health::Healthy)
            .filter(|n| n.details.op_state == OperationalState::InService)
            .collect();
        let (include, exclude) = (&configuration.include_nodes, &configuration.exclude_nodes);
        let takes_part =
            |n: &Node| (include.is_empty() || is_named(include, n)) && !is_named(exclude, n);
        let (usage, bounds) =
            measure(in_service.iter().copied().filter(|n| takes_part(n)), configuration.threshold);
        if usage.is_empty() {
            return Err(NotBegun::NoNodes);
        }
        let is_even = |((_, of), u): (&Disks, &Usage)| {
            bounds.get(of).is_some_and(|bounds| bounds.contain(u.percent(0, 0)))
        };
        if usage.iter().all(is_even) {
            return Err(NotBegun::Balanced);
        }
        let share =
            in_service.len().saturating_mul(configuration.max_datanodes_percentage as usize);
        Ok(Self {
            configuration,
            bounds,
            usage,
            max_involved: share.checked_div(100).unwrap_or(0),
            involved: BTreeSet::new(),
            leaving: BTreeMap::new(),
            entering: BTreeMap::new(),
            candidates: BTreeMap::new(),
            failed: BTreeSet::new(),
            statistics: Statistics::default(),
        })
    }

    /// Counts so far.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Result of the iteration when nothing is left to move.
    pub fn result(&self) -> IterationResult {
        match self.statistics.scheduled {
            0 => IterationResult::CannotBalanceAnyMore,
            _ => IterationResult::Completed,
        }
    }

    /// Begins the next move, if there is one.
    pub(crate) fn next(&mut self, on: &mut Balancing<'_>, now: Millis) -> Choice {
        let mut waits = false;
        let mut left = PORTION;
        for source in self.sources() {
            if !self.may_take_part(source.0, 2) {
                continue;
            }
            if !on.replication().may_send(source.0) || on.replication().is_copying_enough() {
                waits = true;
                continue;
            }
            self.list(on, source);
            let largest =
                |this: &Self| this.candidates.get(&source).and_then(|c| c.last()).copied();
            while let Some((bytes, id)) = largest(self) {
                let Some(rest) = left.checked_sub(1) else { return Choice::More };
                left = rest;
                match self.target_for(on, (source, id, bytes), now) {
                    Ok(target) => {
                        self.drop_candidate(source);
                        let nodes = (source.0, target);
                        if let Some(order) = self.begin_move(on, id, nodes, now) {
                            return Choice::Move(order);
                        }
                    }
                    Err(NotThere::Busy) => {
                        waits = true;
                        break;
                    }
                    Err(NotThere::Never) => self.drop_candidate(source),
                }
            }
        }
        if waits { Choice::Wait } else { Choice::Exhausted }
    }

    /// A move that this iteration began has ended.
    pub fn note(&mut self, moved: &Move, result: MoveResult) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        let s = &mut self.statistics;
        match result {
            MoveResult::Completed => {
                add(&mut s.completed, 1);
                add(&mut s.moved_bytes, moved.bytes);
                add(s.entered.entry(moved.target).or_default(), moved.bytes);
                add(s.left.entry(moved.source).or_default(), moved.bytes);
                return;
            }
            MoveResult::Failed => add(&mut s.failed, 1),
            MoveResult::TimedOut => add(&mut s.timed_out, 1),
        }
        // The usage is as before the move: moves that would not have helped together with it may
        // help now.
        self.failed.insert(moved.id);
        self.candidates.clear();
        let of = moved.storage_type;
        if let Some(source) = self.usage.get_mut(&(moved.source, of)) {
            source.used = source.used.saturating_add(moved.bytes);
        }
        if let Some(target) = self.usage.get_mut(&(moved.target, of)) {
            target.used = target.used.saturating_sub(moved.bytes);
        }
    }

    /// The disks of nodes, those first that are furthest above all of their type.
    fn sources(&self) -> Vec<Disks> {
        let above = |disks: &Disks, usage: &Usage| {
            let average = self.bounds.get(&disks.1).map_or(0.0, |bounds| bounds.average);
            usage.percent(0, 0) - average
        };
        let mut all: Vec<_> = self.usage.iter().map(|(of, u)| (above(of, u), *of)).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        all.into_iter().map(|(_, disks)| disks).collect()
    }

    /// Returns `true` if a node may take part: it does already, or the limit allows `with` new
    /// ones.
    fn may_take_part(&self, node: DatanodeId, with: usize) -> bool {
        // A new source needs a target, which may be one that takes part already.
        let with = if self.involved.is_empty() { with } else { 1 };
        self.involved.contains(&node)
            || self.involved.len().saturating_add(with) <= self.max_involved
    }

    /// Lists the replicas on the disks of a type on the first use, and again after a move failed.
    /// Replicas that belong on disks of another type are left to the replication manager.
    fn list(&mut self, on: &Balancing<'_>, source: Disks) {
        let failed = &self.failed;
        self.candidates.entry(source).or_insert_with(|| {
            let (node, of) = source;
            let sized = |id| {
                let replica = on.replicas.on(id, node)?;
                let belongs = on.containers.get(id)?.storage_type == of;
                (belongs && replica.storage_type == of).then_some((replica.used_bytes, id))
            };
            let ids = on.replicas.on_node(node).filter(|id| !failed.contains(id));
            let mut all: Vec<_> = ids.filter_map(sized).collect();
            all.sort_unstable();
            all
        });
    }

    fn drop_candidate(&mut self, source: Disks) {
        if let Some(candidates) = self.candidates.get_mut(&source) {
            candidates.pop();
        }
    }

    /// The node that gets a replica.
    fn target_for(
        &self,
        on: &Balancing<'_>,
        (disks, id, bytes): (Disks, ContainerId, u64),
        now: Millis,
    ) -> Result<DatanodeId, NotThere> {
        let (source, of_type) = disks;
        let bounds = self.bounds.get(&of_type).copied().ok_or(NotThere::Never)?;
        let c = &self.configuration;
        let of = |sums: &BTreeMap<DatanodeId, u64>, node| {
            sums.get(&node).copied().unwrap_or(0).saturating_add(bytes)
        };
        let all = self.statistics.scheduled_bytes.saturating_add(bytes);
        let from = self.usage.get(&disks).copied().ok_or(NotThere::Never)?;
        let before = from.percent(0, 0);
        if all > c.max_size_per_iteration
            || of(&self.leaving, source) > c.max_size_leaving_source
            || from.percent(0, bytes) < bounds.lower
        {
            return Err(NotThere::Never);
        }
        let container = on.movable(c, id, source, now).ok_or(NotThere::Never)?;
        let mut targets: Vec<(bool, f64, DatanodeId)> = Vec::new();
        for ((node, _), usage) in self.usage.iter().filter(|((_, of), _)| *of == of_type) {
            let (emptier, after) = (usage.percent(0, 0), usage.percent(bytes, 0));
            let helps = (before > bounds.upper || emptier < bounds.lower) && after < before;
            let fits =
                after <= bounds.upper && of(&self.entering, *node) <= c.max_size_entering_target;
            // The source takes part by now.
            let new = if self.involved.contains(&source) { 1 } else { 2 };
            let room = self.involved.contains(node)
                || self.involved.len().saturating_add(new) <= self.max_involved;
            if *node != source && helps && fits && room {
                let far = c.network_topology
                    && !on
                        .nodes
                        .get(*node)
                        .is_some_and(|n| on.replication().is_same_rack(source, n));
                targets.push((far, emptier, *node));
            }
        }
        targets.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        let mut outcome = Err(NotThere::Never);
        for (_, _, node) in targets {
            let Some(target) = on.nodes.get(node) else { continue };
            match on.replication().may_get(container, source, target) {
                Ok(()) => return Ok(node),
                Err(NotThere::Busy) => outcome = Err(NotThere::Busy),
                Err(NotThere::Never) => {}
            }
        }
        outcome
    }

    fn begin_move(
        &mut self,
        on: &mut Balancing<'_>,
        id: ContainerId,
        (source, target): (DatanodeId, DatanodeId),
        now: Millis,
    ) -> Option<Order> {
        let copy_until = now.saturating_add(self.configuration.replication_timeout);
        let until = now.saturating_add(self.configuration.move_timeout);
        let (order, moved) = on.start(id, (source, target), (copy_until, until), now)?;
        let (bytes, of_type) = (moved.bytes, moved.storage_type);
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.statistics.scheduled, 1);
        add(&mut self.statistics.scheduled_bytes, bytes);
        add(self.leaving.entry(source).or_default(), bytes);
        add(self.entering.entry(target).or_default(), bytes);
        self.involved.extend([source, target]);
        if let Some(source) = self.usage.get_mut(&(source, of_type)) {
            source.used = source.used.saturating_sub(bytes);
        }
        if let Some(target) = self.usage.get_mut(&(target, of_type)) {
            target.used = target.used.saturating_add(bytes);
        }
        Some(order)
    }
}
