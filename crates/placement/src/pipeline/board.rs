//! The choice of members: which nodes have room, which are together already, and in which racks.
//!
//! A board holds what planning needs of the nodes and pipelines of one replication, so that plans
//! can be tried out on a copy. The next three members always include the node with the most room.
//! Of all sets of three with it, the best one, in this order:
//! 1. leaves room so that as many further pipelines can follow as before (less this one);
//! 2. is not the set of another pipeline;
//! 3. has two members in one rack and one in another;
//! 4. takes the two from the rack with more room;
//! 5. has the least in common with other pipelines, so that the loss of a node spreads over all
//!    others.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use types::DatanodeId;

/// Maximum of seats considered for one choice: those with the most room, of several racks.
const POOL: usize = 16;

/// Maximum of racks considered for one choice.
const RACKS: usize = 4;

/// A node available for new pipelines.
#[derive(Debug, Clone)]
pub(super) struct Seat {
    pub id: DatanodeId,
    /// Number of its rack.
    rack: usize,
    /// Maximum number of its pipelines.
    pub limit: usize,
    /// Number of its pipelines.
    pub pipelines: usize,
    /// Number of pipelines of which it is the preferred leader.
    pub leads: usize,
}

impl Seat {
    fn room(&self) -> usize {
        self.limit.saturating_sub(self.pipelines)
    }
}

/// Nodes with room, and the pipelines that they share.
#[derive(Debug, Clone, Default)]
pub(super) struct Board {
    seats: Vec<Seat>,
    at: FxHashMap<DatanodeId, usize>,
    racks: FxHashMap<String, usize>,
    /// Pipelines that both nodes are members of; the lower id first.
    pairs: FxHashMap<(DatanodeId, DatanodeId), u32>,
    /// Pipelines of exactly these nodes, sorted.
    sets: FxHashMap<Vec<DatanodeId>, u32>,
}

impl Board {
    /// Adds a node without pipelines.
    pub fn add_node(&mut self, id: DatanodeId, location: &str, limit: usize) {
        let next = self.racks.len();
        let rack = *self.racks.entry(location.to_owned()).or_insert(next);
        self.at.insert(id, self.seats.len());
        self.seats.push(Seat { id, rack, limit, pipelines: 0, leads: 0 });
    }

    /// Adds a pipeline; members that are not on the board count for what the others have in common
    /// only.
    pub fn add_pipeline(&mut self, members: &[DatanodeId], leader: Option<DatanodeId>) {
        self.count(members, leader, 1);
    }

    /// Removes a pipeline.
    pub fn remove_pipeline(&mut self, members: &[DatanodeId], leader: Option<DatanodeId>) {
        self.count(members, leader, -1);
    }

    fn count(&mut self, members: &[DatanodeId], leader: Option<DatanodeId>, by: i32) {
        let set = sorted(members);
        for (i, a) in set.iter().enumerate() {
            if let Some(seat) = self.at.get(a).and_then(|at| self.seats.get_mut(*at)) {
                seat.pipelines = seat.pipelines.saturating_add_signed(by as isize);
                if leader == Some(*a) {
                    seat.leads = seat.leads.saturating_add_signed(by as isize);
                }
            }
            for b in set.iter().skip(i.saturating_add(1)) {
                let pair = self.pairs.entry((*a, *b)).or_default();
                *pair = pair.saturating_add_signed(by);
            }
        }
        let sets = self.sets.entry(set).or_default();
        *sets = sets.saturating_add_signed(by);
    }

    /// Nodes that could take part in a pipeline and take part in none.
    pub fn idle(&self) -> usize {
        self.seats.iter().filter(|s| s.limit > 0 && s.pipelines == 0).count()
    }

    /// Pipelines beyond the first of each set of nodes.
    pub fn duplicates(&self) -> usize {
        self.sets.values().map(|n| n.saturating_sub(1) as usize).fold(0, usize::saturating_add)
    }

    /// Pipelines whose members all are in one rack although there are others.
    pub fn misplaced(&self) -> usize {
        let bad = |(set, _): &(&Vec<DatanodeId>, &u32)| self.is_misplaced(set);
        self.sets.iter().filter(bad).map(|(_, n)| *n as usize).fold(0, usize::saturating_add)
    }

    /// Returns `true` if all of these nodes are in one rack although there are others.
    pub fn is_misplaced(&self, members: &[DatanodeId]) -> bool {
        let racks: Vec<_> = members.iter().filter_map(|m| self.rack_of(*m)).collect();
        self.racks.len() > 1
            && racks.len() == members.len()
            && racks.windows(2).all(|w| w[0] == w[1])
    }

    /// Returns `true` if several pipelines consist of exactly these nodes.
    pub fn is_duplicate(&self, members: &[DatanodeId]) -> bool {
        self.sets.get(&sorted(members)).is_some_and(|n| *n > 1)
    }

    /// Pipelines of that many members that could be made if none were there.
    pub fn most(&self, size: usize) -> usize {
        most(self.seats.iter().map(|s| s.limit), size)
    }

    /// Pipelines of a member.
    pub fn load(&self, id: DatanodeId) -> usize {
        self.at.get(&id).and_then(|at| self.seats.get(*at)).map_or(0, |s| s.pipelines)
    }

    /// Lets every node take part in any number of pipelines.
    pub fn lift_limits(&mut self) {
        self.seats.iter_mut().for_each(|s| s.limit = usize::MAX >> 8);
    }

