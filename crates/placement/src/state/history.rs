//! What happened to containers lately, and why.
//!
//! Every SCM notes what it sees: the life of a container as the log tells it, what DataNodes
//! report, and, while it leads, what it orders. It is soft state for operators: no rule looks at
//! it, and it is lost at a restart, but for what is still in the log.
//!
//! It is bounded: of a container the last [`EACH`] events are kept, and when there are more than
//! [`ALL`] in all, those of the container to which nothing happened for longest go.

use std::collections::{BTreeMap, VecDeque};

use proto::hdds::LifeCycleState;
use rustc_hash::FxHashMap;
use types::{ContainerId, DatanodeId, PipelineId};

use super::order::Order;
use super::replica::ReplicaState;
use crate::time::Millis;

/// Events that are kept of a container. The life of an erasure-coded one with 14 replicas fits.
const EACH: usize = 64;
/// Events that are kept of all containers: bounds their memory, whatever SCM has to do.
const ALL: usize = 100_000;

/// Something that happened to a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It was created.
    Created {
        /// The pipeline that it is written through.
        pipeline: Option<PipelineId>,
    },
    /// It came into a state.
    Entered(LifeCycleState),
    /// It was being deleted, and a replica with blocks turned up: it is in this state again.
    Revived(LifeCycleState),
    /// A node reported a replica that was not known.
    Appeared {
        /// The node.
        node: DatanodeId,
        /// The replica's index, 0 for a full copy.
        index: u32,
        /// Its state.
        state: ReplicaState,
        /// Whether it had been ordered.
        awaited: bool,
    },
    /// A replica changed its state.
    Changed {
        /// Its node.
        node: DatanodeId,
        /// What it was.
        was: ReplicaState,
        /// What it is.
        state: ReplicaState,
    },
    /// A node has its replica no more.
    Gone {
        /// The node.
        node: DatanodeId,
    },
    /// A node that has a replica is dead: the replica does not count.
    Lost {
        /// The node.
        node: DatanodeId,
    },
    /// A node was told to do something.
    Ordered {
        /// The node, and what.
        order: Order,
        /// What asks for it: the container's health or state, the balancer, or an administrator.
        why: &'static str,
    },
    /// A replica that a node was to get does not come.
    Failed {
        /// The node.
        node: DatanodeId,
    },
    /// A replica did not come or go in time, and is not waited for any longer.
    Late {
        /// The node.
        node: DatanodeId,
    },
}

/// An event, and when it happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    /// When, for the first time.
    pub first: Millis,
    /// When, for the last time.
    pub last: Millis,
    /// How often.
    pub times: u32,
    /// What.
    pub event: Event,
}

/// What happened to all containers.
#[derive(Debug, Default)]
pub struct Histories {
    of: FxHashMap<ContainerId, History>,
    /// The containers, that to which nothing happened for longest first.
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
    /// What happened to a container, the oldest first.
    pub fn of(&self, id: ContainerId) -> impl Iterator<Item = &Happened> {
        self.of.get(&id).into_iter().flat_map(|history| &history.events)
    }

    /// Notes an event. An order that is repeated, and what happens again right behind itself, is
    /// counted.
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
