//! Which repairs go first when more is to be done than may be under way: those of containers that
//! are closest to being lost.
//!
//! All containers are looked at in portions, by id. Within a portion the most urgent are repaired
//! first. When the limit of the whole cluster holds one back, the next round is for containers as
//! urgent as the most urgent that was held back, or more; so none waits behind those of smaller ids
//! that could wait longer.
//!
//! A round has replicas made, or replicas that are too many deleted, only when as much time has
//! passed since the last one that did as the settings say.

use crate::settings::ReplicationSettings;
use crate::state::order::OrderKind;
use crate::time::{Millis, elapsed};

/// Replicas a container can lose and still be read; [`Urgency::CAN_WAIT`] when none is missing.
pub(super) type Left = u32;

/// Which containers are repaired in this round over all containers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Urgency {
    /// This round is for containers that can lose so many replicas, or fewer.
    most: Option<Left>,
    /// The most urgent that the limit held back in this round.
    held_back: Option<Left>,
    /// Whether one was left to a later round.
    left_out: bool,
    /// Replicas that are missing or misplaced.
    under: RoundInterval,
    /// Replicas that are too many.
    over: RoundInterval,
}

/// The time between two rounds that order a kind of repair.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct RoundInterval {
    is_due: bool,
    /// When the last round began in which it was.
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
    /// Nothing is missing: there may be replicas too many, or in the wrong rack.
    pub(super) const CAN_WAIT: Left = Left::MAX;

    /// A round over all containers begins.
    pub(super) fn begin_round(&mut self, now: Millis, settings: &ReplicationSettings) {
        (self.most, self.held_back, self.left_out) = (self.held_back.take(), None, false);
        self.under.begin(now, settings.under_interval);
        self.over.begin(now, settings.over_interval);
    }

    /// Whether such an order for a container with so much left is given in this round. What is in
    /// the way of a missing replica goes with those that are missing.
    pub(super) fn is_due(&self, left: Left, order: &OrderKind) -> bool {
        let is_excess =
            left == Self::CAN_WAIT && matches!(order, OrderKind::DeleteContainer { .. });
        if is_excess { self.over.is_due } else { self.under.is_due }
    }

    /// Whether a container with so much left is repaired in this round. Deletions take nothing of
    /// what copies are limited by.
    pub(super) fn admits(&mut self, left: Left) -> bool {
        let admits = left == Self::CAN_WAIT || self.most.is_none_or(|most| left <= most);
        self.left_out |= !admits;
        admits
    }

    /// Whether none waits that is closer to being lost than others.
    pub(super) fn has_time(&self) -> bool {
        self.most.is_none() && self.held_back.is_none()
    }

    /// The limit of the whole cluster held back a container with so much left.
    pub(super) fn hold_back(&mut self, left: Left) {
        self.held_back = Some(self.held_back.map_or(left, |least| least.min(left)));
    }

    /// Whether the round that ends left out some that another one could begin with.
    pub(super) fn wants_another_round(&self) -> bool {
        self.left_out && self.held_back.is_none()
    }
}
