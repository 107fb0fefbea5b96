//! Recent values of a leaving node's remaining bytes, and their rate.

use std::collections::VecDeque;

use crate::time::Millis;

/// Window of the rate.
const WINDOW: Millis = 300_000;

/// Looks that are remembered at most.
const MOST: usize = 1_000;

/// Remaining bytes of a node that leaves, at recent checks.
#[derive(Debug, Clone, Default)]
pub struct LeftBytes {
    looks: VecDeque<(Millis, u64)>,
}

impl LeftBytes {
    /// Records a value.
    pub(crate) fn note(&mut self, now: Millis, bytes: u64) {
        self.looks.push_back((now, bytes));
        let is_old = |(at, _): &(Millis, u64)| now.saturating_sub(*at) > WINDOW;
        while self.looks.len() > MOST || self.looks.front().is_some_and(is_old) {
            self.looks.pop_front();
        }
    }

    /// Bytes per second that left the node; `None` before two values.
    pub(crate) fn rate(&self) -> Option<u64> {
        let ((first, before), (last, after)) = (self.looks.front()?, self.looks.back()?);
        let took = last.saturating_sub(*first);
        before.saturating_sub(*after).saturating_mul(1_000).checked_div(took)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_window() {
        let mut left = LeftBytes::default();
        assert_eq!(left.rate(), None);
        left.note(0, 1_000_000);
        assert_eq!(left.rate(), None);
        left.note(100_000, 900_000);
        assert_eq!(left.rate(), Some(1_000));
        // The first value is too old now.
        left.note(300_001, 900_000);
        assert_eq!(left.rate(), Some(0));
        // More than before: no bytes left.
        left.note(300_002, u64::MAX);
        assert_eq!(left.rate(), Some(0));
    }
}
