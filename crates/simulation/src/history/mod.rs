//! Checks that one sequential copy could have given the responses that clients saw
//! (linearizability; the search is Wing and Gong's, with Lowe's memory of failed states).

pub mod conditional;
pub mod register;

use std::collections::HashSet;
use std::hash::Hash;

/// Time of a response that never arrived.
pub const NEVER: u64 = u64::MAX;

/// One call of one client.
#[derive(Debug, Clone)]
pub struct Event<O, A> {
    /// The operation.
    pub op: O,
    /// The response; `None` if it is unknown whether the call was executed.
    pub answer: Option<A>,
    /// Time of the request.
    pub asked: u64,
    /// Time of the response, [`NEVER`] without one.
    pub answered: u64,
}

/// The sequential copy.
pub trait Model {
    /// Its state.
    type State: Clone + Eq + Hash;
    /// Its operations.
    type Op;
    /// Its responses.
    type Answer;

    /// The state after `op`, when `answer` is what it would have answered.
    fn step(
        &self,
        state: &Self::State,
        op: &Self::Op,
        answer: Option<&Self::Answer>,
    ) -> Option<Self::State>;
}

/// Result of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// There is an order.
    Linearizable,
    /// There is none.
    Not,
    /// The search was stopped without a result.
    Unknown,
}

struct Search<'a, M: Model> {
    model: &'a M,
    events: &'a [Event<M::Op, M::Answer>],
    seen: HashSet<(Vec<u64>, M::State)>,
    left: u64,
}

/// Searches for an order of the events, which are sorted by `asked`, in at most `most` steps.
pub fn check<M: Model>(
    model: &M,
    start: M::State,
    events: &[Event<M::Op, M::Answer>],
    most: u64,
) -> Verdict {
    let done = vec![0; events.len().div_ceil(64)];
    let mut search = Search { model, events, seen: HashSet::new(), left: most };
    match search.can_be_ordered(done, &start, 0) {
        true => Verdict::Linearizable,
        false if search.left == 0 => Verdict::Unknown,
        false => Verdict::Not,
    }
}

impl<M: Model> Search<'_, M> {
    /// Returns `true` if the remaining calls can be ordered; all before `first` are done.
    fn can_be_ordered(&mut self, done: Vec<u64>, state: &M::State, mut first: usize) -> bool {
        let is_done = |at: usize| done[at / 64] >> (at % 64) & 1 == 1;
        while first < self.events.len() && is_done(first) {
            first += 1;
        }
        // No call that began after another one's response can be before that one.
        let mut limit = NEVER;
        let mut candidates = Vec::new();
        for (at, event) in self.events.iter().enumerate().skip(first) {
            if event.asked > limit {
                break;
            }
            if !is_done(at) {
                limit = limit.min(event.answered);
                candidates.push(at);
            }
        }
        if limit == NEVER {
            // A call without an answer may as well not have happened.
            return true;
        }
        if self.left == 0 || !self.seen.insert((done.clone(), state.clone())) {
            return false;
        }
        self.left -= 1;
        // Those with an answer first: calls without one are needed rarely.
        candidates.sort_by_key(|at| self.events[*at].answered);
        for at in candidates {
            let event = &self.events[at];
            if event.asked > limit {
                continue;
            }
            if let Some(next) = self.model.step(state, &event.op, event.answer.as_ref()) {
                let mut more = done.clone();
                more[at / 64] |= 1 << (at % 64);
                if self.can_be_ordered(more, &next, first) {
                    return true;
                }
            }
        }
        false
    }
}
