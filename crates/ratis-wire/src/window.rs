//! Ordering of a stream's requests by sequence number.
//!
//! The first request of a stream is marked as such; from there on numbers increase by one. A number
//! seen before comes from a client after a timeout, and is ignored.

use std::collections::BTreeMap;

use crate::request::StreamPosition;

/// Maximum number of requests that wait for an earlier one: more than any client has in flight.
const MOST_WAITING: usize = 1024;

/// Requests that have arrived, until their turn.
#[derive(Debug)]
pub(crate) struct Window<T> {
    next: Option<u64>,
    waiting: BTreeMap<u64, (T, usize)>,
    bytes: usize,
    max_bytes: usize,
}

/// The result of a request's arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It waits for its turn, or can run now.
    Taken,
    /// It is a duplicate.
    Repeated,
    /// Too many requests wait for a missing one.
    Full,
}

impl<T> Window<T> {
    /// A window for waiting requests of up to `max_bytes` in total.
    pub fn new(max_bytes: usize) -> Self {
        Self { next: None, waiting: BTreeMap::new(), bytes: 0, max_bytes }
    }

    /// Adds a request of `size` bytes.
    pub fn arrive(&mut self, position: StreamPosition, request: T, size: usize) -> Arrival {
        if self.next.is_none() && (position.first || position.number == 0) {
            self.next = Some(position.number);
            self.waiting = self.waiting.split_off(&position.number);
            self.bytes = self.waiting.values().map(|(_, size)| size).sum();
        }
        let seen = self.next.is_some_and(|next| position.number < next);
        if seen || self.waiting.contains_key(&position.number) {
            return Arrival::Repeated;
        }
        let its_turn = self.next == Some(position.number);
        let full =
            self.waiting.len() >= MOST_WAITING || self.bytes.saturating_add(size) > self.max_bytes;
        if full && !its_turn {
            return Arrival::Full;
        }
        self.bytes += size;
        self.waiting.insert(position.number, (request, size));
        Arrival::Taken
    }

    /// Removes the next request in order, if it has arrived.
    pub fn next(&mut self) -> Option<T> {
        let next = self.next?;
        let (request, size) = self.waiting.remove(&next)?;
        self.bytes -= size;
        // No number follows the largest one.
        self.next = next.checked_add(1);
        Some(request)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(number: u64) -> StreamPosition {
        StreamPosition { number, first: false }
    }

    fn first(number: u64) -> StreamPosition {
        StreamPosition { number, first: true }
    }

    #[test]
    fn a_stream_starts_where_its_first_request_says() {
        let mut window = Window::new(100);
        assert_eq!(window.arrive(at(8), 8, 1), Arrival::Taken);
        assert_eq!(window.next(), None);
        assert_eq!(window.arrive(first(7), 7, 1), Arrival::Taken);
        assert_eq!((window.next(), window.next(), window.next()), (Some(7), Some(8), None));
        assert_eq!(window.arrive(at(7), 7, 1), Arrival::Repeated);
        // Only the very first request determines the start.
        assert_eq!(window.arrive(first(20), 20, 1), Arrival::Taken);
        assert_eq!(window.next(), None);
    }

    #[test]
    fn what_waits_is_bounded_but_the_next_one_always_comes_in() {
        let mut window = Window::new(10);
        assert_eq!(window.arrive(first(1), 1, 50), Arrival::Taken);
        assert_eq!(window.next(), Some(1));
        assert_eq!(window.arrive(at(3), 3, 10), Arrival::Taken);
        assert_eq!(window.arrive(at(4), 4, 1), Arrival::Full);
        assert_eq!(window.arrive(at(2), 2, 99), Arrival::Taken);
        assert_eq!((window.next(), window.next()), (Some(2), Some(3)));
        assert_eq!(window.arrive(at(4), 4, 10), Arrival::Taken);
    }

    #[test]
    fn the_largest_number_is_no_trouble() {
        let mut window = Window::new(10);
        assert_eq!(window.arrive(first(u64::MAX), 1, 1), Arrival::Taken);
        assert_eq!(window.next(), Some(1));
        assert_eq!(window.next(), None);
    }

    proptest! {
        #[test]
        fn any_order_of_arrival_gives_one_order(
            start in 0u64..5,
            order in Just((1..40u64).collect::<Vec<_>>()).prop_shuffle(),
            again in prop::collection::vec(0usize..39, 0..20),
        ) {
            let mut window = Window::new(1 << 20);
            let mut got = Vec::new();
            window.arrive(first(start), start, 1);
            got.extend(window.next());
            for (turn, number) in order.iter().enumerate() {
                window.arrive(at(start + number), start + number, 1);
                if let Some(repeated) = again.get(turn).and_then(|i| order.get(*i)) {
                    window.arrive(at(start + repeated), start + repeated, 1);
                }
                while let Some(request) = window.next() {
                    got.push(request);
                }
            }
            prop_assert_eq!(got, (start..start + 40).collect::<Vec<_>>());
            prop_assert_eq!(window.bytes, 0);
        }
    }
}
