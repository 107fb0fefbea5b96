//! A bound on the bytes of requests that are worked on at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Refusal;

/// Granularity of the bound: permits of a semaphore are counted in 32 bits.
const UNIT: u64 = 1024;

/// Longest wait for a permit if the caller sent no deadline.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes that may be in flight. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Budget {
    units: u32,
    free: Arc<Semaphore>,
}

impl Budget {
    /// Creates a budget of `bytes`, at least of one largest chunk.
    pub fn new(bytes: u64) -> Self {
        let bytes = bytes.max(2 * crate::settings::MAX_CHUNK as u64);
        let units = u32::try_from(bytes / UNIT).unwrap_or(u32::MAX);
        Self { units, free: Arc::new(Semaphore::new(units as usize)) }
    }

    /// Acquires a permit for `bytes` bytes, waiting for it until the deadline.
    ///
    /// # Errors
    /// [`Refusal::Busy`] when there is none in time.
    pub async fn acquire(
        &self,
        bytes: usize,
        deadline: Option<Instant>,
    ) -> Result<OwnedSemaphorePermit, Refusal> {
        const BUSY: Refusal = Refusal::Busy("too many bytes are in flight");
        let units = u32::try_from((bytes as u64).div_ceil(UNIT)).unwrap_or(self.units);
        let units = units.min(self.units);
        if let Ok(permit) = self.free.clone().try_acquire_many_owned(units) {
            return Ok(permit);
        }
        let deadline = deadline.unwrap_or_else(|| Instant::now() + DEFAULT_TIMEOUT);
        let free = self.free.clone().acquire_many_owned(units);
        match tokio::time::timeout_at(deadline.into(), free).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(BUSY),
        }
    }

    /// Bytes in flight.
    pub fn used(&self) -> u64 {
        (u64::from(self.units)).saturating_sub(self.free.available_permits() as u64) * UNIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_does_not_fit_waits_and_then_is_refused() {
        let budget = Budget::new(0);
        let all = budget.acquire(usize::MAX, None).await.unwrap();
        assert_eq!(budget.used(), 64 << 20);
        let soon = Some(Instant::now() + Duration::from_millis(1));
        assert!(matches!(budget.acquire(1, soon).await, Err(Refusal::Busy(_))));
        drop(all);
        assert!(budget.acquire(1, soon).await.is_ok());
        assert_eq!(budget.used(), 0);
    }
}
