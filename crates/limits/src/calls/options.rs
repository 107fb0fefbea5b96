//! Settings of call queues.

use std::time::Duration;

use config::Configuration;
use config::keys::ipc as keys;

/// Maximum number of levels; Hadoop has no limit, but more are useless.
const MOST_LEVELS: u32 = 32;

/// Options of the order of calls. Names, meanings and defaults are Hadoop's (`FairCallQueue`,
/// `DecayRpcScheduler`), except that fairness is enabled by default.
#[derive(Debug, Clone, PartialEq)]
pub struct CallQueueOptions {
    /// Enables levels and turns of users; otherwise calls are served in order of arrival.
    pub fair: bool,
    /// The identity by which calls are grouped.
    pub identity: Identity,
    /// Calls of each level per round, the highest level first. The number of levels equals that of
    /// weights.
    pub weights: Vec<u32>,
    /// Relative capacity of each level's queue.
    pub capacity_weights: Vec<u32>,
    /// Shares of all calls, in percent, from which on a user is in the second level, the third, …
    pub thresholds: Vec<f64>,
    /// Interval at which counts of calls are multiplied by `decay_factor`.
    pub decay_period: Duration,
    /// Below 1.
    pub decay_factor: f64,
    /// Users who are always in the first level.
    pub service_users: Vec<String>,
    /// Refuses calls if the queue is full; otherwise they wait in front of the queue.
    pub backoff: bool,
    /// Number of users whose shares are exported as metrics.
    pub top_users: usize,
}

/// The identity by which calls are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// The user of a request: an S3 gateway sends those of many users (`OzoneIdentityProvider`).
    Caller,
    /// The user of the connection, if the protocol has one (`UserIdentityProvider`).
    Connection,
}

/// Inconsistent settings.
#[derive(Debug, thiserror::Error)]
#[error("{key}: {reason}")]
pub struct OptionsError {
    /// The setting.
    pub key: String,
    /// The reason.
    pub reason: String,
}

impl CallQueueOptions {
    /// The settings of the server at `port`.
    ///
    /// # Errors
    /// If they are inconsistent.
    pub fn from_configuration(conf: &Configuration, port: u16) -> Result<Self, OptionsError> {
        let wrong = |key: &str, reason: String| OptionsError {
            key: key.replacen("ipc.", &format!("ipc.{port}."), 1),
            reason,
        };
        let levels = conf.get_at(&keys::IPC_SCHEDULER_PRIORITY_LEVELS, port);
        if !(1..=MOST_LEVELS).contains(&levels) {
            let key = keys::IPC_SCHEDULER_PRIORITY_LEVELS.name();
            return Err(wrong(key, format!("{levels} is not from 1 to {MOST_LEVELS}")));
        }
        let levels = levels as usize;
        let numbers = |key: &'static keys::Numbers, default: Vec<f64>, count: usize| {
            let texts = conf.get_at(key, port);
            if texts.is_empty() {
                return Ok(default);
            }
            let parsed = texts.iter().map(|text| text.trim().parse::<f64>()).collect();
            let parsed: Result<Vec<f64>, _> = parsed;
            match parsed {
                Ok(numbers) if numbers.len() == count && numbers.iter().all(|n| *n >= 1.0) => {
                    Ok(numbers)
                }
                _ => {
                    let is = texts.join(",");
                    let wanted = format!("{count} numbers from 1, for {levels} levels");
                    Err(wrong(key.name(), format!("{is} is not {wanted}")))
                }
            }
        };
        let whole = |numbers: Vec<f64>| numbers.into_iter().map(|n| n as u32).collect();
        let weights = numbers(&keys::IPC_FAIRCALLQUEUE_MULTIPLEXER_WEIGHTS, powers(levels), levels);
        let capacity = numbers(&keys::IPC_CALLQUEUE_CAPACITY_WEIGHTS, vec![1.0; levels], levels);
        let key = &keys::IPC_DECAY_SCHEDULER_THRESHOLDS;
        let thresholds = numbers(key, halves(levels), levels - 1)?;
        if thresholds.windows(2).any(|pair| pair.first() >= pair.last())
            || thresholds.iter().any(|percent| *percent > 100.0)
        {
            return Err(wrong(key.name(), "they do not ascend up to 100".to_owned()));
        }
        let key = &keys::IPC_DECAY_SCHEDULER_DECAY_FACTOR;
        let decay_factor = conf.get_at(key, port);
        if !(decay_factor > 0.0 && decay_factor < 1.0) {
            return Err(wrong(key.name(), format!("{decay_factor} is not between 0 and 1")));
        }
        let key = &keys::IPC_DECAY_SCHEDULER_PERIOD_MS;
        let period = conf.get_at(key, port);
        if period == 0 {
            return Err(wrong(key.name(), "0 is not a valid period".to_owned()));
        }
        let class = |name: String| name.rsplit('.').next().unwrap_or_default().to_owned();
        let queue = class(conf.get_at(&keys::IPC_CALLQUEUE_IMPL, port));
        let scheduler = class(conf.get_at(&keys::IPC_SCHEDULER_IMPL, port));
        let identity = class(conf.get_at(&keys::IPC_IDENTITY_PROVIDER_IMPL, port));
        let is = |name: &str, what: &str| name.eq_ignore_ascii_case(what);
        // With Hadoop's DefaultRpcScheduler all users are in one level.
        let one_level = is(&scheduler, "DefaultRpcScheduler");
        Ok(Self {
            fair: is(&queue, "FairCallQueue"),
            identity: match is(&identity, "UserIdentityProvider") {
                true => Identity::Connection,
                false => Identity::Caller,
            },
            weights: whole(weights?),
            capacity_weights: whole(capacity?),
            thresholds: if one_level { vec![f64::INFINITY; levels - 1] } else { thresholds },
            decay_period: Duration::from_millis(period),
            decay_factor,
            service_users: conf.get_at(&keys::IPC_DECAY_SCHEDULER_SERVICE_USERS, port),
            backoff: conf.get_at(&keys::IPC_BACKOFF_ENABLE, port),
            top_users: conf.get_at(&keys::IPC_DECAY_SCHEDULER_METRICS_TOP_USER_COUNT, port)
                as usize,
        })
    }
}

