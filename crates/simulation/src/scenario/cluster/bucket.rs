//! A bucket with a few keys, as one copy that does one thing at a time would keep it.

use std::collections::BTreeMap;

use crate::history::Model;

/// What is asked of it. Keys are numbers, and so are contents; no content is written twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Write a key, over what is there.
    Put(u8, u64),
    /// Read a key.
    Get(u8),
    /// Delete a key.
    Delete(u8),
    /// Rename a key.
    Rename(u8, u8),
    /// Which keys are there?
    List,
}

/// What it answers.
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
