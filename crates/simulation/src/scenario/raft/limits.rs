//! Limits of hosts, logs and groups: those of every run, or extremes that the seed picks, so that
//! rare events happen all the time.

use std::time::Duration;

use multiraft::{HostOptions, LogOptions, TrimOptions};

use crate::world::random::Random;

/// The limits of one run.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Thresholds of log trimming.
    pub trim: TrimOptions,
    extremes: Option<Extremes>,
}

#[derive(Debug, Clone)]
struct Extremes {
    message_bytes: u64,
    in_flight: usize,
    cache: usize,
    pending: usize,
    threads: usize,
    piece: usize,
    file: u64,
    batch: usize,
    purge: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let trim = TrimOptions { entries: 40, keep: 5, ..TrimOptions::default() };
        Self { trim, extremes: None }
    }
}

impl Limits {
    /// Each limit as it is, or at one of its ends.
    pub fn extreme(random: &mut Random) -> Self {
        let (entries, keep) = *random.pick(&[(40, 5), (3, 0), (10, 1)]);
        let extremes = Extremes {
            message_bytes: *random.pick(&[1, 4 << 20]),
            in_flight: *random.pick(&[1, 2, 64]),
            cache: *random.pick(&[0, 100, 16 << 20]),
            pending: *random.pick(&[1, 2, 16 << 10]),
            threads: *random.pick(&[1, 3]),
            piece: *random.pick(&[1, 7, 64, 1 << 20]),
            file: *random.pick(&[1 << 10, 64 << 10]),
            batch: *random.pick(&[1, 16 << 20]),
            purge: Duration::from_millis(*random.pick(&[50, 1_000, 10_000])),
        };
        let trim = TrimOptions { entries, keep, ..TrimOptions::default() };
        Self { trim, extremes: Some(extremes) }
    }

    /// Logs that are trimmed after this many entries.
    pub fn trimmed_behind(entries: u64) -> Self {
        let trim = TrimOptions { entries, keep: 5, ..TrimOptions::default() };
        Self { trim, ..Self::default() }
    }

    /// Of a host.
    pub fn of_host(&self, options: HostOptions) -> HostOptions {
        let Some(extremes) = &self.extremes else { return options };
        HostOptions {
            max_message_bytes: extremes.message_bytes,
            max_inflight_messages: extremes.in_flight,
            entry_cache_bytes: extremes.cache,
            max_pending_proposals: extremes.pending,
            loop_threads: extremes.threads,
            apply_threads: extremes.threads,
            snapshot_piece: extremes.piece,
            ..options
        }
    }

    /// Of a log.
    pub fn of_log(&self, options: LogOptions) -> LogOptions {
        let Some(extremes) = &self.extremes else { return options };
        LogOptions {
            file_size: extremes.file,
            purge_threshold: 4 * extremes.file,
            max_batch_bytes: extremes.batch,
            purge_interval: extremes.purge,
            ..options
        }
    }
}
