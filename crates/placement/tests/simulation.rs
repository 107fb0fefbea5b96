//! Random histories of a whole cluster: writers, nodes that fail and come back, lost orders, SCM
//! restarts.
//!
//! Nodes are modelled by the properties that matter here: a pipeline is a log that takes an entry
//! while a majority of its members is up and has the group; a node that comes back catches up if
//! the group still has its majority. The rules must never lose an acknowledged block, and must
//! complete all transitions once all nodes are back.

use std::collections::{BTreeMap, BTreeSet};

use placement::block::{Exclude, Wish};
use placement::deletion::{DeletedBlock, Draft};
use placement::{Change, Cluster, Decision, OrderKind, Replica, ReplicaState, Sequence, Settings};
use proptest::prelude::*;
use proto::hdds::LifeCycleState;
use types::{ContainerId, LocalId, OperationalState, PipelineId, StorageType};

use crate::fixture::*;

/// The nodes of most histories; the others have three, so that there is no other node for what one
/// of them has.
const NODES: u128 = 5;

#[derive(Debug, Clone, Copy)]
enum Entry {
    Write(ContainerId, u64),
    Close(ContainerId),
}

#[derive(Debug, Clone)]
struct Copy {
    state: ReplicaState,
    pipeline: PipelineId,
    blocks: BTreeSet<u64>,
    deleted: BTreeSet<u64>,
    sequence: u64,
    /// The node that it was written on.
    origin: u128,
}

#[derive(Debug, Default)]
struct Datanode {
    up: bool,
    /// Groups, and how far their logs are applied here.
    groups: BTreeMap<PipelineId, usize>,
    copies: BTreeMap<ContainerId, Copy>,
    orders: Vec<OrderKind>,
    /// The operational state that it received.
    serves: OperationalState,
}

struct World {
    cluster: Cluster,
    nodes: BTreeMap<u128, Datanode>,
    logs: BTreeMap<PipelineId, (Vec<u128>, Vec<Entry>)>,
    /// Acknowledged and not deleted since.
    alive: BTreeMap<u64, ContainerId>,
    now: u64,
    next: u64,
}

#[derive(Debug, Clone)]
enum Step {
    Write,
    Delete,
    Full(u64),
    Kill(u128),
    Revive(u128),
    /// A node gets new, empty disks, if that loses nothing.
    Wipe(u128),
    Decommission(u128),
    Maintain(u128),
    Recommission(u128),
    Tick {
        loses: Vec<bool>,
    },
    RestartScm,
}

fn step(nodes: u128) -> impl Strategy<Value = Step> {
    let node = 1..=nodes;
    prop_oneof![
        8 => Just(Step::Write),
        2 => Just(Step::Delete),
        2 => (0u64..8).prop_map(Step::Full),
        2 => node.clone().prop_map(Step::Kill),
        2 => node.clone().prop_map(Step::Revive),
        1 => node.clone().prop_map(Step::Wipe),
        1 => node.clone().prop_map(Step::Decommission),
        1 => node.clone().prop_map(Step::Maintain),
        1 => node.prop_map(Step::Recommission),
        8 => proptest::collection::vec(prop::bool::weighted(0.2), 0..8)
            .prop_map(|loses| Step::Tick { loses }),
        1 => Just(Step::RestartScm),
    ]
}

