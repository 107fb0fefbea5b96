//! Sends the deletion log: every replica gets its command in the same round. A round holds the lock
//! that block allocations need: while clients allocate blocks, rounds are short, with a pause after
//! each.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use placement::Decision;
use placement::deletion::Round;
use scheduling::in_background;
use service::{BackgroundService, Bounds, Hours, Pace, Progress};

use crate::core::Core;
use crate::service_names as names;

/// Blocks of a round that are the fewest, and of the first.
const LEAST: usize = 100;
const FIRST: usize = 10_000;
/// Target of the lock time per round: while clients allocate blocks, and otherwise. Reads, which
/// SCM does not see, may wait for the processor.
const SHORT: Duration = Duration::from_millis(2);
const LONG: Duration = Duration::from_millis(50);

pub struct BlockDeletingService {
    core: Arc<Core>,
    pace: Pace,
}

impl BlockDeletingService {
    pub fn new(core: Arc<Core>) -> Self {
        let most = core.options.settings.deletion.blocks_per_round;
        let bounds = Bounds { least: LEAST, first: FIRST, most, short: SHORT, long: LONG };
        let pace = Pace::new(core.options.deletion_share, bounds);
        Self { core, pace }
    }
}

/// Sends about `portion` blocks and returns the time for which the lock was held. `None` when SCM
/// may not send.
fn send(core: &Core, portion: usize) -> Option<(Round, Decision, Duration)> {
    let mut cluster = core.cluster();
    let since = Instant::now();
    if core.check_leader().is_err() || cluster.safe_mode.is_on() {
        return None;
    }
    if let Some(newest) = cluster.deletions.newest() {
        core.deletion_ages.note(newest);
    }
    let (round, decision) = cluster.send_deletions(core.clock.now(), portion);
    Some((round, decision, since.elapsed()))
}

#[async_trait]
impl BackgroundService for BlockDeletingService {
    fn name(&self) -> &str {
        names::BLOCK_DELETION
    }

    fn interval(&self) -> Duration {
        self.core.options.deletion_interval
    }

    async fn run_once(&self) -> Progress {
        let core = &self.core;
        let turn = self.pace.next(core.client_load.is_used(Instant::now()), Hours::now());
        let Some((round, decision, held)) = in_background(|| send(core, turn.items)) else {
            self.pace.rest();
            return Progress::idle();
        };
        core.metrics.deletions_sent.inc_by(round.blocks as u64);
        core.carry_out(decision);
        let is_used = core.client_load.is_used(Instant::now());
        let items = if round.more { turn.items } else { round.blocks };
        let pause = self.pace.note(turn, items, held, is_used, Hours::now());
        match round.transactions as u64 {
            n if round.more && n > 0 => {
                tokio::time::sleep(pause).await;
                return Progress::more(n);
            }
            n => {
                self.pace.rest();
                Progress::done(n)
            }
        }
    }

    fn makes_way(&self) -> bool {
        self.pace.makes_way()
    }
}
