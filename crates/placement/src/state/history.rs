//! Recent events of containers, and their causes.
//!
//! Every SCM records its own view: the life cycle of a container from the log, reports of
//! DataNodes, and, while it leads, its orders. It is soft state for operators: no rule reads it,
//! and a restart loses all but the events that are still in the log.
//!
//! It is bounded: the last [`EACH`] events of a container are kept, and at most [`ALL`] in total;
//! above that, the events of the container without recent ones are evicted first.

use std::collections::{BTreeMap, VecDeque};

use proto::hdds::LifeCycleState;
use rustc_hash::FxHashMap;
use types::{ContainerId, DatanodeId, PipelineId};

use super::order::Order;
use super::replica::ReplicaState;
use crate::time::Millis;

/// Maximum of events of a container. The life of an erasure-coded one with 14 replicas fits.
const EACH: usize = 64;
/// Maximum of events of all containers; bounds their memory.
const ALL: usize = 100_000;

/// Something that happened to a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It was created.
    Created {
        /// The pipeline that it is written through.
        pipeline: Option<PipelineId>,
    },
    /// It entered a state.
    Entered(LifeCycleState),
    /// It was being deleted, and a replica with blocks was reported: it is in this state again.
    Revived(LifeCycleState),
    /// A node reported a replica that was not known.
    Appeared {
        /// The node.
        node: DatanodeId,
        /// The replica's index, 0 for a full copy.
        index: u32,
        /// Its state.
        state: ReplicaState,
        /// True if it had been ordered.
        awaited: bool,
    },
    /// A replica changed its state.
    Changed {
        /// Its node.
        node: DatanodeId,
        /// Its previous state.
        was: ReplicaState,
        /// Its new state.
        state: ReplicaState,
    },
    /// A node does not have its replica any more.
    Gone {
        /// The node.
        node: DatanodeId,
    },
    /// A node that has a replica is dead: the replica does not count.
    Lost {
        /// The node.
        node: DatanodeId,
    },
    /// A node was ordered to do something.
    Ordered {
        /// The node, and the task.
        order: Order,
        /// Cause: the container's health or state, the balancer, or an administrator.
        why: &'static str,
    },
    /// A replica ordered for a node could not be created.
    Failed {
        /// The node.
        node: DatanodeId,
    },
    /// An ordered copy or deletion timed out.
    Late {
        /// The node.
        node: DatanodeId,
    },
}

/// An event, with the times of its first and last occurrence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    /// Time of its first occurrence.
    pub first: Millis,
    /// Time of its last occurrence.
    pub last: Millis,
    /// Number of times.
    pub times: u32,
    /// The event.
    pub event: Event,
}

/// Events of all containers.
#[derive(Debug, Default)]
pub struct Histories {
    of: FxHashMap<ContainerId, History>,
    /// The containers, in the order of their last events.
    by_age: BTreeMap<u64, ContainerId>,
    next: u64,
    events: usize,
}

#[derive(Debug, Default)]
struct History {
    /// Its place in `by_age`.
    place: u64,
    events: VecDeque<Happened>,
}

impl Histories {
    /// Events of a container, the oldest first.
    pub fn of(&self, id: ContainerId) -> impl Iterator<Item = &Happened> {
        self.of.get(&id).into_iter().flat_map(|history| &history.events)
    }

    /// Records an event. A repeated order, and an event equal to the last one, only increase a
    /// count.
    pub fn note(&mut self, id: ContainerId, now: Millis, event: Event) {
        let history = self.of.entry(id).or_default();
        self.by_age.remove(&history.place);
        self.next = self.next.saturating_add(1);
        history.place = self.next;
        self.by_age.insert(self.next, id);
        let before = match &event {
            Event::Ordered { .. } => history.events.iter_mut().find(|e| e.event == event),
            _ => history.events.back_mut().filter(|e| e.event == event),
        };
        if let Some(before) = before {
            before.last = now;
            before.times = before.times.saturating_add(1);
            return;
        }
        if history.events.len() >= EACH {
            history.events.pop_front();
            self.events = self.events.saturating_sub(1);
        }
        history.events.push_back(Happened { first: now, last: now, times: 1, event });
        self.events = self.events.saturating_add(1);
        while self.events > ALL
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            let gone = self.of.remove(&oldest).map_or(0, |history| history.events.len());
            self.events = self.events.saturating_sub(gone);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::order::OrderKind;
    use super::*;

    fn entered(state: LifeCycleState) -> Event {
        Event::Entered(state)
    }

    #[test]
    fn what_happens_again_is_counted() {
        let (mut all, id, node) = (Histories::default(), ContainerId(1), DatanodeId::random());
        let kind = OrderKind::DeleteContainer { id, index: 0, force: true };
        let order =
            || Event::Ordered { order: Order { node, kind: kind.clone() }, why: "DELETING" };
        all.note(id, 10, entered(LifeCycleState::Deleting));
        all.note(id, 20, order());
        all.note(id, 30, Event::Gone { node });
        all.note(id, 40, order());
        all.note(id, 50, entered(LifeCycleState::Deleting));
        let seen: Vec<_> = all.of(id).map(|e| (e.first, e.last, e.times)).collect();
        assert_eq!(seen, [(10, 10, 1), (20, 40, 2), (30, 30, 1), (50, 50, 1)]);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut all = Histories::default();
        let gone = || Event::Gone { node: DatanodeId::random() };
        (0..1000).for_each(|at| all.note(ContainerId(1), at, gone()));
        assert_eq!(all.of(ContainerId(1)).count(), EACH);
        assert_eq!(all.of(ContainerId(1)).next().map(|e| e.first), Some(1000 - EACH as u64));
        for id in 0..ALL as u64 {
            all.note(ContainerId(id), 2000, gone());
            if id % 100 == 0 {
                all.note(ContainerId(1), 2000, gone());
            }
        }
        let kept: usize = all.of.values().map(|history| history.events.len()).sum();
        assert!(kept == all.events && kept <= ALL, "{kept} are kept");
        assert_eq!(all.of.len(), all.by_age.len());
        assert_eq!(all.of(ContainerId(1)).count(), EACH, "something happens to it all the time");
        assert_eq!(all.of(ContainerId(0)).count(), 0, "nothing happened to it for longest");
    }
}
