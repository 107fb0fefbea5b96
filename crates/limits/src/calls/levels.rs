//! Waiting calls: levels are served by weight, users within a level in turn, and verbs of a user in
//! turn.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;

/// Levels of waiting calls of type `W`.
#[derive(Debug)]
pub(super) struct Levels<W> {
    levels: Vec<Level<W>>,
    /// The current level, and the number of its calls left.
    current: usize,
    left: u32,
}

#[derive(Debug)]
struct Level<W> {
    weight: u32,
    capacity: usize,
    waiting: usize,
    users: FxHashMap<Arc<str>, Verbs<W>>,
    /// The users with calls, the next one first.
    order: VecDeque<Arc<str>>,
}

/// The calls of a user by verb, the next verb first.
type Verbs<W> = VecDeque<(u16, VecDeque<W>)>;

impl<W> Levels<W> {
    /// `capacity` calls may wait, in levels with these weights and shares of the capacity.
    pub(super) fn new(weights: &[u32], capacity_weights: &[u32], capacity: usize) -> Self {
        let all: u64 = capacity_weights.iter().map(|w| u64::from(*w)).sum();
        let part = |weight: u32| {
            let part = capacity as u128 * u128::from(weight) / u128::from(all.max(1));
            usize::try_from(part).unwrap_or(usize::MAX).max(1)
        };
        let levels = weights.iter().zip(capacity_weights).map(|(weight, capacity)| Level {
            weight: (*weight).max(1),
            capacity: part(*capacity),
            waiting: 0,
            users: FxHashMap::default(),
            order: VecDeque::new(),
        });
        let levels: Vec<Level<W>> = levels.collect();
        let left = levels.first().map_or(1, |level| level.weight);
        Self { levels, current: 0, left }
    }

    /// Appends a call to those of its level, user and verb, or of the next lower level if that is
    /// full. Returns the level, or the call if all are full.
    pub(super) fn push(
        &mut self,
        level: usize,
        user: &str,
        verb: u16,
        call: W,
    ) -> Result<usize, W> {
        let wanted = level.min(self.levels.len().saturating_sub(1));
        let mut below = self.levels.iter_mut().enumerate().skip(wanted);
        match below.find(|(_, level)| level.waiting < level.capacity) {
            Some((number, level)) => {
                level.push(user, verb, call);
                Ok(number)
            }
            None => Err(call),
        }
    }

    /// Removes the next call and returns it with its level. Without `heavy` only from the first
    /// level.
    pub(super) fn pop(&mut self, heavy: bool) -> Option<(usize, W)> {
        if !heavy {
            return Some((0, self.levels.first_mut()?.pop()?));
        }
        for _ in 0..=self.levels.len() {
            if self.left > 0
                && let Some(level) = self.levels.get_mut(self.current)
                && let Some(call) = level.pop()
            {
                self.left -= 1;
                return Some((self.current, call));
            }
            self.current = (self.current + 1) % self.levels.len().max(1);
            self.left = self.levels.get(self.current).map_or(1, |level| level.weight);
        }
        None
    }

    /// Number of waiting calls in each level.
    pub(super) fn waiting(&self) -> impl Iterator<Item = usize> + '_ {
        self.levels.iter().map(|level| level.waiting)
    }
}

impl<W> Level<W> {
    fn push(&mut self, user: &str, verb: u16, call: W) {
        self.waiting += 1;
        match self.users.get_mut(user) {
            Some(verbs) => match verbs.iter_mut().find(|(other, _)| *other == verb) {
                Some((_, calls)) => calls.push_back(call),
                None => verbs.push_back((verb, VecDeque::from([call]))),
            },
            None => {
                let user: Arc<str> = Arc::from(user);
                self.order.push_back(Arc::clone(&user));
                self.users.insert(user, VecDeque::from([(verb, VecDeque::from([call]))]));
            }
        }
    }

    fn pop(&mut self) -> Option<W> {
        let user = self.order.pop_front()?;
        let verbs = self.users.get_mut(&user)?;
        let (verb, mut calls) = verbs.pop_front()?;
        let call = calls.pop_front();
        if !calls.is_empty() {
            verbs.push_back((verb, calls));
        }
        match verbs.is_empty() {
            true => drop(self.users.remove(&user)),
            false => self.order.push_back(user),
        }
        self.waiting = self.waiting.saturating_sub(1);
        call
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Removes all calls, in order.
    fn drain(levels: &mut Levels<String>) -> Vec<String> {
        std::iter::from_fn(|| levels.pop(true).map(|(_, call)| call)).collect()
    }

    fn push(levels: &mut Levels<String>, level: usize, user: &str, verb: u16, count: usize) {
        for n in 0..count {
            levels.push(level, user, verb, format!("{user}{verb}-{n}")).unwrap();
        }
    }

    #[test]
    fn levels_take_turns_by_weight() {
        let mut levels = Levels::new(&[3, 1], &[1, 1], 100);
        push(&mut levels, 1, "flood", 0, 20);
        push(&mut levels, 0, "light", 0, 7);
        let order: String = drain(&mut levels).iter().take(12).map(|c| &c[..1]).collect();
        assert_eq!(order, "lllflllflfff");
    }

    #[test]
    fn users_and_then_verbs_take_turns_within_a_level() {
        let mut levels = Levels::new(&[1], &[1], 100);
        push(&mut levels, 0, "a", 1, 4);
        push(&mut levels, 0, "a", 2, 2);
        push(&mut levels, 0, "b", 1, 2);
        let order = drain(&mut levels);
        assert_eq!(order, ["a1-0", "b1-0", "a2-0", "b1-1", "a1-1", "a2-1", "a1-2", "a1-3"]);
        assert_eq!(levels.waiting().sum::<usize>(), 0);
        assert!(levels.levels[0].users.is_empty() && levels.levels[0].order.is_empty());
    }

    #[test]
    fn a_full_level_overflows_into_the_one_below_and_a_full_queue_refuses() {
        let mut levels = Levels::new(&[1, 1], &[3, 1], 4);
        push(&mut levels, 0, "a", 0, 4);
        assert_eq!(levels.waiting().collect::<Vec<_>>(), [3, 1]);
        assert_eq!(levels.push(0, "a", 0, "one".to_owned()), Err("one".to_owned()));
        assert_eq!(levels.pop(false).map(|(level, _)| level), Some(0));
        assert_eq!(levels.push(1, "b", 0, "low".to_owned()), Err("low".to_owned()));
        assert_eq!(levels.push(9, "b", 0, "none".to_owned()), Err("none".to_owned()));
        assert_eq!(levels.push(0, "b", 0, "high".to_owned()), Ok(0));
        assert_eq!(drain(&mut levels).len(), 4);
        assert_eq!(levels.pop(false), None);
    }
}
