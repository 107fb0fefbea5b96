//! Until when an order counts.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::CommandError;
use crate::daemon::Daemon;

/// Until when an order counts.
pub(super) struct Order {
    pub daemon: Arc<Daemon>,
    /// The term of the SCM that gave it.
    pub term: i64,
    /// Milliseconds since 1970; `None` is without end.
    pub deadline_ms: Option<i64>,
}

impl Order {
    /// # Errors
    /// When another SCM leads by now, or the one that gave it no longer expects it to be carried
    /// out: either may have ordered another replica away instead.
    pub fn check(&self) -> Result<(), CommandError> {
        let latest = self.daemon.scm_term.load(Ordering::SeqCst);
        if latest > self.term {
            return Err(CommandError::Superseded { term: self.term, latest });
        }
        let now = now_ms();
        match self.deadline_ms {
            Some(deadline) if now > deadline => {
                Err(CommandError::Late { late_ms: now.saturating_sub(deadline) })
            }
            _ => Ok(()),
        }
    }

    /// Returns the time until it expires; `None` is without an end.
    pub fn left(&self) -> Option<Duration> {
        let left = self.deadline_ms?.saturating_sub(now_ms());
        Some(Duration::from_millis(u64::try_from(left).unwrap_or(0)))
    }
}

fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}
