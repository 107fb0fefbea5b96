//! One change of a pipeline at a time: a close must not overtake a create. Changes of different
//! pipelines do not wait for each other: a close waits seconds for the members to catch up, and may
//! meet a disk that hangs.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::OwnedMutexGuard;
use types::PipelineId;

type Lock = tokio::sync::Mutex<()>;

/// A lock for each pipeline that is being changed.
#[derive(Default)]
pub(super) struct PipelineLocks {
    /// Those that are held or waited for.
    locks: Mutex<FxHashMap<PipelineId, Weak<Lock>>>,
}

impl PipelineLocks {
    /// Waits for the lock of a pipeline, which is released when the guard is dropped.
    pub(super) async fn lock(&self, id: PipelineId) -> OwnedMutexGuard<()> {
        self.of(id).lock_owned().await
    }

    fn of(&self, id: PipelineId) -> Arc<Lock> {
        let mut locks = self.locks.lock();
        if let Some(lock) = locks.get(&id).and_then(Weak::upgrade) {
            return lock;
        }
        locks.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::<Lock>::default();
        locks.insert(id, Arc::downgrade(&lock));
        lock
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn changes_wait_for_those_of_the_same_pipeline_only() {
        let locks = PipelineLocks::default();
        let [one, two] = [(); 2].map(|()| PipelineId::random());
        let first = locks.lock(one).await;
        let mut second = Box::pin(locks.lock(one));
        assert!(second.as_mut().now_or_never().is_none());
        drop(locks.lock(two).await);
        drop(first);
        drop(second.await);
        drop(locks.lock(two).await);
        assert_eq!(locks.locks.lock().len(), 1, "locks that are not held are forgotten");
    }
}
