//! The memory of a process for data in flight.

use std::hash::{BuildHasher, BuildHasherDefault, Hash};
use std::sync::{Arc, OnceLock};

use config::Configuration;
use config::keys::trioxide as keys;
use rustc_hash::FxHasher;

use crate::{FairPermit, FairSemaphore};

/// Uses of memory. Each class has its own share of the budget: data moves from one class to the
/// next, and waiting for the next class never depends on memory that the waiter itself holds. So a
/// request that holds memory of one class can always finish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemoryClass {
    /// Data received from a client of the S3 gateway and in flight to DataNodes.
    Upload,
    /// Data of requests that a server receives.
    Request,
    /// Data of log entries that a member of a Raft group receives from its leader.
    Replication,
    /// Data received from DataNodes and in flight to a client of the S3 gateway.
    Download,
}

/// Reserved bytes, released on drop.
pub type MemoryPermit = FairPermit<u64>;

/// The memory of a process for data in flight. Clones share it.
#[derive(Clone)]
pub struct MemoryBudget {
    limit: u64,
    classes: Arc<[Arc<FairSemaphore<u64>>; MemoryClass::ALL.len()]>,
}

impl MemoryClass {
    /// All classes.
    pub const ALL: [Self; 4] = [Self::Upload, Self::Request, Self::Replication, Self::Download];

    /// Its name, for metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Upload => "upload",
            Self::Request => "request",
            Self::Replication => "replication",
            Self::Download => "download",
        }
    }

    /// Its share of the budget, in percent.
    fn percent(self) -> u64 {
        match self {
            Self::Upload => 35,
            Self::Request => 25,
            Self::Replication | Self::Download => 20,
        }
    }

    fn index(self) -> usize {
        match self {
            Self::Upload => 0,
            Self::Request => 1,
            Self::Replication => 2,
            Self::Download => 3,
        }
    }
}

impl MemoryBudget {
    /// A budget of `limit` bytes.
    pub fn new(limit: u64) -> Self {
        let share = |class: MemoryClass| {
            let total = (limit / 100).saturating_mul(class.percent());
            FairSemaphore::new(total, total - total / 4)
        };
        Self { limit, classes: Arc::new(MemoryClass::ALL.map(share)) }
    }

    /// The budget of this process, with the `trioxide.memory.limit` of the first role that starts
    /// in it. All roles of a process share it.
    pub fn of_process(conf: &Configuration) -> Self {
        static OF_PROCESS: OnceLock<MemoryBudget> = OnceLock::new();
        let limit = conf.get(&keys::TRIOXIDE_MEMORY_LIMIT).bytes();
        OF_PROCESS.get_or_init(|| Self::new(limit)).clone()
    }

    /// Bytes of all classes together.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes of one class.
    pub fn limit_of(&self, class: MemoryClass) -> u64 {
        self.class(class).total()
    }

    /// Reserved bytes of a class.
    pub fn used(&self, class: MemoryClass) -> u64 {
        self.class(class).taken()
    }

    /// Number of requests that wait for bytes of a class.
    pub fn waiting(&self, class: MemoryClass) -> usize {
        self.class(class).waiting()
    }

    /// The semaphore of a class, whose permits are bytes. Keys are those of [`MemoryBudget::key`].
    pub fn class(&self, class: MemoryClass) -> &Arc<FairSemaphore<u64>> {
        &self.classes[class.index()]
    }

    /// A key for fair sharing within a class.
    pub fn key(of: &impl Hash) -> u64 {
        BuildHasherDefault::<FxHasher>::default().hash_one(of)
    }
}

impl std::fmt::Debug for MemoryBudget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let used = MemoryClass::ALL.map(|class| (class.name(), self.used(class)));
        f.debug_struct("MemoryBudget").field("limit", &self.limit).field("used", &used).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classes_are_the_whole_and_each_has_its_own() {
        let budget = MemoryBudget::new(1_000);
        let limits = MemoryClass::ALL.map(|class| budget.limit_of(class));
        assert_eq!(limits.iter().sum::<u64>(), 1_000);
        let key = MemoryBudget::key(&"a");
        let all = budget.class(MemoryClass::Upload).try_acquire(&key, u64::MAX).unwrap();
        assert_eq!(budget.used(MemoryClass::Upload), all.amount());
        assert!(budget.class(MemoryClass::Upload).try_acquire(&key, 1).is_none());
        let other = budget.class(MemoryClass::Request).try_acquire(&key, 1);
        assert!(other.is_some() && budget.used(MemoryClass::Request) == 1);
        for class in MemoryClass::ALL {
            assert_eq!(MemoryClass::ALL[class.index()], class);
        }
    }
}
