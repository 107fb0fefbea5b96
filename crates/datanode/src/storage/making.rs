//! Which containers are being made right now. A container is made by one at a time; others, which
//! may be on other disks, do not wait for it: a disk that hangs must not hold them up.

use parking_lot::{Condvar, Mutex};
use rustc_hash::FxHashSet;
use types::ContainerId;

/// The containers that are being made.
#[derive(Default)]
pub(super) struct Making {
    ids: Mutex<FxHashSet<ContainerId>>,
    ended: Condvar,
}

/// The right to make a container, until it is dropped.
pub(super) struct Claim<'a> {
    making: &'a Making,
    id: ContainerId,
}

impl Making {
    /// Waits until no other thread is making the container. Blocks.
    pub(super) fn claim(&self, id: ContainerId) -> Claim<'_> {
        let mut ids = self.ids.lock();
        while !ids.insert(id) {
            self.ended.wait(&mut ids);
        }
        Claim { making: self, id }
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.making.ids.lock().remove(&self.id);
        self.making.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_container_is_made_by_one_at_a_time_and_holds_up_no_other() {
        let making = Making::default();
        let [one, two] = [1, 2].map(ContainerId::from_wire);
        let ended = AtomicBool::new(false);
        let claim = making.claim(one);
        drop(making.claim(two));
        std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                let _claim = making.claim(one);
                ended.load(Ordering::SeqCst)
            });
            ended.store(true, Ordering::SeqCst);
            drop(claim);
            assert!(second.join().unwrap(), "it came in while the first one was at it");
        });
        drop(making.claim(one));
    }
}
