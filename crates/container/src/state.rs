//! States of a container replica.
//!
//! ```text
//! RECOVERING ─┐
//!             ├─► CLOSED
//! OPEN ─► CLOSING ─► QUASI_CLOSED ─► CLOSED        any ─► UNHEALTHY ─► DELETED
//!                         ▲                                   │
//!                         └──────────── repaired ─────────────┘
//! ```
//! A replica is closed through its pipeline's log (CLOSED) or, if the pipeline no longer exists, on
//! its own (QUASI_CLOSED: it may lack commits that others have) until SCM determines the complete
//! replica.

use std::fmt;
use std::str::FromStr;

use proto::datanode::container_data_proto::State as DataState;
use proto::scm_datanode::container_replica_proto::State as ReplicaState;

/// State of one replica of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContainerState {
    /// Accepts writes.
    Open,
    /// Accepts only writes that were ordered before the close.
    Closing,
    /// Accepts no writes; may lack commits that another replica has.
    QuasiClosed,
    /// Complete and immutable.
    Closed,
    /// Lacks data, or its data is damaged.
    Unhealthy,
    /// Being removed.
    Deleted,
    /// Being rebuilt from other replicas.
    Recovering,
}

/// A forbidden change of state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("container in state {from} cannot become {to}")]
pub struct TransitionError {
    /// The current state.
    pub from: ContainerState,
    /// The requested state.
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

    /// The name in Ozone's `.container` files and output.
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

    /// Returns `true` if a new client write can succeed.
    pub fn admits_writes(self) -> bool {
        matches!(self, Self::Open | Self::Recovering)
    }

    /// Returns `true` if writes from the log are applied. A follower may be CLOSING when it
    /// receives writes that the leader admitted earlier.
    pub fn applies_writes(self) -> bool {
        matches!(self, Self::Open | Self::Closing | Self::Recovering)
    }

    /// Returns `true` if blocks may be read.
    pub fn serves_reads(self) -> bool {
        !matches!(self, Self::Deleted)
    }

    /// Returns `true` if the replica can still change through its pipeline's log.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Open | Self::Closing | Self::Recovering)
    }

    /// Checks a change of state. The current state is always allowed.
    ///
    /// # Errors
    /// If the rules forbid it.
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

    /// The state of an UNHEALTHY replica after it was repaired and completely read. It may lack
    /// commits, like any other one whose pipeline no longer exists: SCM closes it if it lacks none.
    ///
    /// # Errors
    /// In every other state: there was nothing to repair, or the replica is being deleted.
    pub fn repaired(self) -> Result<Self, TransitionError> {
        match self {
            Self::Unhealthy => Ok(Self::QuasiClosed),
            from => Err(TransitionError { from, to: Self::QuasiClosed }),
        }
    }

    /// Converts to the state in `ContainerDataProto`.
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

    /// Converts to the state in SCM's reports, which have no RECOVERING: such a replica is not
    /// reported.
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
