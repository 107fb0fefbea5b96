//! The life of a container.
//!
//! ```text
//! OPEN ─FINALIZE→ CLOSING ─CLOSE→ CLOSED ─DELETE→ DELETING ─CLEANUP→ DELETED
//!                    └─QUASI_CLOSE→ QUASI_CLOSED ─FORCE_CLOSE→ CLOSED
//! ```
//! CLOSED: all replicas agree on the last write. QUASI_CLOSED: a replica was closed without asking
//! its group, so it may lack writes that others have; it becomes CLOSED when enough of them have
//! been seen to know the last one.

use proto::hdds::{LifeCycleEvent as Event, LifeCycleState as State};

/// The state that `event` leads to, `None` when the event does not fit the state.
pub fn next(state: State, event: Event) -> Option<State> {
    match (state, event) {
        (State::Open, Event::Finalize) => Some(State::Closing),
        (State::Closing, Event::Close) => Some(State::Closed),
        (State::Closing, Event::QuasiClose) => Some(State::QuasiClosed),
        (State::QuasiClosed, Event::ForceClose) => Some(State::Closed),
        (State::Closed, Event::Delete) => Some(State::Deleting),
        (State::Deleting, Event::Cleanup) => Some(State::Deleted),
        _ => None,
    }
}

/// Returns `true` if the container is CLOSED or QUASI_CLOSED: it takes no more writes.
pub fn is_closed(state: State) -> bool {
    matches!(state, State::Closed | State::QuasiClosed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_that_is_not_in_the_picture_is_refused() {
        const STATES: [State; 7] = [
            State::Open,
            State::Closing,
            State::QuasiClosed,
            State::Closed,
            State::Deleting,
            State::Deleted,
            State::Recovering,
        ];
        const EVENTS: [Event; 6] = [
            Event::Finalize,
            Event::QuasiClose,
            Event::Close,
            Event::ForceClose,
            Event::Delete,
            Event::Cleanup,
        ];
        let allowed = STATES
            .iter()
            .flat_map(|s| EVENTS.iter().map(move |e| (*s, *e)))
            .filter_map(|(s, e)| next(s, e).map(|to| format!("{s:?} {e:?} {to:?}")))
            .collect::<Vec<_>>();
        assert_eq!(
            allowed,
            [
                "Open Finalize Closing",
                "Closing QuasiClose QuasiClosed",
                "Closing Close Closed",
                "QuasiClosed ForceClose Closed",
                "Closed Delete Deleting",
                "Deleting Cleanup Deleted",
            ]
        );
    }
}
