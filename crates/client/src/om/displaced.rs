//! Detection of a new leader during a call without a response.
//!
//! A server that hangs or is partitioned neither responds nor rejects calls. A caller that waits
//! for it queries the state of all servers, and switches to the leader if that is another one, long
//! before the call's timeout. While no other OM leads, a slow call is left alone.

use std::pin::pin;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use proto::om_admin::OmStateResponse;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

/// Time without a response after which a caller queries the servers; most calls take less.
const PROBE_DELAY: Duration = Duration::from_millis(400);
/// Interval at which the servers are queried, for any number of waiting calls.
const PROBE_INTERVAL: Duration = Duration::from_millis(250);

/// Queries the state of one server.
pub(crate) trait Probe<'a>:
    Fn(usize) -> BoxFuture<'a, Option<OmStateResponse>> + Send + Sync
{
}

impl<'a, F> Probe<'a> for F where
    F: Fn(usize) -> BoxFuture<'a, Option<OmStateResponse>> + Send + Sync
{
}

/// The last result, for all callers.
#[derive(Default)]
pub(crate) struct Displaced {
    last: Mutex<Option<(Instant, Option<(u64, usize)>)>>,
}

impl Displaced {
    /// Waits until one of the `count` servers other than `current` is the leader, in a newer term
    /// than that of `current`; returns its index. `probe` queries one of them in bounded time.
    pub(crate) async fn by(&self, current: usize, count: usize, probe: impl Probe<'_>) -> usize {
        sleep(PROBE_DELAY).await;
        loop {
            // Under the lock, one caller queries for all.
            let mut last = self.last.lock().await;
            let found = match *last {
                Some((at, found)) if at.elapsed() < PROBE_INTERVAL => found,
                _ => {
                    let found = newest_leader(current, count, &probe).await;
                    *last = Some((Instant::now(), found));
                    found
                }
            };
            drop(last);
            if let Some((_, leader)) = found
                && leader != current
            {
                return leader;
            }
            sleep(PROBE_INTERVAL).await;
        }
    }
}

/// The leader of the newest term. The response of `current`, which probably never comes, is used
/// but not waited for.
async fn newest_leader(
    current: usize,
    count: usize,
    probe: &impl Probe<'_>,
) -> Option<(u64, usize)> {
    let named = |n: usize| probe(n).map(move |state| (n, state));
    let others = join_all((0..count).filter(|n| *n != current).map(named));
    let (mut others, mut own) = (pin!(others), named(current));
    let mut heard = None;
    let others = loop {
        tokio::select! {
            biased;
            state = &mut own, if heard.is_none() => heard = Some(state),
            others = &mut others => break others,
        }
    };
    let known = others.into_iter().chain(heard).filter_map(|(n, state)| Some((n, state?)));
    let known: Vec<_> = known.collect();
    // A leader of an older term than others report has lost leadership.
    let term = known.iter().map(|(_, state)| state.term).max()?;
    let leads = |s: &OmStateResponse| s.role == "LEADER" && s.ready && s.term == term;
    known.iter().find(|(_, state)| leads(state)).map(|(n, _)| (term, *n))
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn state(role: &str, term: u64) -> Option<OmStateResponse> {
        Some(OmStateResponse { role: role.into(), term, ready: true, ..Default::default() })
    }

    #[tokio::test]
    async fn the_newest_leader_is_found_beside_one_that_hangs() {
        let probe = |n| match n {
            0 => pending().boxed(),
            1 => ready(state("FOLLOWER", 5)).boxed(),
            _ => ready(state("LEADER", 5)).boxed(),
        };
        assert_eq!(newest_leader(0, 3, &probe).await, Some((5, 2)));
    }

    #[tokio::test]
    async fn one_that_does_not_know_yet_is_no_reason_to_leave() {
        let probe = |n: usize| ready(state("LEADER", [7, 6, 0][n])).boxed();
        assert_eq!(newest_leader(0, 3, &probe).await, Some((7, 0)));
        assert_eq!(newest_leader(1, 3, &probe).await, Some((7, 0)));
        // The leader does not answer, but others report it.
        let probe = |n: usize| match n {
            0 => pending().boxed(),
            1 => ready(state("LEADER", 6)).boxed(),
            _ => ready(state("FOLLOWER", 7)).boxed(),
        };
        assert_eq!(newest_leader(0, 3, &probe).await, None);
    }

    #[tokio::test]
    async fn a_call_that_takes_long_is_left_alone_until_another_leads() {
        let displaced = Displaced::default();
        let asked = AtomicUsize::new(0);
        let probe = |n| {
            // The second server leads by the third time that it is asked.
            let stands = match (n, asked.fetch_add(usize::from(n == 1), Ordering::Relaxed)) {
                (0, _) => state("LEADER", 1),
                (1, 2..) => state("LEADER", 2),
                (1, _) => None,
                _ => state("FOLLOWER", 1),
            };
            ready(stands).boxed()
        };
        assert_eq!(displaced.by(0, 3, probe).await, 1);
        assert_eq!(asked.load(Ordering::Relaxed), 3, "it is left as soon as another leads");
    }
}
