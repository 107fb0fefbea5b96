//! States of a container replica.
//!
//! ```text
//! RECOVERING ─┐
//!             ├─► CLOSED
//! OPEN ─► CLOSING ─► QUASI_CLOSED ─► CLOSED        any ─► UNHEALTHY ─► DELETED
//!                         ▲                                   │
//!                         └──────────── repaired ─────────────┘
//! ```
//! A replica closes through its pipeline's log (CLOSED) or, when the pipeline is gone, by itself
//! (QUASI_CLOSED: it may lack commits that others have) until SCM says which replica is complete.

use std::fmt;
use std::str::FromStr;

use proto::datanode::container_data_proto::State as DataState;
use proto::scm_datanode::container_replica_proto::State as ReplicaState;

/// State of one replica of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContainerState {
    /// Takes writes.
    Open,
    /// Takes only writes that were ordered before the close.
    Closing,
    /// Takes no writes; may lack commits that another replica has.
    QuasiClosed,
    /// Complete and immutable.
    Closed,
    /// Lacks or distrusts bytes it should have.
    Unhealthy,
    /// Being removed.
    Deleted,
    /// Being rebuilt from other replicas.
    Recovering,
}

/// A change of state that the rules forbid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("container in state {from} cannot become {to}")]
pub struct TransitionError {
    /// What it is.
    pub from: ContainerState,
    /// What it should have become.
    pub to: ContainerState,
}

impl ContainerState {
    /// All states.
    pub const ALL: [Self; 7] = [
        Self::Open,
        Self::Closing,
        Self::QuasiClosed,
        Self::Closed,
        Self::Unhealthy,
        Self::Deleted,
        Self::Recovering,
    ];

    /// The name Ozone writes in `.container` files and prints.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "OPEN",
            Self::Closing => "CLOSING",
            Self::QuasiClosed => "QUASI_CLOSED",
            Self::Closed => "CLOSED",
            Self::Unhealthy => "UNHEALTHY",
            Self::Deleted => "DELETED",
            Self::Recovering => "RECOVERING",
        }
    }

    /// Does a new client write have a chance here?
    pub fn admits_writes(self) -> bool {
        matches!(self, Self::Open | Self::Recovering)
    }

    /// Are writes taken that the log ordered? A follower may be CLOSING when writes that the
    /// leader admitted earlier still reach it.
    pub fn applies_writes(self) -> bool {
        matches!(self, Self::Open | Self::Closing | Self::Recovering)
    }

    /// May blocks be read?
    pub fn serves_reads(self) -> bool {
        !matches!(self, Self::Deleted)
    }

    /// Can the replica still change by its pipeline's log?
    pub fn is_live(self) -> bool {
        matches!(self, Self::Open | Self::Closing | Self::Recovering)
    }

    /// Checks a change of state. Staying as it is always passes.
    ///
    /// # Errors
    /// When the rules forbid it.
    pub fn become_(self, to: Self) -> Result<Self, TransitionError> {
        use ContainerState::*;
        let allowed = self == to
            || match (self, to) {
                (Deleted, _) | (_, Open | Recovering) => false,
                (_, Unhealthy | Deleted) => true,
                (Open, Closing | QuasiClosed | Closed) => true,
                (Closing, QuasiClosed | Closed) => true,
                (QuasiClosed | Recovering, Closed) => true,
                _ => false,
            };
        if allowed { Ok(to) } else { Err(TransitionError { from: self, to }) }
    }

    /// What an UNHEALTHY replica is that was repaired and read from end to end. It may lack
    /// commits, as any other one whose pipeline is gone: SCM closes it when it lacks none.
    ///
    /// # Errors
    /// In every other state: there was nothing to repair, or the replica is on its way out.
    pub fn repaired(self) -> Result<Self, TransitionError> {
        match self {
            Self::Unhealthy => Ok(Self::QuasiClosed),
            from => Err(TransitionError { from, to: Self::QuasiClosed }),
        }
    }

    /// The state in `ContainerDataProto`.
    pub fn to_data(self) -> DataState {
        match self {
            Self::Open => DataState::Open,
            Self::Closing => DataState::Closing,
            Self::QuasiClosed => DataState::QuasiClosed,
            Self::Closed => DataState::Closed,
            Self::Unhealthy => DataState::Unhealthy,
            Self::Deleted => DataState::Deleted,
            Self::Recovering => DataState::Recovering,
        }
    }

    /// The state in SCM's reports, which know no RECOVERING: such a replica is not reported.
    pub fn to_replica(self) -> Option<ReplicaState> {
        match self {
            Self::Open => Some(ReplicaState::Open),
            Self::Closing => Some(ReplicaState::Closing),
            Self::QuasiClosed => Some(ReplicaState::QuasiClosed),
            Self::Closed => Some(ReplicaState::Closed),
            Self::Unhealthy => Some(ReplicaState::Unhealthy),
            Self::Deleted => Some(ReplicaState::Deleted),
            Self::Recovering => None,
        }
    }
}

impl fmt::Display for ContainerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ContainerState {
    type Err = ();
    fn from_str(s: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|state| state.name() == s).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::ContainerState::*;
    use super::*;

    #[test]
    fn names_are_read_back() {
        for state in ContainerState::ALL {
            assert_eq!(state.name().parse(), Ok(state));
        }
        assert_eq!("HALF_OPEN".parse::<ContainerState>(), Err(()));
    }

    #[test]
    fn nothing_opens_again() {
        for state in ContainerState::ALL.into_iter().filter(|s| *s != Open) {
            assert_eq!(state.become_(Open), Err(TransitionError { from: state, to: Open }));
        }
    }

    #[test]
    fn a_closed_container_stays_closed_or_turns_out_bad() {
        for to in [Closing, QuasiClosed, Recovering] {
            assert!(Closed.become_(to).is_err(), "{to}");
        }
        assert_eq!(Closed.become_(Closed), Ok(Closed));
        assert_eq!(Closed.become_(Unhealthy), Ok(Unhealthy));
        assert_eq!(Closed.become_(Deleted), Ok(Deleted));
    }

    #[test]
    fn an_unhealthy_replica_can_only_be_deleted_or_repaired() {
        for to in [Closing, QuasiClosed, Closed] {
            assert!(Unhealthy.become_(to).is_err(), "{to}");
        }
        assert_eq!(Unhealthy.become_(Deleted), Ok(Deleted));
        assert!(Deleted.become_(Unhealthy).is_err());
        for state in ContainerState::ALL {
            assert_eq!(state.repaired().ok(), (state == Unhealthy).then_some(QuasiClosed));
        }
    }

    #[test]
    fn only_open_admits_but_closing_still_applies() {
        assert!(Open.admits_writes() && !Closing.admits_writes());
        assert!(Closing.applies_writes() && !QuasiClosed.applies_writes());
    }
}
