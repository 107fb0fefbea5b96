//! Shares are counted in calls and their order, not in time.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use futures::FutureExt;
use proptest::prelude::*;

use super::*;

type Entering = Pin<Box<dyn Future<Output = Result<Permit, Refused>>>>;

fn queue_of(options: &CallQueueOptions, places: usize, waiting: usize) -> Arc<CallQueue> {
    CallQueue::new(options, &Shares::new(options), places, waiting, 2)
}

fn queue(places: usize) -> Arc<CallQueue> {
    queue_of(&CallQueueOptions::default(), places, 10_000)
}

fn asks(user: &'static str, verb: u16) -> Asks<'static> {
    Asks { user, verb, received: Instant::now(), deadline: None }
}

fn entering(queue: &Arc<CallQueue>, user: &'static str, verb: u16) -> Entering {
    let queue = Arc::clone(queue);
    Box::pin(async move { queue.enter(asks(user, verb)).await })
}

/// A call that is admitted at once.
fn enters(queue: &Arc<CallQueue>, user: &'static str) -> Permit {
    entering(queue, user, 0).now_or_never().expect("it need not wait").unwrap()
}

/// A call that waits.
fn waits(queue: &Arc<CallQueue>, user: &'static str, verb: u16) -> Entering {
    let mut entering = entering(queue, user, verb);
    assert!(entering.as_mut().now_or_never().is_none(), "{user} waits");
    entering
}

fn ready(entering: &mut Entering) -> Option<Permit> {
    entering.as_mut().now_or_never().map(Result::unwrap)
}

/// 64 connections of one user saturate the queue, and another user sends one call after the other.
/// At most its share of the flood's calls may begin before each call of the latter, which then
/// finds a slot at once.
#[test]
fn a_flood_takes_its_share_and_no_more_of_what_others_wait_for() {
    let queue = queue(16);
    for _ in 0..10_000 {
        queue.shares.charge("flood", Instant::now());
    }
    let mut flood: Vec<Entering> = Vec::new();
    let mut working: Vec<Permit> = (0..16).map(|_| enters(&queue, "flood")).collect();
    flood.extend((0..64).map(|_| waits(&queue, "flood", 0)));
    let (mut most, mut served) = (0, 0);
    for _ in 0..500 {
        let mut light = entering(&queue, "light", 1);
        let mut seen = 0;
        let permit = loop {
            if let Some(permit) = ready(&mut light) {
                break permit;
            }
            // One call of the flood ends, and another one replaces it.
            drop(working.swap_remove(0));
            for waiting in &mut flood {
                if let Some(permit) = ready(waiting) {
                    working.push(permit);
                    *waiting = entering(&queue, "flood", 0);
                    let _ = waiting.as_mut().now_or_never().map(|t| working.push(t.unwrap()));
                    seen += 1;
                    served += 1;
                }
            }
        };
        most = most.max(seen);
        drop(permit);
    }
    // Before the flood is detected it holds all slots, and has calls in the first level, too: one
    // of them, one of the last level, and one that replaced the previous call.
    assert!(most <= 3, "{most} of {served} calls went before");
}

#[test]
fn a_flood_leaves_places_for_the_others() {
    let queue = queue(8);
    let light = enters(&queue, "light");
    let mut flood: Vec<Permit> = Vec::new();
    let mut waiting = Vec::new();
    for _ in 0..20 {
        let mut one = entering(&queue, "flood", 0);
        match one.as_mut().now_or_never() {
            Some(permit) => flood.push(permit.unwrap()),
            None => waiting.push(one),
        }
    }
    assert_eq!(flood.len(), 6, "three quarters of the places");
    let _more = enters(&queue, "light");
    drop((flood.pop(), light));
    let given = waiting.iter_mut().filter_map(ready).count();
    assert_eq!(given, 14 - queue.waiting().iter().sum::<usize>());
    assert!(given >= 1);
}

/// While the processor is the bottleneck, a flood's calls pass through the queue although there are
/// free slots, and those of others do not.
#[tokio::test]
async fn while_the_processor_is_short_a_flood_gives_way() {
    let queue = queue(1_000);
    let _light = enters(&queue, "light");
    for _ in 0..100 {
        drop(enters(&queue, "flood"));
    }
    queue.set_busy(true);
    // Two calls keep the processors busy; each yields to the next one first.
    let mut first = waits(&queue, "flood", 0);
    let mut second = waits(&queue, "flood", 0);
    let mut third = waits(&queue, "flood", 0);
    let _at_once: Vec<Permit> = (0..10).map(|_| enters(&queue, "light")).collect();
    let permit = ready(&mut first).expect("it has yielded");
    let _second = ready(&mut second).expect("it has yielded");
    assert!(ready(&mut third).is_none());
    drop(permit);
    assert!(ready(&mut third).is_none(), "it has a permit, and yields");
    let _third = ready(&mut third).expect("it has yielded");
    let mut fourth = waits(&queue, "flood", 0);
    queue.set_busy(false);
    assert!(ready(&mut fourth).is_some(), "there are places enough");
}

#[test]
fn a_user_that_is_alone_is_not_held_back() {
    let queue = queue(4);
    queue.set_busy(true);
    let _all: Vec<Permit> = (0..4).map(|_| enters(&queue, "only")).collect();
    let _next = waits(&queue, "only", 0);
    assert_eq!(queue.stats().at_once.load(Ordering::Relaxed), 4);
}

#[test]
fn one_verb_of_a_user_does_not_hold_up_another() {
    let queue = queue(1);
    let permit = enters(&queue, "only");
    let mut lists: Vec<Entering> = (0..50).map(|_| waits(&queue, "only", 7)).collect();
    let mut lookup = waits(&queue, "only", 8);
    drop(permit);
    let permit = ready(&mut lists[0]).expect("the first arrival");
    drop(permit);
    assert!(ready(&mut lookup).is_some(), "the other verb's turn");
}

#[test]
fn without_fairness_calls_go_in_the_order_in_which_they_came() {
    let queue = queue_of(&CallQueueOptions { fair: false, ..Default::default() }, 1, 100);
    let mut permit = enters(&queue, "flood");
    let mut flood: Vec<Entering> = (0..9).map(|n| waits(&queue, "flood", n)).collect();
    let mut light = waits(&queue, "light", 0);
    for one in &mut flood {
        assert!(ready(&mut light).is_none());
        drop(permit);
        permit = ready(one).expect("the earlier arrival");
    }
    drop(permit);
    assert!(ready(&mut light).is_some());
}

#[tokio::test]
async fn what_waits_has_bounds() {
    let one_level = CallQueueOptions {
        weights: vec![1],
        capacity_weights: vec![1],
        thresholds: Vec::new(),
        ..CallQueueOptions::default()
    };
    let queue = queue_of(&one_level, 1, 2);
    let permit = enters(&queue, "a");
    let mut first = waits(&queue, "a", 0);
    let second = waits(&queue, "b", 0);
    let full = queue.enter(asks("c", 0)).await;
    assert_eq!(full.unwrap_err(), Refused::Full);
    let soon = Some(Instant::now() + Duration::from_millis(1));
    drop(second);
    // An abandoned call frees its space once it is reached.
    drop(permit);
    let permit = ready(&mut first).unwrap();
    let late = queue.enter(Asks { deadline: soon, ..asks("c", 0) }).await;
    assert_eq!(late.unwrap_err(), Refused::TooLate);
    drop(permit);
    assert_eq!(queue.taken(), 0);
    drop(enters(&queue, "d"));
    assert_eq!(queue.waiting().iter().sum::<usize>(), 0);
    // Without back-off the third one waits, too.
    let queue = queue_of(&CallQueueOptions { backoff: false, ..one_level }, 1, 2);
    let permit = enters(&queue, "a");
    let mut all: Vec<Entering> = (0..5).map(|_| waits(&queue, "a", 0)).collect();
    drop(permit);
    for one in &mut all {
        drop(ready(one).expect("its turn"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn all_are_served_in_the_end() {
    let queue = queue(3);
    let users = ["a", "b", "c"];
    let served: Vec<_> = (0..3_000_usize)
        .map(|n| {
            let queue = Arc::clone(&queue);
            tokio::spawn(async move {
                if n % 17 == 0 {
                    queue.set_busy(n % 2 == 0);
                }
                let permit = queue.enter(asks(users[n % 7 % 3], (n % 5) as u16)).await.unwrap();
                assert!(queue.taken() <= 3);
                tokio::task::yield_now().await;
                drop(permit);
            })
        })
        .collect();
    for one in served {
        one.await.unwrap();
    }
    assert_eq!((queue.taken(), queue.heavy.load(Ordering::SeqCst)), (0, 0));
    assert_eq!(queue.waiting.load(Ordering::SeqCst), 0);
}

proptest! {
    /// Calls that arrive, are abandoned and end in any order: the limits hold, and none waits while
    /// there is a free slot for it.
    #[test]
    fn bounds_hold_and_nothing_is_lost(
        steps in proptest::collection::vec((0_usize..4, 0_usize..3, 0_u16..3), 1..120),
        places in 1_usize..5,
    ) {
        const USERS: [&str; 3] = ["a", "b", "c"];
        let queue = queue(places);
        let (mut held, mut waiting): (Vec<Permit>, Vec<Entering>) = (Vec::new(), Vec::new());
        for (step, user, verb) in steps {
            match step {
                0 | 1 => waiting.push(entering(&queue, USERS[user], verb)),
                2 if !held.is_empty() => drop(held.swap_remove(user % held.len())),
                3 if !waiting.is_empty() => drop(waiting.swap_remove(user % waiting.len())),
                _ => {}
            }
            for mut one in std::mem::take(&mut waiting) {
                match ready(&mut one) {
                    Some(permit) => held.push(permit),
                    None => waiting.push(one),
                }
            }
            prop_assert!(queue.taken() <= places);
            prop_assert_eq!(queue.taken(), held.len());
            let heavy = held.iter().filter(|permit| permit.heavy).count();
            prop_assert!(heavy <= queue.heavy_places);
            prop_assert!(
                waiting.is_empty() || held.len() >= queue.heavy_places,
                "{} wait though {} of {places} are taken", waiting.len(), held.len()
            );
        }
        held.clear();
        for _ in 0..waiting.len() + 1 {
            waiting.retain_mut(|one| ready(one).is_none());
        }
        prop_assert!(waiting.is_empty());
        prop_assert_eq!((queue.taken(), queue.heavy.load(Ordering::SeqCst)), (0, 0));
    }
}