impl World {
    fn new(nodes: u128) -> Self {
        let mut settings =
            Settings { create_factor_one: false, containers_per_pipeline: 1, ..settings() };
        settings.replication.timeout = 60_000;
        let mut world = Self {
            cluster: cluster(0, settings),
            nodes: (1..=nodes).map(|n| (n, Datanode { up: true, ..Datanode::default() })).collect(),
            logs: BTreeMap::new(),
            alive: BTreeMap::new(),
            now: START,
            next: 1,
        };
        (1..=nodes).for_each(|n| world.register(n));
        world
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn carry_out(&mut self, decision: Decision) {
        for order in decision.orders {
            self.nodes.get_mut(&order.node.0.as_u128()).unwrap().orders.push(order.kind);
        }
        for change in decision.changes {
            // Refusals are part of the game: several reports may decide the same.
            if self.cluster.apply(&change).is_ok() {
                let more = self.cluster.follow_up(&change, self.now);
                self.carry_out(more);
            }
        }
    }

    fn replicas(&self, n: u128) -> Vec<(ContainerId, Replica)> {
        let of = |(id, c): (&ContainerId, &Copy)| {
            let blocks = c.blocks.len() as u64;
            let (sequence_id, origin) = (c.sequence, node(c.origin));
            (*id, Replica { sequence_id, origin, ..replica(n, c.state, blocks, 0) })
        };
        self.nodes[&n].copies.iter().map(of).collect()
    }

    fn register(&mut self, n: u128) {
        let groups: Vec<_> = self.nodes[&n].groups.keys().copied().collect();
        let mut details = details(n);
        // Two racks: nodes 1 to 3, and the rest.
        details.network_location = if n <= 3 { "/r1" } else { "/r2" }.to_owned();
        details.op_state = self.nodes[&n].serves;
        let (_, decision) = self.cluster.register(details, disks(1), &groups, self.now);
        self.nodes.get_mut(&n).unwrap().orders.clear();
        self.carry_out(decision);
        self.report(n);
    }

    fn report(&mut self, n: u128) {
        let leads = |world: &Self, id: &PipelineId| {
            let (members, _) = &world.logs[id];
            members.iter().find(|m| world.runs(**m, *id)) == Some(&n)
        };
        let groups: Vec<_> = self.nodes[&n].groups.keys().copied().collect();
        let reports: Vec<_> = groups.iter().map(|id| (*id, leads(self, id))).collect();
        let decision = self.cluster.report_pipelines(node(n), &reports);
        self.carry_out(decision);
        let decision = self.cluster.report_all_replicas(node(n), self.replicas(n), self.now);
        self.carry_out(decision);
    }

    fn runs(&self, n: u128, id: PipelineId) -> bool {
        self.nodes[&n].up && self.nodes[&n].groups.contains_key(&id)
    }

    fn has_majority(&self, id: PipelineId) -> bool {
        self.logs.get(&id).is_some_and(|(members, _)| {
            members.iter().filter(|m| self.runs(**m, id)).count() * 2 > members.len()
        })
    }

    /// Every member of the group that is up applies what is committed.
    fn catch_up(&mut self, id: PipelineId) {
        if !self.has_majority(id) {
            return;
        }
        let (members, log) = self.logs[&id].clone();
        for n in members.into_iter().filter(|n| self.runs(*n, id)).collect::<Vec<_>>() {
            let dn = self.nodes.get_mut(&n).unwrap();
            let from = std::mem::replace(dn.groups.get_mut(&id).unwrap(), log.len());
            for (i, entry) in log.iter().enumerate().skip(from) {
                apply_entry(dn, n, id, i as u64 + 1, *entry);
            }
        }
    }

    fn append(&mut self, id: PipelineId, entry: Entry) -> bool {
        if !self.has_majority(id) {
            return false;
        }
        self.catch_up(id);
        self.logs.get_mut(&id).unwrap().1.push(entry);
        self.catch_up(id);
        true
    }

    fn write(&mut self) {
        let exclude = Exclude::default();
        let wish = Wish {
            count: 1,
            config: THREE,
            storage_types: &StorageType::ANY,
            waits: false,
            owner: OWNER,
            exclude: &exclude,
        };
        let allocation = self.cluster.allocate(wish);
        for (pipeline, _) in &allocation.shortage {
            let id = self.number();
            open_container(&mut self.cluster, id, *pipeline);
        }
        let Some(slot) = self.cluster.allocate(wish).slots.pop() else { return };
        let (c, id) = (slot.container, slot.pipeline.id);
        let (members, _) = &self.logs[&id];
        // The leader refuses what its replica does not take.
        let leader = members.iter().find(|m| self.runs(**m, id)).copied();
        let takes = leader.is_some_and(|l| {
            self.nodes[&l].copies.get(&c).is_none_or(|c| c.state == ReplicaState::Open)
        });
        let block = self.number();
        if takes && self.append(id, Entry::Write(c, block)) {
            self.alive.insert(block, c);
        }
    }

    fn delete(&mut self) {
        let Some((block, c)) = self.alive.pop_first() else { return };
        let sequence = Sequence::DelTxnId;
        let expected = self.cluster.sequences.last(sequence);
        let last = expected + 1;
        self.cluster.apply(&Change::ReserveIds { sequence, expected, last }).unwrap();
        self.cluster.sequences.grant(sequence, expected + 1..last + 1);
        let block =
            DeletedBlock { container: c, local: LocalId(block), size: 1, replicated_size: 3 };
        let transactions = self.cluster.number_deletions(&Draft::group(&[block])).unwrap();
        self.cluster.apply(&Change::AddDeletions(transactions)).unwrap();
    }

    fn tick(&mut self, loses: &[bool]) {
        self.now += 3_000;
        let ids: Vec<_> = self.logs.keys().copied().collect();
        ids.iter().for_each(|id| self.catch_up(*id));
        for n in self.up() {
            if self.cluster.heartbeat(node(n), self.now).is_none() {
                self.register(n);
            } else {
                let told = self.nodes[&n].serves;
                let decision = self.cluster.report_op_state(node(n), told, 0, true);
                self.carry_out(decision);
                self.report(n);
            }
        }
        let (_, decision) = self.cluster.watch_nodes(self.now);
        self.carry_out(decision);
        let (_, decision) = self.cluster.check_leaving_nodes(self.now);
        self.carry_out(decision);
        for plan in self.cluster.plan_pipelines() {
            let id = pipeline(u128::from(self.number()));
            let members = plan.members.iter().map(|m| m.0.as_u128()).collect();
            self.logs.insert(id, (members, Vec::new()));
            let record = self.cluster.build_pipeline(&plan, id, self.now);
            self.carry_out(Decision {
                changes: vec![Change::AddPipeline(record)],
                ..Decision::default()
            });
        }
        let closed = self.cluster.plan_rebalance().into_iter();
        let changes = closed.map(|id| Change::ClosePipeline { id, now: self.now }).collect();
        self.carry_out(Decision { changes, ..Decision::default() });
        for decision in [
            self.cluster.scrub_pipelines(self.now),
            self.cluster.review_containers(self.now),
            self.cluster.clean_containers(self.now),
            self.cluster.repair_containers(ContainerId(0), 1_000, self.now).decision,
            self.cluster.repeat_closes(ContainerId(0), 1_000, self.now),
            self.cluster.send_deletions(self.now, usize::MAX).1,
        ] {
            self.carry_out(decision);
        }
        for n in self.up() {
            let orders = std::mem::take(&mut self.nodes.get_mut(&n).unwrap().orders);
            for (i, order) in orders.into_iter().enumerate() {
                let lost =
                    loses.get((i + n as usize) % loses.len().max(1)).copied().unwrap_or(false);
                if !lost {
                    self.obey(n, order);
                }
            }
            self.report(n);
        }
    }

    fn up(&self) -> Vec<u128> {
        self.nodes.iter().filter(|(_, dn)| dn.up).map(|(n, _)| *n).collect()
    }

    fn obey(&mut self, n: u128, order: OrderKind) {
        match order {
            OrderKind::CreatePipeline(id) => {
                self.nodes.get_mut(&n).unwrap().groups.entry(id).or_insert(0);
                self.catch_up(id);
            }
            OrderKind::ClosePipeline(id) => {
                let dn = self.nodes.get_mut(&n).unwrap();
                dn.groups.remove(&id);
                for copy in
                    dn.copies.values_mut().filter(|c| c.pipeline == id && !c.state.is_final())
                {
                    copy.state = ReplicaState::QuasiClosed;
                }
            }
            OrderKind::CloseContainer { id, force, .. } => self.close_copy(n, id, force),
            OrderKind::DeleteContainer { id, force, .. } => {
                let copies = &mut self.nodes.get_mut(&n).unwrap().copies;
                if force || copies.get(&id).is_some_and(|c| c.blocks.is_empty()) {
                    copies.remove(&id);
                }
            }
            OrderKind::ReplicateContainer { id, target } => self.copy(n, id, target.0.as_u128()),
            OrderKind::ReconstructEcContainer { .. } => unreachable!("nothing is erasure coded"),
            OrderKind::ReconcileContainer { .. } => unreachable!("none is damaged"),
            OrderKind::SetOperationalState { state, .. } => {
                self.nodes.get_mut(&n).unwrap().serves = state;
            }
            OrderKind::DeleteBlocks(ids) => self.delete_blocks(n, &ids),
        }
    }

    /// A node sends its replica to another one, if both are up and it is closed.
    fn copy(&mut self, from: u128, id: ContainerId, to: u128) {
        let Some(copy) = self.nodes[&from].copies.get(&id).filter(|c| c.state.is_final()) else {
            return;
        };
        let mut copy = copy.clone();
        // Deleted blocks here stay deleted there; later deletions are missing there.
        copy.deleted.clear();
        let target = self.nodes.get_mut(&to).unwrap();
        if target.up {
            target.copies.entry(id).or_insert(copy);
        }
    }

    /// Returns `true` if every block is on some other node, too.
    fn may_lose(&self, n: u128) -> bool {
        self.alive.iter().all(|(block, c)| {
            let others = self.nodes.iter().filter(|(m, _)| **m != n);
            others
                .filter(|(_, dn)| {
                    dn.copies.get(c).is_some_and(|copy| {
                        copy.state == ReplicaState::Closed && copy.blocks.contains(block)
                    })
                })
                .count()
                >= 2
        })
    }

    fn close_copy(&mut self, n: u128, id: ContainerId, force: bool) {
        let Some(copy) = self.nodes.get_mut(&n).unwrap().copies.get_mut(&id) else { return };
        let group = copy.pipeline;
        match copy.state {
            ReplicaState::QuasiClosed if force => copy.state = ReplicaState::Closed,
            ReplicaState::Open | ReplicaState::Closing => {
                copy.state = ReplicaState::Closing;
                let runs = self.runs(n, group);
                if !(runs && self.append(group, Entry::Close(id))) {
                    let copy = self.nodes.get_mut(&n).unwrap().copies.get_mut(&id).unwrap();
                    copy.state = ReplicaState::QuasiClosed;
                }
            }
            _ => {}
        }
    }

    fn delete_blocks(&mut self, n: u128, ids: &[u64]) {
        let mut results = Vec::new();
        for id in ids {
            let Some(t) = self.cluster.deletions.get(*id) else { continue };
            let block = t.blocks[0].0;
            // A node that has a copy remembers what is deleted, also before it is written.
            let copy = self.nodes.get_mut(&n).unwrap().copies.get_mut(&t.container);
            let success = copy.is_some_and(|copy| {
                copy.blocks.remove(&block);
                copy.deleted.insert(block);
                true
            });
            results.push((*id, success));
        }
        let decision = self.cluster.acknowledge_deletions(node(n), &results);
        self.carry_out(decision);
    }

    fn restart_scm(&mut self) {
        let mut fresh = Cluster::new(self.cluster.settings.clone());
        for c in self.cluster.containers.from(ContainerId(0)) {
            fresh.containers.insert(c.clone());
        }
        for e in self.cluster.pipelines.iter() {
            fresh.pipelines.insert((*e.record).clone());
        }
        self.cluster.deletions.from(0).for_each(|t| fresh.deletions.insert(t.clone()));
        for s in Sequence::ALL {
            fresh.sequences.load(s, self.cluster.sequences.last(s));
        }
        fresh.destinations = self.cluster.destinations.clone();
        fresh.begin_safe_mode();
        fresh.note_state_machine_ready();
        self.cluster = fresh;
    }

    fn play(&mut self, step: Step) {
        match step {
            Step::Write => self.write(),
            Step::Delete => self.delete(),
            Step::Full(i) => {
                let open: Vec<_> = self.cluster.containers.in_state(LifeCycleState::Open).collect();
                if let Some(id) = open.get(i as usize) {
                    let decision = self.cluster.finalize_container(*id, self.now);
                    self.carry_out(decision);
                }
            }
            // One is down at a time.
            Step::Kill(n) if self.up().len() == self.nodes.len() => {
                self.nodes.get_mut(&n).unwrap().up = false
            }
            Step::Kill(_) => {}
            Step::Revive(n) if !self.nodes[&n].up => {
                self.nodes.get_mut(&n).unwrap().up = true;
                self.register(n);
            }
            Step::Revive(_) => {}
            Step::Wipe(n) if self.may_lose(n) => {
                let dn = self.nodes.get_mut(&n).unwrap();
                dn.copies.clear();
                dn.groups.clear();
                dn.orders.clear();
                if dn.up {
                    self.register(n);
                }
            }
            Step::Wipe(_) => {}
            // Unknown to an SCM that has just started, or in a state that does not allow it.
            Step::Decommission(n) => {
                choose_destination(&mut self.cluster, n);
                if let Ok(decision) = self.cluster.decommission(node(n), self.now) {
                    self.carry_out(decision);
                }
            }
            Step::Maintain(n) => {
                choose_destination(&mut self.cluster, n);
                if let Ok(decision) = self.cluster.begin_maintenance(node(n), 0, self.now) {
                    self.carry_out(decision);
                }
            }
            Step::Recommission(n) => {
                if let Ok(decision) = self.cluster.recommission(node(n), self.now) {
                    self.carry_out(decision);
                }
            }
            Step::Tick { loses } => self.tick(&loses),
            Step::RestartScm => self.restart_scm(),
        }
    }

    /// Every acknowledged block is on some disk.
    fn check(&self) -> Result<(), TestCaseError> {
        for (block, c) in &self.alive {
            let kept = self
                .nodes
                .values()
                .any(|dn| dn.copies.get(c).is_some_and(|copy| copy.blocks.contains(block)));
            prop_assert!(kept, "block {} of container {} is lost", block, c);
        }
        Ok(())
    }

    /// All disks that had it were replaced after its last block was deleted.
    fn is_moot(&self, id: ContainerId) -> bool {
        self.cluster.replicas.of(id).is_empty() && !self.alive.values().any(|c| *c == id)
    }

    /// Every closed container has three replicas on two racks, and no transition of a node is left.
    fn check_replicas(&self) -> Result<(), TestCaseError> {
        for c in self.cluster.containers.from(ContainerId(0)) {
            let Some(count) = self.cluster.replica_count(c) else { continue };
            let empty = c.keys == 0;
            prop_assert!(
                empty || self.is_moot(c.id) || count.is_fine(),
                "container {}: {:?}",
                c.id,
                count
            );
        }
        prop_assert!(!self.cluster.any_node_leaves());
        prop_assert_eq!(self.cluster.pending.copies(), 0);
        prop_assert_eq!(self.cluster.pending.deletions(), 0);
        Ok(())
    }

    /// All nodes are back without further events: all transitions are completed, every block can be
    /// read.
    fn run_until_stable(&mut self) -> Result<(), TestCaseError> {
        let nodes = self.nodes.len() as u128;
        for n in 1..=nodes {
            self.play(Step::Revive(n));
        }
        // Copies that were lost in flight are ordered again after their timeout.
        let rounds = 60 + self.cluster.settings.replication.timeout / 3_000;
        for round in 0..rounds {
            if round == 5 {
                (1..=nodes).for_each(|n| self.play(Step::Recommission(n)));
            }
            self.tick(&[]);
            self.check()?;
        }
        self.check_replicas()?;
        use proto::hdds::LifeCycleState as S;
        for state in [S::Closing, S::QuasiClosed, S::Deleting] {
            // One that was never written waits for its pipeline's removal: a late write may still
            // arrive.
            let waits = |id: &ContainerId| {
                let c = self.cluster.containers.get(*id).unwrap();
                self.cluster.replicas.of(*id).is_empty()
                    && c.pipeline.is_some_and(|p| self.cluster.pipelines.is_open(p))
            };
            // One that lost a majority of its origins with their disks: its last write is unknown.
            let samples = self.cluster.health_report().samples;
            let stuck: Vec<_> = samples
                .into_iter()
                .filter(|(health, _)| health.starts_with("QUASI_CLOSED_STUCK"))
                .flat_map(|(_, ids)| ids)
                .collect();
            let in_state = self.cluster.containers.in_state(state);
            let left: Vec<_> = in_state
                .filter(|id| !waits(id) && !stuck.contains(id) && !self.is_moot(*id))
                .collect();
            let replicas: Vec<_> = left.iter().map(|id| self.cluster.replicas.of(*id)).collect();
            prop_assert!(left.is_empty(), "{:?} are still {:?}: {:?}", left, state, replicas);
        }
        prop_assert!(!self.cluster.pipelines.any_on_its_way());
        let log = self.cluster.deletions.from(0);
        let left: Vec<_> = log.filter(|t| !self.is_moot(t.container)).cloned().collect();
        let of: Vec<_> = left
            .iter()
            .map(|t| {
                (self.cluster.containers.get(t.container), self.cluster.replicas.of(t.container))
            })
            .collect();
        prop_assert!(left.is_empty(), "{:?}: {:?}", left, of);
        for (block, c) in &self.alive {
            let (_, pipeline) = self.cluster.locate(*c).unwrap();
            let readable = pipeline.members.iter().any(|m| {
                let copies = &self.nodes[&m.id.0.as_u128()].copies;
                copies.get(c).is_some_and(|copy| copy.blocks.contains(block))
            });
            prop_assert!(readable, "block {} of container {} cannot be read", block, c);
        }
        Ok(())
    }
}

fn apply_entry(dn: &mut Datanode, n: u128, pipeline: PipelineId, index: u64, entry: Entry) {
    match entry {
        Entry::Write(c, block) => {
            let copy = dn.copies.entry(c).or_insert(Copy {
                state: ReplicaState::Open,
                pipeline,
                blocks: BTreeSet::new(),
                deleted: BTreeSet::new(),
                sequence: 0,
                origin: n,
            });
            if !copy.state.is_final() {
                if !copy.deleted.contains(&block) {
                    copy.blocks.insert(block);
                }
                copy.sequence = index;
            }
        }
        Entry::Close(c) => {
            if let Some(copy) = dn.copies.get_mut(&c)
                && !copy.state.is_final()
            {
                copy.state = ReplicaState::Closed;
            }
        }
    }
}

/// Number of histories: `PROPTEST_CASES`, else 400.
#[allow(clippy::disallowed_methods, reason = "how long the test is to run")]
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(400)
}

fn play_all(nodes: u128, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut world = World::new(nodes);
    world.tick(&[]);
    world.tick(&[]);
    for step in steps {
        world.play(step);
        world.check()?;
    }
    world.run_until_stable()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]
    #[test]
    fn no_acknowledged_block_is_lost_and_all_comes_to_rest(
        steps in proptest::collection::vec(step(NODES), 1..120)
    ) {
        play_all(NODES, steps)?;
    }

    #[test]
    fn three_nodes_lose_no_acknowledged_block_and_come_to_rest(
        steps in proptest::collection::vec(step(3), 1..120)
    ) {
        play_all(3, steps)?;
    }
}
