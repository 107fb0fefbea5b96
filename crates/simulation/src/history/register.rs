//! One value that is read, replaced, compared and added to.

use super::{Event, Model, Verdict, check};

/// An operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// A read.
    Read,
    /// Put this there. No value is written twice.
    Write(String),
    /// Put the second there if the first is.
    Swap(String, String),
    /// Appends to the value, with a comma between.
    Append(String),
}

impl Op {
    /// The value after an append.
    pub fn appended(there: Option<&str>, value: &str) -> String {
        there.map_or_else(|| value.to_owned(), |there| format!("{there},{value}"))
    }
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The value.
    Value(Option<String>),
    /// Done.
    Written,
    /// The first was there, and is replaced.
    Swapped,
    /// This was there instead.
    Refused(Option<String>),
}

/// The model of one register.
pub struct Register;

impl Model for Register {
    type State = Option<String>;
    type Op = Op;
    type Answer = Answer;

    fn step(
        &self,
        state: &Option<String>,
        op: &Op,
        answer: Option<&Answer>,
    ) -> Option<Option<String>> {
        match (op, answer) {
            (Op::Read, Some(Answer::Value(value))) => (value == state).then(|| state.clone()),
            (Op::Read, _) => Some(state.clone()),
            (Op::Write(value), _) => Some(Some(value.clone())),
            (Op::Append(value), _) => Some(Some(Op::appended(state.as_deref(), value))),
            (Op::Swap(from, to), answer) => {
                let fits = state.as_ref() == Some(from);
                let after = if fits { Some(to.clone()) } else { state.clone() };
                match answer {
                    Some(Answer::Refused(value)) if fits || value != state => None,
                    Some(Answer::Swapped) if !fits => None,
                    _ => Some(after),
                }
            }
        }
    }
}

/// Checks a history. Writes without a response whose value no read returned are ignored: the
/// history is explained as well without them.
pub fn verdict(mut events: Vec<Event<Op, Answer>>, most: u64) -> Verdict {
    let mut met: Vec<String> = Vec::new();
    for event in &events {
        if let Op::Swap(from, _) = &event.op {
            met.push(from.clone());
        }
        if let Some(Answer::Value(Some(value)) | Answer::Refused(Some(value))) = &event.answer {
            met.push(value.clone());
        }
    }
    met.sort_unstable();
    let known = |value: &String| met.binary_search(value).is_ok();
    events.retain(|event| match &event.op {
        Op::Read => event.answer.is_some(),
        Op::Append(_) => true,
        Op::Write(value) | Op::Swap(_, value) => event.answer.is_some() || known(value),
    });
    events.sort_by_key(|event| event.asked);
    check(&Register, None, &events, most)
}

#[cfg(test)]
mod tests {
    use super::super::NEVER;
    use super::*;

    fn event(op: Op, answer: Option<Answer>, asked: u64, answered: u64) -> Event<Op, Answer> {
        Event { op, answer, asked, answered }
    }

    fn write(value: &str, asked: u64, answered: u64) -> Event<Op, Answer> {
        let answer = (answered != NEVER).then_some(Answer::Written);
        event(Op::Write(value.into()), answer, asked, answered)
    }

    fn read(value: Option<&str>, asked: u64, answered: u64) -> Event<Op, Answer> {
        let answer = Answer::Value(value.map(str::to_owned));
        event(Op::Read, Some(answer), asked, answered)
    }

    #[test]
    fn what_overlaps_may_come_in_any_order() {
        let events = vec![write("a", 0, 10), write("b", 1, 9), read(Some("a"), 11, 12)];
        assert_eq!(verdict(events, 1000), Verdict::Linearizable);
    }

    #[test]
    fn a_read_of_what_was_replaced_before_it_is_stale() {
        let events = vec![write("a", 0, 1), write("b", 2, 3), read(Some("a"), 4, 5)];
        assert_eq!(verdict(events, 1000), Verdict::Not);
    }

    #[test]
    fn a_lost_write_is_found() {
        assert_eq!(verdict(vec![write("a", 0, 1), read(None, 2, 3)], 1000), Verdict::Not);
    }

    #[test]
    fn a_write_without_an_answer_may_come_late_or_never_but_only_once() {
        let late = vec![write("a", 0, NEVER), read(None, 1, 2), read(Some("a"), 3, 4)];
        assert_eq!(verdict(late, 1000), Verdict::Linearizable);
        let back = vec![
            write("a", 0, NEVER),
            write("b", 1, 2),
            read(Some("a"), 3, 4),
            read(Some("b"), 5, 6),
        ];
        assert_eq!(verdict(back, 1000), Verdict::Not);
    }

    #[test]
    fn a_swap_needs_what_it_names() {
        let swap = |answer: Answer, asked| {
            event(Op::Swap("a".into(), "b".into()), Some(answer), asked, asked + 1)
        };
        let refused = Answer::Refused(Some("b".into()));
        let good = vec![
            write("a", 0, 1),
            swap(Answer::Swapped, 2),
            swap(refused.clone(), 4),
            read(Some("b"), 6, 7),
        ];
        assert_eq!(verdict(good, 1000), Verdict::Linearizable);
        let bad = vec![write("a", 0, 1), swap(Answer::Swapped, 2), swap(Answer::Swapped, 4)];
        assert_eq!(verdict(bad, 1000), Verdict::Not);
        assert_eq!(verdict(vec![write("a", 0, 1), swap(refused, 2)], 1000), Verdict::Not);
    }

    #[test]
    fn a_refused_swap_meets_a_write_that_nobody_knew_of() {
        let refused = Answer::Refused(Some("b".into()));
        let swap = event(Op::Swap("a".into(), "c".into()), Some(refused), 4, 5);
        let events = vec![write("a", 0, 1), write("b", 2, NEVER), swap];
        assert_eq!(verdict(events, 1000), Verdict::Linearizable);
    }

    #[test]
    fn what_is_added_is_there_once_and_behind_what_was_there() {
        let add = |value: &str, asked| {
            event(Op::Append(value.into()), Some(Answer::Written), asked, asked + 1)
        };
        let seen = |list: &str| vec![add("a", 0), add("b", 2), read(Some(list), 4, 5)];
        assert_eq!(verdict(seen("a,b"), 1000), Verdict::Linearizable);
        for wrong in ["a", "b", "b,a", "a,b,b"] {
            assert_eq!(verdict(seen(wrong), 1000), Verdict::Not, "{wrong}");
        }
    }

    #[test]
    fn a_search_that_is_too_long_says_so() {
        assert_eq!(verdict(vec![write("a", 0, 1), read(None, 2, 3)], 1), Verdict::Unknown);
    }
}