    /// Keeps nodes from being chosen.
    pub fn avoid(&mut self, nodes: &[DatanodeId]) {
        for id in nodes {
            if let Some(seat) = self.at.get(id).and_then(|at| self.seats.get_mut(*at)) {
                seat.limit = 0;
            }
        }
    }

    fn rack_of(&self, id: DatanodeId) -> Option<usize> {
        self.at.get(&id).and_then(|at| self.seats.get(*at)).map(|s| s.rack)
    }

    /// The members of one more pipeline of that size, 1 or 3, and which of them shall lead. `None`
    /// when too few have room, or all that have are in one rack although there are others.
    pub fn choose(&self, size: usize) -> Option<(Vec<DatanodeId>, DatanodeId)> {
        let mut free: Vec<&Seat> = self.seats.iter().filter(|s| s.room() > 0).collect();
        if free.len() < size {
            return None;
        }
        // The most room first; of several such the one with the fewest pipelines.
        free.sort_by_key(|s| (Reverse(s.room()), s.pipelines, s.id));
        let chosen =
            if size == 1 { vec![*free.first()?] } else { self.best_three(&free)?.to_vec() };
        let leader = chosen.iter().min_by_key(|s| (s.leads, s.id))?.id;
        Some((chosen.iter().map(|s| s.id).collect(), leader))
    }

    fn best_three<'a>(&self, free: &[&'a Seat]) -> Option<[&'a Seat; 3]> {
        let mut room = vec![0_usize; self.racks.len()];
        for seat in free {
            room[seat.rack] = room[seat.rack].saturating_add(seat.room());
        }
        let total = most(free.iter().map(|s| s.room()), 3);
        let others = free.iter().map(|s| s.room().min(total.saturating_sub(1)));
        let left = others.fold(0, usize::saturating_add);
        let pool = pool(free, &room);
        // With the node that has the most room; if its rack allows none, with the next one.
        (0..pool.len()).find_map(|first| {
            let a = pool.get(first)?;
            let rest = pool.get(first.saturating_add(1)..)?;
            let pairs = rest.iter().enumerate().flat_map(|(i, b)| {
                rest.get(i.saturating_add(1)..).into_iter().flatten().map(move |c| [*a, *b, *c])
            });
            let scored =
                pairs.filter_map(|three| Some((self.score(&three, &room, total, left)?, three)));
            scored.min_by_key(|(score, _)| *score).map(|(_, three)| three)
        })
    }

    /// The lower the better; `None` when the three must not be together.
    fn score(
        &self,
        three: &[&Seat; 3],
        room: &[usize],
        total: usize,
        left: usize,
    ) -> Option<impl Ord + Copy + use<>> {
        let [a, b, c] = three;
        let mut racks = [a.rack, b.rack, c.rack];
        racks.sort_unstable();
        let (one, two) = (racks[0] == racks[1], racks[1] == racks[2]);
        let spread = match (one, two) {
            (true, true) if self.racks.len() > 1 => return None,
            (true, true) => (0, false),
            // The rack in the middle has two of them; the other one is at an end.
            (true, false) => (0, room[racks[1]] < room[racks[2]]),
            (false, true) => (0, room[racks[1]] < room[racks[0]]),
            (false, false) => (1, false),
        };
        let taken = three.iter().filter(|s| s.room() < total).count();
        let wastes = left.saturating_sub(taken) < total.saturating_sub(1).saturating_mul(3);
        let ids = sorted(&[a.id, b.id, c.id]);
        let pair = |x: usize, y: usize| self.pairs.get(&(ids[x], ids[y])).copied().unwrap_or(0);
        let common = [pair(0, 1), pair(0, 2), pair(1, 2)].into_iter().fold(0, u32::saturating_add);
        let again = self.sets.get(&ids).copied().unwrap_or(0);
        let rooms: usize = three.iter().map(|s| s.room()).fold(0, usize::saturating_add);
        Some((wastes, again, spread, common, Reverse(rooms), ids[0], ids[1], ids[2]))
    }
}

/// The seats worth looking at: of the racks with the most room, those with the most room.
fn pool<'a>(free: &[&'a Seat], room: &[usize]) -> Vec<&'a Seat> {
    let mut racks: Vec<usize> = (0..room.len()).filter(|r| room[*r] > 0).collect();
    racks.sort_by_key(|r| (Reverse(room[*r]), *r));
    racks.truncate(RACKS);
    let share = POOL.checked_div(racks.len()).unwrap_or(POOL);
    let mut taken = vec![0_usize; room.len()];
    let fits = |s: &&&Seat| {
        taken[s.rack] = taken[s.rack].saturating_add(1);
        racks.contains(&s.rack) && taken[s.rack] <= share
    };
    free.iter().filter(fits).copied().collect()
}

/// Maximum number of sets of `size` different nodes, with a limit of sets per node.
fn most(rooms: impl Iterator<Item = usize> + Clone, size: usize) -> usize {
    let whole = |n: usize| {
        let sum = rooms.clone().map(|r| r.min(n)).fold(0_usize, usize::saturating_add);
        sum.checked_div(size).unwrap_or(sum)
    };
    let (mut low, mut high) = (0_usize, whole(usize::MAX));
    while low < high {
        let middle = low.saturating_add(high.saturating_sub(low).div_ceil(2));
        if whole(middle) >= middle { low = middle } else { high = middle.saturating_sub(1) }
    }
    low
}

fn sorted(ids: &[DatanodeId]) -> Vec<DatanodeId> {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids
}
