//! Recent shares of calls by user.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

use super::CallQueueOptions;

/// Maximum number of distinct users; further ones count as one. Names come from clients, which can
/// invent any number of them.
const MOST_USERS: usize = 10_000;
/// Decayed count below which a user is dropped.
const LEAST: f64 = 0.5;
/// Number of decay periods after which all counts are zero.
const LONG_AGO: u32 = 200;

/// Decaying counts of calls by user.
#[derive(Debug)]
pub struct Shares {
    fair: bool,
    thresholds: Vec<f64>,
    period: std::time::Duration,
    factor: f64,
    service_users: FxHashSet<String>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    users: FxHashMap<Arc<str>, f64>,
    /// Calls of users beyond the maximum number.
    others: f64,
    total: f64,
    decayed: Instant,
}

/// Priority of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    /// From 0, the highest.
    pub level: usize,
    /// No other user sent calls recently.
    pub alone: bool,
}

impl Rank {
    /// The priority of a call without competition.
    pub const FIRST: Self = Self { level: 0, alone: true };
}

impl Shares {
    /// No calls yet.
    pub fn new(options: &CallQueueOptions) -> Arc<Self> {
        let state =
            State { users: FxHashMap::default(), others: 0.0, total: 0.0, decayed: Instant::now() };
        Arc::new(Self {
            fair: options.fair,
            thresholds: options.thresholds.clone(),
            period: options.decay_period,
            factor: options.decay_factor,
            service_users: options.service_users.iter().cloned().collect(),
            state: Mutex::new(state),
        })
    }

    /// Counts a call of `user` and returns the user's priority.
    pub fn charge(&self, user: &str, now: Instant) -> Rank {
        if !self.fair {
            return Rank::FIRST;
        }
        let mut state = self.state.lock();
        state.decay(now, self.period, self.factor);
        let own = state.count(user);
        let (total, alone) = (state.total, state.total - own < LEAST);
        drop(state);
        if alone {
            return Rank::FIRST;
        }
        let percent = own * 100.0 / total;
        let level = self.thresholds.iter().take_while(|threshold| percent >= **threshold).count();
        match level > 0 && self.service_users.contains(user) {
            true => Rank { level: 0, alone },
            false => Rank { level, alone },
        }
    }

    /// The users with the most calls, with their shares of all calls from 0 to 1.
    pub fn top(&self, count: usize) -> Vec<(String, f64)> {
        let mut state = self.state.lock();
        state.decay(Instant::now(), self.period, self.factor);
        let total = state.total.max(LEAST);
        let mut all: Vec<(&Arc<str>, f64)> = state.users.iter().map(|(u, c)| (u, *c)).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        all.iter().take(count).map(|(user, calls)| (user.to_string(), calls / total)).collect()
    }
}

impl State {
    /// Counts a call; returns the user's current count.
    fn count(&mut self, user: &str) -> f64 {
        self.total += 1.0;
        let has_room = self.users.len() < MOST_USERS;
        if let Some(count) = self.users.get_mut(user) {
            *count += 1.0;
            return *count;
        }
        if has_room {
            self.users.insert(Arc::from(user), 1.0);
            return 1.0;
        }
        self.others += 1.0;
        self.others
    }

    fn decay(&mut self, now: Instant, period: std::time::Duration, factor: f64) {
        let since = now.saturating_duration_since(self.decayed);
        if since < period {
            return;
        }
        let periods = since.as_nanos() / period.as_nanos().max(1);
        let periods = u32::try_from(periods).unwrap_or(LONG_AGO).min(LONG_AGO);
        self.decayed = now;
        let factor = factor.powi(periods.cast_signed());
        self.users.retain(|_, count| {
            *count *= factor;
            *count >= LEAST
        });
        self.others *= factor;
        if self.others < LEAST {
            self.others = 0.0;
        }
        self.total = self.users.values().sum::<f64>() + self.others;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn shares() -> (Arc<Shares>, Instant) {
        (Shares::new(&CallQueueOptions::default()), Instant::now())
    }

    fn charge(shares: &Shares, user: &str, now: Instant, calls: usize) {
        for _ in 0..calls {
            shares.charge(user, now);
        }
    }

    fn level(shares: &Shares, user: &str, now: Instant) -> usize {
        shares.charge(user, now).level
    }

    #[test]
    fn levels_are_those_of_hadoop() {
        let (shares, now) = shares();
        for _ in 0..1_000 {
            assert_eq!(shares.charge("flood", now), Rank::FIRST, "there is no other user");
        }
        assert_eq!(shares.charge("light", now), Rank { level: 0, alone: false });
        assert_eq!(level(&shares, "flood", now), 3, "more than half of all calls");
        // Shares of about 40, 30, 20 and 10 percent.
        let (shares, now) = self::shares();
        let users = [("a", 40), ("b", 30), ("c", 20), ("d", 10)];
        for (user, calls) in users {
            charge(&shares, user, now, calls);
        }
        let levels = users.map(|(user, _)| level(&shares, user, now));
        assert_eq!(levels, [2, 2, 1, 0]);
        let top: Vec<String> = shares.top(2).into_iter().map(|(user, _)| user).collect();
        assert_eq!(top, ["a", "b"]);
    }

    #[test]
    fn what_was_asked_for_is_forgotten() {
        let (shares, now) = shares();
        charge(&shares, "flood", now, 1_000);
        shares.charge("light", now);
        // 1000 calls are 1000/2^9 after nine periods, and dropped after eleven.
        let later = now + Duration::from_secs(45);
        assert!(!shares.charge("light", later).alone);
        let later = later + Duration::from_secs(3600 * 24 * 365);
        assert_eq!(shares.charge("flood", later), Rank::FIRST);
        assert_eq!(shares.state.lock().users.len(), 1);
    }

    #[test]
    fn users_that_are_made_up_take_no_memory_and_are_one() {
        let (shares, now) = shares();
        (0..MOST_USERS).for_each(|n| charge(&shares, &format!("u{n}"), now, 1));
        let levels: Vec<usize> =
            (0..MOST_USERS).map(|n| level(&shares, &format!("x{n}"), now)).collect();
        assert_eq!(shares.state.lock().users.len(), MOST_USERS);
        assert_eq!((levels[0], levels[MOST_USERS - 1]), (0, 3), "together they are a flood");
    }

    #[test]
    fn service_users_stay_in_the_first_level() {
        let service_users = vec!["s3g".to_owned()];
        let shares = Shares::new(&CallQueueOptions { service_users, ..Default::default() });
        let now = Instant::now();
        shares.charge("light", now);
        (0..100).for_each(|_| assert_eq!(level(&shares, "s3g", now), 0));
        let shares = Shares::new(&CallQueueOptions { fair: false, ..Default::default() });
        shares.charge("light", now);
        (0..100).for_each(|_| assert_eq!(shares.charge("flood", now), Rank::FIRST));
    }
}
