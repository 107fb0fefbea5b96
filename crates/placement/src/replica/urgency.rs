//! Priorities of repairs when more are needed than may be in flight: containers that are closest to
//! being lost come first.
//!
//! All containers are checked in batches, by id. Within a batch the most urgent are repaired first.
//! If the cluster's limit delays one, the next round is for containers that are at least as urgent
//! as the most urgent delayed one; so none waits for less urgent ones with smaller ids.
//!
//! A round creates replicas, or deletes surplus ones, only after the configured interval since the
//! last round that did.

use crate::settings::ReplicationSettings;
use crate::state::order::OrderKind;
use crate::time::{Millis, elapsed};

/// Replicas a container can lose and still be read; [`Urgency::CAN_WAIT`] when none is missing.
pub(super) type Left = u32;

/// Containers that are repaired in this round over all containers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Urgency {
    /// This round is for containers that can lose at most this many replicas.
    most: Option<Left>,
    /// The most urgent that the limit held back in this round.
    held_back: Option<Left>,
    /// True if one was left to a later round.
    left_out: bool,
    /// Replicas that are missing or misplaced.
    under: RoundInterval,
    /// Surplus replicas.
    over: RoundInterval,
}

/// The time between two rounds that order a kind of repair.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct RoundInterval {
    is_due: bool,
    /// Start of the last round in which it was due.
    last: Option<Millis>,
}

impl RoundInterval {
    fn begin(&mut self, now: Millis, interval: u64) {
        self.is_due = self.last.is_none_or(|last| elapsed(last, now) >= interval);
        if self.is_due {
            self.last = Some(now);
        }
    }
}

impl Urgency {
    /// No replica is missing: there may be surplus ones, or some in the wrong rack.
    pub(super) const CAN_WAIT: Left = Left::MAX;

    /// A round over all containers begins.
    pub(super) fn begin_round(&mut self, now: Millis, settings: &ReplicationSettings) {
        (self.most, self.held_back, self.left_out) = (self.held_back.take(), None, false);
        self.under.begin(now, settings.under_interval);
        self.over.begin(now, settings.over_interval);
    }

    /// Returns `true` if such an order for a container with this margin is given in this round. A
    /// replica that occupies the node of a missing one counts like the missing one.
    pub(super) fn is_due(&self, left: Left, order: &OrderKind) -> bool {
        let is_excess =
            left == Self::CAN_WAIT && matches!(order, OrderKind::DeleteContainer { .. });
        if is_excess { self.over.is_due } else { self.under.is_due }
    }

    /// Returns `true` if a container with this margin is repaired in this round. Deletions do not
    /// count against the limits of copies.
    pub(super) fn admits(&mut self, left: Left) -> bool {
        let admits = left == Self::CAN_WAIT || self.most.is_none_or(|most| left <= most);
        self.left_out |= !admits;
        admits
    }

    /// Returns `true` if no container that is closer to being lost than others waits.
    pub(super) fn has_time(&self) -> bool {
        self.most.is_none() && self.held_back.is_none()
    }

    /// The limit of the whole cluster delayed a container with this margin.
    pub(super) fn hold_back(&mut self, left: Left) {
        self.held_back = Some(self.held_back.map_or(left, |least| least.min(left)));
    }

    /// Returns `true` if the round that ends left out some that another one could begin with.
    pub(super) fn wants_another_round(&self) -> bool {
        self.left_out && self.held_back.is_none()
    }
}
