//! Which repairs go first when more is to be done than may be under way: those of containers that
//! are closest to being lost.
//!
//! All containers are looked at in portions, by id. Within a portion the most urgent are repaired
//! first. When the limit of the whole cluster holds one back, the next round is for containers as
//! urgent as the most urgent that was held back, or more; so none waits behind those of smaller ids
//! that could wait longer.

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
}

impl Urgency {
    /// Nothing is missing: there may be replicas too many, or in the wrong rack.
    pub(super) const CAN_WAIT: Left = Left::MAX;

    /// A round over all containers begins.
    pub(super) fn begin_round(&mut self) {
        *self = Self { most: self.held_back, ..Self::default() };
    }

    /// Whether a container with so much left is repaired in this round. Deletions take nothing of
    /// what copies are limited by.
    pub(super) fn admits(&mut self, left: Left) -> bool {
        let admits = left == Self::CAN_WAIT || self.most.is_none_or(|most| left <= most);
        self.left_out |= !admits;
        admits
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
