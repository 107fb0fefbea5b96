//! One change of a pipeline at a time: a close must not overtake a create. Changes of different pipelines do not wait
//! for each other: a close gives the members seconds to become level, and may meet a disk that hangs.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::OwnedMutexGuard;
use types::PipelineId;

type Turn = tokio::sync::Mutex<()>;

/// See the module.
#[derive(Default)]
pub(super) struct Turns {
    /// Those that somebody holds or waits for.
    turns: Mutex<FxHashMap<PipelineId, Weak<Turn>>>,
}

impl Turns {
    /// Waits for the turn to change a pipeline; it ends when the guard is dropped.
    pub(super) async fn take(&self, id: PipelineId) -> OwnedMutexGuard<()> {
        self.turn(id).lock_owned().await
    }

    fn turn(&self, id: PipelineId) -> Arc<Turn> {
        let mut turns = self.turns.lock();
        if let Some(turn) = turns.get(&id).and_then(Weak::upgrade) {
            return turn;
        }
        turns.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::<Turn>::default();
        turns.insert(id, Arc::downgrade(&turn));
        turn
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn changes_wait_for_those_of_the_same_pipeline_only() {
        let turns = Turns::default();
        let [one, two] = [(); 2].map(|()| PipelineId::random());
        let first = turns.take(one).await;
        let mut second = Box::pin(turns.take(one));
        assert!(second.as_mut().now_or_never().is_none());
        drop(turns.take(two).await);
        drop(first);
        drop(second.await);
        drop(turns.take(two).await);
        assert_eq!(turns.turns.lock().len(), 1, "turns that are over are forgotten");
    }
}
