//! Ending connections whose peer is silent for too long.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use limits::ConnectionOptions;
use tokio::time::Instant;

use super::answers::Answers;
use crate::activity::{Activity, Phase};

/// Bytes per second at which a frame arrives at least, on top of the time for a stall.
const SLOWEST: u64 = 64 << 10;

/// How a connection ends that is watched.
pub(super) enum Ended {
    /// Nothing was under way for long: the peer does not need it.
    Idle,
    /// The peer owes the rest of a frame, or does not take its answers.
    Stalled(io::Error),
}

/// Since when what has not changed.
struct Seen {
    read: u64,
    read_since: Instant,
    written: u64,
    written_since: Instant,
    frames: u64,
    /// Time that the frame now being read has taken, without what was our own part.
    frame_took: Duration,
    busy: Instant,
}

/// Waits until the connection has to be ended. Costs a look now and then, and nothing per frame.
pub(super) async fn watch(
    activity: &Activity,
    answers: &Arc<Answers>,
    options: &ConnectionOptions,
) -> Ended {
    let shortest = options.stall_timeout.min(options.idle_timeout);
    let step = (shortest / 4).clamp(Duration::from_millis(5), Duration::from_secs(5));
    let now = Instant::now();
    let mut seen = Seen {
        read: 0,
        read_since: now,
        written: 0,
        written_since: now,
        frames: 0,
        frame_took: Duration::ZERO,
        busy: now,
    };
    loop {
        tokio::time::sleep(step).await;
        // Each call that is worked on has a reference, and so has the reading side.
        let answers_are_due = Arc::strong_count(answers) > 1 || answers.unsent() > 0;
        if let Some(ended) = seen.check(activity, answers.unsent(), answers_are_due, step, options)
        {
            return ended;
        }
    }
}

impl Seen {
    fn check(
        &mut self,
        activity: &Activity,
        unsent: usize,
        answers_are_due: bool,
        step: Duration,
        options: &ConnectionOptions,
    ) -> Option<Ended> {
        let now = Instant::now();
        let phase = activity.phase();
        if activity.read() != self.read || phase != Phase::InFrame {
            (self.read, self.read_since) = (activity.read(), now);
        }
        if activity.written() != self.written || unsent == 0 {
            (self.written, self.written_since) = (activity.written(), now);
        }
        if activity.frames() != self.frames || phase == Phase::Between {
            (self.frames, self.frame_took) = (activity.frames(), Duration::ZERO);
        } else if phase == Phase::InFrame {
            self.frame_took += step;
        }
        if phase != Phase::Between || answers_are_due {
            self.busy = now;
        }
        let stalled = |what: &str| {
            Some(Ended::Stalled(io::Error::new(io::ErrorKind::TimedOut, what.to_owned())))
        };
        let allowed = options.stall_timeout + Duration::from_secs(activity.frame_len() / SLOWEST);
        if now - self.read_since >= options.stall_timeout || self.frame_took >= allowed {
            return stalled("the rest of a frame does not come");
        }
        if now - self.written_since >= options.stall_timeout {
            return stalled("the peer does not take its answers");
        }
        (now - self.busy >= options.idle_timeout).then_some(Ended::Idle)
    }
}
