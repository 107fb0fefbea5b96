//! Closing connections whose peer is silent for too long.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use limits::ConnectionOptions;
use tokio::time::Instant;

use super::answers::Answers;
use crate::activity::{Activity, Phase};

/// Minimum rate of a frame in bytes per second, after the stall timeout.
const SLOWEST: u64 = 64 << 10;

/// The way in which a watched connection ends.
pub(super) enum Ended {
    /// Idle for long: the peer does not need it.
    Idle,
    /// The peer does not send the rest of a frame, or does not receive its responses.
    Stalled(io::Error),
}

/// The last observed activity, and the times of its changes.
struct Seen {
    read: u64,
    read_since: Instant,
    written: u64,
    written_since: Instant,
    frames: u64,
    /// Time of the frame that is being read, without time spent in this process.
    frame_took: Duration,
    busy: Instant,
}

/// Waits until the connection must be closed. Costs an occasional check, and nothing per frame.
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
        // Each call in progress has a reference, and so has the reading side.
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
            return stalled("the rest of a frame does not arrive");
        }
        if now - self.written_since >= options.stall_timeout {
            return stalled("the peer does not receive its responses");
        }
        (now - self.busy >= options.idle_timeout).then_some(Ended::Idle)
    }
}
