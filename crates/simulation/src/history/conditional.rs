//! One value that is read, replaced and deleted, and that a write or a deletion may have a
//! condition on, as an object of S3 has it.

use super::{Event, Model, Verdict, check};

/// Condition of a write or a deletion on the current value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// Nothing.
    None,
    /// There must be none.
    Absent,
    /// It must be this one.
    Is(u64),
}

impl Condition {
    fn holds(self, state: Option<u64>) -> bool {
        match self {
            Self::None => true,
            Self::Absent => state.is_none(),
            Self::Is(value) => state == Some(value),
        }
    }
}

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// A read.
    Read,
    /// Is this there?
    Has(u64),
    /// Put this there. No value is written twice.
    Write(u64, Condition),
    /// Deletes the value.
    Delete(Condition),
}

/// A response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The value.
    Value(Option<u64>),
    /// It is not.
    No,
    /// Done.
    Done,
    /// The condition does not hold.
    Refused,
    /// There is no value, and the condition names one.
    Missing,
}

/// The model of one value.
pub struct Conditional;

impl Model for Conditional {
    type State = Option<u64>;
    type Op = Op;
    type Answer = Answer;

    fn step(&self, state: &Option<u64>, op: &Op, answer: Option<&Answer>) -> Option<Option<u64>> {
        let (condition, after) = match op {
            Op::Read => {
                let is_right = answer.is_none_or(|answer| *answer == Answer::Value(*state));
                return is_right.then_some(*state);
            }
            Op::Has(value) => return (*state != Some(*value)).then_some(*state),
            Op::Write(value, condition) => (*condition, Some(*value)),
            Op::Delete(condition) => (*condition, None),
        };
        let names_a_value = matches!(condition, Condition::Is(_));
        match (condition.holds(*state), answer) {
            (true, None | Some(Answer::Done)) => Some(after),
            (false, Some(Answer::Refused)) => Some(*state),
            (false, Some(Answer::Missing)) if names_a_value && state.is_none() => Some(*state),
            // A call of unknown outcome whose condition does not hold did nothing, as if it was
            // never executed.
            _ => None,
        }
    }
}

/// Checks a history. Reads without a response are ignored. All other calls remain: a write of
/// unknown outcome that no read returned may be the reason for another one's refusal.
pub fn verdict(mut events: Vec<Event<Op, Answer>>, most: u64) -> Verdict {
    events.retain(|event| event.answer.is_some() || !matches!(event.op, Op::Read | Op::Has(_)));
    events.sort_by_key(|event| event.asked);
    check(&Conditional, None, &events, most)
}

#[cfg(test)]
mod tests {
    use super::super::NEVER;
    use super::*;

    const ABSENT: Condition = Condition::Absent;

    fn at(asked: u64, op: Op, answer: Answer) -> Event<Op, Answer> {
        Event { op, answer: Some(answer), asked, answered: asked + 1 }
    }

    fn lost(asked: u64, op: Op) -> Event<Op, Answer> {
        Event { op, answer: None, asked, answered: NEVER }
    }

    fn read(asked: u64, value: Option<u64>) -> Event<Op, Answer> {
        at(asked, Op::Read, Answer::Value(value))
    }

    fn holds(events: &[Event<Op, Answer>]) -> bool {
        verdict(events.to_vec(), 10_000) == Verdict::Linearizable
    }

    #[test]
    fn of_many_that_need_nothing_there_one_wins() {
        let write = |value| Op::Write(value, ABSENT);
        let put = |value, answer| Event {
            op: write(value),
            answer: Some(answer),
            asked: 0,
            answered: 10,
        };
        let one = [put(1, Answer::Done), put(2, Answer::Refused), put(3, Answer::Refused)];
        assert!(holds(&one));
        let two = [put(1, Answer::Done), put(2, Answer::Done), put(3, Answer::Refused)];
        assert!(!holds(&two));
        let none = [put(1, Answer::Refused), put(2, Answer::Refused)];
        assert!(!holds(&none), "nothing was there to refuse them for");
        // The one of unknown outcome may be what the others were refused for.
        let unknown = [lost(0, write(3)), put(1, Answer::Refused), put(2, Answer::Refused)];
        assert!(holds(&unknown));
        assert!(holds(&[&unknown[..], &[read(20, Some(3))]].concat()));
        assert!(!holds(&[&unknown[..], &[read(20, None)]].concat()), "it was done before");
        assert!(!holds(&[&unknown[..], &[read(20, Some(1))]].concat()), "it was refused");
    }

    #[test]
    fn what_names_a_value_replaces_that_one_only() {
        let swap =
            |asked, value, of, answer| at(asked, Op::Write(value, Condition::Is(of)), answer);
        let first = at(0, Op::Write(1, Condition::None), Answer::Done);
        let swapped = swap(2, 2, 1, Answer::Done);
        assert!(holds(&[first.clone(), swapped.clone(), read(4, Some(2))]));
        assert!(!holds(&[first.clone(), swapped.clone(), swap(4, 3, 1, Answer::Done)]));
        assert!(holds(&[first.clone(), swapped.clone(), swap(4, 3, 1, Answer::Refused)]));
        assert!(!holds(&[first.clone(), swapped, swap(4, 3, 1, Answer::Missing)]));
        let deleted = at(2, Op::Delete(Condition::Is(1)), Answer::Done);
        for answer in [Answer::Missing, Answer::Refused] {
            assert!(holds(&[first.clone(), deleted.clone(), swap(4, 2, 1, answer)]));
        }
        assert!(!holds(&[first, swap(2, 2, 1, Answer::Refused)]), "it was there");
    }

    #[test]
    fn a_call_of_unknown_outcome_comes_late_or_never_but_only_once() {
        let first = at(0, Op::Write(1, Condition::None), Answer::Done);
        let deletion = lost(2, Op::Delete(Condition::None));
        let kept = [first.clone(), deletion.clone(), read(4, Some(1)), read(6, None)];
        assert!(holds(&kept));
        let again = at(8, Op::Write(2, Condition::None), Answer::Done);
        let twice = [&kept[..], &[again.clone(), read(10, None)]].concat();
        assert!(!holds(&twice));
        // A call whose condition no longer holds has no effect.
        let swap = lost(2, Op::Write(3, Condition::Is(1)));
        assert!(!holds(&[first, swap, again, read(10, Some(3))]));
    }

    #[test]
    fn that_a_value_is_not_there_is_an_answer() {
        let first = at(0, Op::Write(1, Condition::None), Answer::Done);
        let no = at(2, Op::Has(1), Answer::No);
        assert!(!holds(&[first.clone(), no.clone()]));
        let other = Event { asked: 1, ..at(1, Op::Write(2, Condition::None), Answer::Done) };
        assert!(holds(&[first, other, no]));
    }
}
