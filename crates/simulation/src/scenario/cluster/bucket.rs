//! A bucket with a few keys, as one copy that does one thing at a time would keep it.

use std::collections::BTreeMap;

use crate::history::Model;

/// Operations. Keys are numbers, and so are contents; no content is written twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Writes a key, replacing its content.
    Put(u8, u64),
    /// Read a key.
    Get(u8),
    /// Delete a key.
    Delete(u8),
    /// Rename a key.
    Rename(u8, u8),
    /// Lists the keys.
    List,
    /// Takes a snapshot.
    Snapshot,
}

/// Responses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Done.
    Done,
    /// There is no such key.
    Missing,
    /// There is a key of that name.
    Taken,
    /// A key's content.
    Content(u64),
    /// The keys.
    Names(Vec<u8>),
    /// The keys with their contents.
    Contents(BTreeMap<u8, u64>),
}

/// The model of a bucket.
pub struct Keys;

impl Model for Keys {
    type State = BTreeMap<u8, u64>;
    type Op = Op;
    type Answer = Answer;

    fn step(&self, state: &Self::State, op: &Op, answer: Option<&Answer>) -> Option<Self::State> {
        let mut next = state.clone();
        let would = match op {
            Op::Put(key, content) => {
                next.insert(*key, *content);
                Answer::Done
            }
            Op::Get(key) => match state.get(key) {
                Some(content) => Answer::Content(*content),
                None => Answer::Missing,
            },
            Op::Delete(key) => match next.remove(key) {
                Some(_) => Answer::Done,
                None => Answer::Missing,
            },
            Op::Rename(from, to) => {
                let content = state.get(from);
                match content {
                    // The bucket's layout determines which of the two is checked first.
                    None if answer == Some(&Answer::Taken) && state.contains_key(to) => {
                        Answer::Taken
                    }
                    None => Answer::Missing,
                    Some(_) if state.contains_key(to) => Answer::Taken,
                    Some(content) => {
                        next.remove(from);
                        next.insert(*to, *content);
                        Answer::Done
                    }
                }
            }
            Op::List => Answer::Names(state.keys().copied().collect()),
            Op::Snapshot => Answer::Contents(state.clone()),
        };
        answer.is_none_or(|answer| *answer == would).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Event, NEVER, Verdict, check};

    fn event(op: Op, answer: Option<Answer>, asked: u64) -> Event<Op, Answer> {
        let answered = if answer.is_some() { asked + 1 } else { NEVER };
        Event { op, answer, asked, answered }
    }

    fn verdict(events: &[Event<Op, Answer>]) -> Verdict {
        check(&Keys, BTreeMap::new(), events, 10_000)
    }

    #[test]
    fn a_key_moves_with_its_content_and_is_in_one_place() {
        let mut events = vec![
            event(Op::Put(1, 100), Some(Answer::Done), 0),
            event(Op::Rename(1, 2), Some(Answer::Done), 2),
            event(Op::Get(2), Some(Answer::Content(100)), 4),
            event(Op::List, Some(Answer::Names(vec![2])), 6),
        ];
        assert_eq!(verdict(&events), Verdict::Linearizable);
        events.push(event(Op::Get(1), Some(Answer::Content(100)), 8));
        assert_eq!(verdict(&events), Verdict::Not);
    }

    #[test]
    fn a_snapshot_holds_what_was_there_at_one_moment_of_its_creation() {
        let puts = [
            event(Op::Put(1, 100), Some(Answer::Done), 0),
            event(Op::Put(2, 200), Some(Answer::Done), 2),
            event(Op::Put(1, 101), Some(Answer::Done), 4),
        ];
        let snapshot = |contents: &[(u8, u64)]| {
            let answer = Answer::Contents(contents.iter().copied().collect());
            Event { op: Op::Snapshot, answer: Some(answer), asked: 1, answered: 4 }
        };
        for (contents, expected) in [
            (&[(1, 100)][..], Verdict::Linearizable),
            (&[(1, 100), (2, 200)], Verdict::Linearizable),
            (&[(1, 101), (2, 200)], Verdict::Linearizable),
            (&[(2, 200)], Verdict::Not),
            (&[(1, 101)], Verdict::Not),
        ] {
            let mut events = puts.to_vec();
            events.insert(1, snapshot(contents));
            assert_eq!(verdict(&events), expected, "{contents:?}");
        }
    }

    #[test]
    fn a_rename_of_unknown_outcome_is_done_once_or_not_at_all() {
        let moved = event(Op::Rename(1, 2), None, 2);
        let put = event(Op::Put(1, 100), Some(Answer::Done), 0);
        for (names, good) in
            [(vec![1], true), (vec![2], true), (vec![], false), (vec![1, 2], false)]
        {
            let list = event(Op::List, Some(Answer::Names(names)), 4);
            let expected = if good { Verdict::Linearizable } else { Verdict::Not };
            assert_eq!(verdict(&[put.clone(), moved.clone(), list]), expected);
        }
    }
}
