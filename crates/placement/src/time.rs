//! Time as rules see it: a number that the server hands in.

/// Milliseconds since 1970, as the server's clock gives them.
pub type Millis = u64;

/// So far may the clocks of two leaders be apart.
const CLOCKS_APART: Millis = 60_000;

/// Time since `then`, which a leader recorded by its own clock. A value in the future was recorded
/// by a clock that ran ahead: it counts as some time in the past, so that nothing waits until that
/// clock is right.
pub(crate) fn elapsed(then: Millis, now: Millis) -> Millis {
    match now.checked_sub(then) {
        Some(elapsed) => elapsed,
        None if then.saturating_sub(now) <= CLOCKS_APART => 0,
        None => Millis::MAX,
    }
}
