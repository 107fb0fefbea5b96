//! Waiting for a condition without a guess at its duration.

use std::fmt::{self, Debug, Display};
use std::future::Future;
use std::panic::Location;
use std::time::{Duration, Instant};

/// Timeout of a hanging test. Working code never approaches it, however busy the machine is.
pub const LIMIT: Duration = Duration::from_secs(120);

const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// The result of a check: found, or not yet, with the observed state.
pub trait Condition {
    /// The value returned by the wait: the content of an `Option` or a `Result`.
    type Found;
    /// Shown if the wait fails: the error of a `Result`.
    type State: Debug;

    /// Returns the found value.
    ///
    /// # Errors
    /// The observed state, if it is not the expected one yet.
    fn check(self) -> Result<Self::Found, Self::State>;
}

impl Condition for bool {
    type Found = ();
    type State = bool;

    fn check(self) -> Result<(), bool> {
        if self { Ok(()) } else { Err(false) }
    }
}

impl<T> Condition for Option<T> {
    type Found = T;
    type State = Option<()>;

    fn check(self) -> Result<T, Option<()>> {
        self.ok_or(None)
    }
}

impl<T, E: Debug> Condition for Result<T, E> {
    type Found = T;
    type State = E;

    fn check(self) -> Self {
        self
    }
}

/// A wait in progress.
struct Wait<W, S> {
    what: W,
    from: &'static Location<'static>,
    begun: Instant,
    limit: Duration,
    looks: u32,
    seen: Option<S>,
}

impl<W: Display, S: Debug> Wait<W, S> {
    fn new(what: W, from: &'static Location<'static>, limit: Duration) -> Self {
        Self { what, from, begun: Instant::now(), limit, looks: 0, seen: None }
    }

    /// Time until the limit.
    fn left(&self) -> Duration {
        self.limit.saturating_sub(self.begun.elapsed())
    }

    /// Records an unexpected state; returns the pause before the next check.
    fn not_yet(&mut self, state: S) -> Duration {
        self.seen = Some(state);
        self.looks += 1;
        if self.left().is_zero() {
            panic!("{self}");
        }
        LONGEST_PAUSE.min(FIRST_PAUSE * (1 << self.looks.min(8)) / 2)
    }
}

impl<W: Display, S: Debug> Display for Wait<W, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, from, looks, seen, .. } = self;
        write!(f, "timed out after {:.1?} waiting for: {what}, at {from}", self.begun.elapsed())?;
        match seen {
            Some(state) => write!(f, "; {looks} looks, the last one saw {state:?}"),
            None => write!(f, "; no look came to an end"),
        }
    }
}

/// Waits until `condition` returns `true`, `Some` or `Ok`, and returns the content.
///
/// A test whose condition does not hold fails after [`LIMIT`], with the description and the last
/// observed state: `if all(&states) { Ok(()) } else { Err(states) }` shows the states.
#[track_caller]
pub fn until<C: Condition>(
    what: impl Display,
    condition: impl AsyncFnMut() -> C,
) -> impl Future<Output = C::Found> {
    poll(Wait::new(what, Location::caller(), LIMIT), condition)
}

async fn poll<C: Condition>(
    mut wait: Wait<impl Display, C::State>,
    mut condition: impl AsyncFnMut() -> C,
) -> C::Found {
    loop {
        // A check may hang itself.
        let Ok(answer) = tokio::time::timeout(wait.left(), condition()).await else {
            panic!("{wait}; another look did not end");
        };
        let pause = match answer.check() {
            Ok(found) => return found,
            Err(state) => wait.not_yet(state),
        };
        tokio::time::sleep(pause).await;
    }
}

/// As [`until`], on a thread that may block.
#[track_caller]
pub fn until_blocking<C: Condition>(what: impl Display, condition: impl FnMut() -> C) -> C::Found {
    poll_blocking(Wait::new(what, Location::caller(), LIMIT), condition)
}

fn poll_blocking<C: Condition>(
    mut wait: Wait<impl Display, C::State>,
    mut condition: impl FnMut() -> C,
) -> C::Found {
    loop {
        match condition().check() {
            Ok(found) => return found,
            Err(state) => std::thread::sleep(wait.not_yet(state)),
        }
    }
}

/// Returns the result of `work`; fails the test if it has not ended after [`LIMIT`].
#[track_caller]
pub fn ended<F: Future>(what: impl Display, work: F) -> impl Future<Output = F::Output> {
    let from = Location::caller();
    async move {
        match tokio::time::timeout(LIMIT, work).await {
            Ok(done) => done,
            Err(_) => panic!("not ended after {LIMIT:.0?}: {what}, at {from}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    const SHORT: Duration = Duration::from_millis(30);

    fn text(failed: Box<dyn std::any::Any + Send>) -> String {
        *failed.downcast::<String>().expect("a formatted message")
    }

    #[test]
    fn what_was_found_is_returned() {
        let mut looks = 0;
        let found = until_blocking("the third look", || {
            looks += 1;
            (looks == 3).then_some("found")
        });
        assert_eq!((found, looks), ("found", 3));
    }

    #[test]
    fn a_wait_in_vain_says_what_for_and_the_last_state() {
        let mut looks = 0;
        let failed = catch_unwind(AssertUnwindSafe(|| {
            poll_blocking(Wait::new("all of them", Location::caller(), SHORT), || {
                looks += 1;
                Err::<(), _>([1, looks])
            });
        }));
        let text = text(failed.expect_err("it fails"));
        assert!(text.contains("waiting for: all of them, at "), "{text}");
        assert!(text.contains("wait.rs:"), "{text}");
        assert!(text.ends_with(&format!("{looks} looks, the last one saw [1, {looks}]")), "{text}");
    }

    #[tokio::test]
    async fn a_look_that_hangs_fails_the_wait() {
        let mut looks = 0;
        let hangs = async || {
            looks += 1;
            if looks == 2 {
                std::future::pending::<()>().await;
            }
            Err::<(), _>("the first state")
        };
        let wait = Wait::new("an answer", Location::caller(), SHORT);
        let failed = futures_catch(poll(wait, hangs)).await;
        assert!(failed.contains(r#"saw "the first state"; another look did not end"#), "{failed}");
    }

    /// The message of a panic of `work`.
    async fn futures_catch(work: impl Future<Output = ()>) -> String {
        let mut work = std::pin::pin!(work);
        std::future::poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
            Ok(poll) => poll.map(|()| panic!("it does not fail")),
            Err(failed) => std::task::Poll::Ready(text(failed)),
        })
        .await
    }

    #[tokio::test]
    async fn work_that_ends_is_returned() {
        assert_eq!(ended("the sum", async { 1 + 1 }).await, 2);
        until("so", async || Ok::<_, ()>(())).await;
    }
}