impl Default for CallQueueOptions {
    fn default() -> Self {
        Self {
            fair: true,
            identity: Identity::Caller,
            weights: vec![8, 4, 2, 1],
            capacity_weights: vec![1; 4],
            thresholds: halves(4),
            decay_period: Duration::from_secs(5),
            decay_factor: 0.5,
            service_users: Vec::new(),
            backoff: true,
            top_users: 10,
        }
    }
}

/// 8, 4, 2, 1 for four levels.
fn powers(levels: usize) -> Vec<f64> {
    (0..levels).rev().map(|level| 2_f64.powi(level as i32)).collect()
}

/// 12.5, 25, 50 for four levels.
fn halves(levels: usize) -> Vec<f64> {
    (1..levels).rev().map(|level| 100.0 / 2_f64.powi(level as i32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(settings: &[(&str, &str)]) -> Result<CallQueueOptions, OptionsError> {
        let conf = settings
            .iter()
            .fold(Configuration::default(), |conf, (key, value)| conf.with(key, value));
        CallQueueOptions::from_configuration(&conf, 9862)
    }

    #[test]
    fn the_defaults_of_the_keys_are_those_of_the_options() {
        assert_eq!(read(&[]).unwrap(), CallQueueOptions::default());
    }

    #[test]
    fn settings_of_the_port_go_before_those_of_all_ports() {
        let options = read(&[
            ("ipc.9862.callqueue.impl", "org.apache.hadoop.ipc_.FairCallQueue"),
            ("ipc.9862.scheduler.impl", "org.apache.hadoop.ipc.DecayRpcScheduler"),
            ("ipc.9862.identity-provider.impl", "org.apache.hadoop.ipc_.UserIdentityProvider"),
            ("ipc.scheduler.priority.levels", "3"),
            ("ipc.9862.scheduler.priority.levels", "2"),
            ("ipc.9862.backoff.enable", "false"),
            ("ipc.9862.faircallqueue.multiplexer.weights", "99,1"),
            ("ipc.9862.decay-scheduler.thresholds", "90"),
            ("ipc.8020.decay-scheduler.thresholds", "nonsense, but of another server"),
        ]);
        let options = options.unwrap();
        assert_eq!((options.weights, options.thresholds), (vec![99, 1], vec![90.0]));
        assert_eq!((options.backoff, options.identity), (false, Identity::Connection));
        let fifo = read(&[("ipc.callqueue.impl", "java.util.concurrent.LinkedBlockingQueue")]);
        assert!(!fifo.unwrap().fair);
        let one =
            read(&[("ipc.9862.scheduler.impl", "org.apache.hadoop.ipc_.DefaultRpcScheduler")]);
        assert!(one.unwrap().thresholds.iter().all(|t| t.is_infinite()));
    }

    #[test]
    fn settings_that_do_not_go_together_are_refused() {
        for (key, value) in [
            ("ipc.9862.scheduler.priority.levels", "0"),
            ("ipc.9862.scheduler.priority.levels", "1000000000"),
            ("ipc.9862.faircallqueue.multiplexer.weights", "2,1"),
            ("ipc.9862.faircallqueue.multiplexer.weights", "8,4,2,0"),
            ("ipc.9862.callqueue.capacity.weights", "1,1,1,x"),
            ("ipc.9862.decay-scheduler.thresholds", "50,25,10"),
            ("ipc.9862.decay-scheduler.thresholds", "10,20,300"),
            ("ipc.9862.decay-scheduler.decay-factor", "1"),
            ("ipc.9862.decay-scheduler.decay-factor", "-2"),
            ("ipc.9862.decay-scheduler.period-ms", "0"),
        ] {
            let error = read(&[(key, value)]).expect_err(key);
            assert_eq!(error.key, key, "{value}");
        }
        for (key, value) in [
            ("ipc.9862.callqueue.impl", "com.example.Queue"),
            ("ipc.9862.cost-provider.impl", "org.apache.hadoop.ipc_.WeightedTimeCostProvider"),
            ("ipc.9862.decay-scheduler.backoff.responsetime.enable", "true"),
            ("ipc.9862.callqueue.overflow.trigger.failover", "true"),
        ] {
            assert!(Configuration::default().try_with(key, value).is_err(), "{key}={value}");
        }
    }
}
