//! A call that is not answered: does another OM lead by now?
//!
//! A server that hangs, or is cut off, answers nothing and refuses nothing. A caller that waits for
//! it asks all servers how they stand, and goes to the one that leads when that is another: long
//! before the call's time is over. While no other OM leads, a call that simply takes long is left
//! alone.

use std::pin::pin;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use proto::om_admin::OmStateResponse;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

/// A call that takes longer makes its caller ask: calls that are answered rarely take as long.
const PROBE_DELAY: Duration = Duration::from_millis(400);
/// How often the servers are asked, however many calls wait.
const PROBE_INTERVAL: Duration = Duration::from_millis(250);

/// Asks one server how it stands.
pub(crate) trait Probe<'a>:
    Fn(usize) -> BoxFuture<'a, Option<OmStateResponse>> + Send + Sync
{
}

impl<'a, F> Probe<'a> for F where
    F: Fn(usize) -> BoxFuture<'a, Option<OmStateResponse>> + Send + Sync
{
}

/// What was found out last, for all callers.
#[derive(Default)]
pub(crate) struct Displaced {
    last: Mutex<Option<(Instant, Option<(u64, usize)>)>>,
}

impl Displaced {
    /// Waits until one of the `count` servers leads that is not `current`, in a newer term than
    /// `current` claims to; says which one. `probe` asks one of them and takes a bounded time.
    pub(crate) async fn by(&self, current: usize, count: usize, probe: impl Probe<'_>) -> usize {
        sleep(PROBE_DELAY).await;
        loop {
            // The lock is what makes one caller ask for all.
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

/// The leader of the newest term. `current`, which probably does not answer, is heard but not
/// waited for.
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
    // One that leads in an older term than others know of leads no longer.
    let term = known.iter().map(|(_, state)| state.term).max()?;
    let leads = |s: &OmStateResponse| s.role == "LEADER" && s.ready && s.term == term;
    known.iter().find(|(_, state)| leads(state)).map(|(n, _)| (term, *n))
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

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
        // The leader does not answer, but others have heard of it.
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
        let (began, elected) = (Instant::now(), PROBE_DELAY * 2);
        let probe = |n| {
            let stands = match (n, began.elapsed() < elected) {
                (0, true) => state("LEADER", 1),
                (1, false) => state("LEADER", 2),
                (2, _) => state("FOLLOWER", 1),
                _ => None,
            };
            ready(stands).boxed()
        };
        assert_eq!(displaced.by(0, 3, probe).await, 1);
        let took = began.elapsed();
        assert!(took >= elected && took < elected + PROBE_INTERVAL * 8, "{took:?}");
    }
}
