//! Parameters that the operator may change while the balancer runs.

use container::ContainerState;
use proto::disk_balancer::DiskBalancerConfigurationProto;

/// Limit of megabytes a second.
const MOST_BANDWIDTH_MB: u64 = 1 << 30;

/// Limit of concurrent moves.
const MOST_THREADS: u32 = 1_000;

/// Parameters of disk balancing.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// Percent by which a disk may differ from all of them, between 0 and 100.
    pub threshold: f64,
    /// Megabytes (2^20 bytes) a second, all moves together.
    pub bandwidth_mb: u64,
    /// Moves at a time.
    pub threads: u32,
    /// True if it stops when there is nothing more to move.
    pub stop_after_even: bool,
    /// States of replicas that are moved.
    pub states: MovableStates,
}

/// States of replicas that are moved: at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MovableStates {
    closed: bool,
    quasi_closed: bool,
}

/// A value that a parameter cannot have.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ParameterError {
    /// A percentage that no disks could differ by.
    #[error("the threshold must be more than 0 and less than 100 percent, not {0}")]
    Threshold(f64),
    /// Nothing would be moved, or the number is none.
    #[error("the bandwidth must be from 1 to {MOST_BANDWIDTH_MB} MB a second, not {0}")]
    Bandwidth(u64),
    /// Nothing would be moved, or too much at a time.
    #[error("from 1 to {MOST_THREADS} containers can be moved at a time, not {0}")]
    Threads(i32),
    /// Replicas in this state stay where they are.
    #[error("containers in state {0:?} cannot be moved: name CLOSED, QUASI_CLOSED or both")]
    State(String),
    /// No state at all.
    #[error("no state of containers that may be moved is named: CLOSED, QUASI_CLOSED")]
    NoStates,
}

impl MovableStates {
    /// Reads names of states, which are separated by commas.
    ///
    /// # Errors
    /// When there is none, or another one than CLOSED and QUASI_CLOSED.
    pub fn parse(text: &str) -> Result<Self, ParameterError> {
        let mut states = Self { closed: false, quasi_closed: false };
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name.parse() {
                Ok(ContainerState::Closed) => states.closed = true,
                Ok(ContainerState::QuasiClosed) => states.quasi_closed = true,
                _ => return Err(ParameterError::State(name.to_owned())),
            }
        }
        match states {
            Self { closed: false, quasi_closed: false } => Err(ParameterError::NoStates),
            states => Ok(states),
        }
    }

    /// Returns `true` if a replica in this state is moved.
    pub fn include(self, state: ContainerState) -> bool {
        match state {
            ContainerState::Closed => self.closed,
            ContainerState::QuasiClosed => self.quasi_closed,
            _ => false,
        }
    }
}

impl std::fmt::Display for MovableStates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match (self.closed, self.quasi_closed) {
            (true, false) => "CLOSED",
            (false, _) => "QUASI_CLOSED",
            (true, true) => "CLOSED,QUASI_CLOSED",
        })
    }
}

impl Parameters {
    /// Checks them.
    ///
    /// # Errors
    /// When one has a value that it cannot have.
    pub fn checked(self) -> Result<Self, ParameterError> {
        if !(self.threshold > 0.0 && self.threshold < 100.0) {
            return Err(ParameterError::Threshold(self.threshold));
        }
        if !(1..=MOST_BANDWIDTH_MB).contains(&self.bandwidth_mb) {
            return Err(ParameterError::Bandwidth(self.bandwidth_mb));
        }
        if !(1..=MOST_THREADS).contains(&self.threads) {
            return Err(ParameterError::Threads(i32::try_from(self.threads).unwrap_or(i32::MAX)));
        }
        Ok(self)
    }

    /// The same, but for what a request names.
    ///
    /// # Errors
    /// When that has a value that it cannot have.
    pub fn with(&self, named: &DiskBalancerConfigurationProto) -> Result<Self, ParameterError> {
        let mut next = self.clone();
        next.threshold = named.threshold.unwrap_or(next.threshold);
        next.bandwidth_mb = named.disk_bandwidth_in_mb.unwrap_or(next.bandwidth_mb);
        if let Some(threads) = named.parallel_thread {
            next.threads = u32::try_from(threads).map_err(|_| ParameterError::Threads(threads))?;
        }
        next.stop_after_even = named.stop_after_disk_even.unwrap_or(next.stop_after_even);
        if let Some(states) = &named.container_states {
            next.states = MovableStates::parse(states)?;
        }
        next.checked()
    }

    /// Returns the form for the operator.
    pub fn to_wire(&self) -> DiskBalancerConfigurationProto {
        DiskBalancerConfigurationProto {
            threshold: Some(self.threshold),
            disk_bandwidth_in_mb: Some(self.bandwidth_mb),
            parallel_thread: Some(i32::try_from(self.threads).unwrap_or(i32::MAX)),
            stop_after_disk_even: Some(self.stop_after_even),
            container_states: Some(self.states.to_string()),
        }
    }

    /// Bytes a second, all moves together.
    pub fn bytes_per_second(&self) -> u64 {
        self.bandwidth_mb.saturating_mul(1 << 20)
    }
}

#[cfg(test)]
pub(crate) fn defaults() -> Parameters {
    Parameters {
        threshold: 10.0,
        bandwidth_mb: 10,
        threads: 5,
        stop_after_even: true,
        states: MovableStates { closed: true, quasi_closed: true },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_request_names_changes_and_nothing_else() {
        let named = DiskBalancerConfigurationProto {
            threshold: Some(0.5),
            container_states: Some(" QUASI_CLOSED ".into()),
            ..Default::default()
        };
        let next = defaults().with(&named).unwrap();
        assert_eq!((next.threshold, next.states.to_string()), (0.5, "QUASI_CLOSED".to_owned()));
        assert_eq!((next.bandwidth_mb, next.threads, next.stop_after_even), (10, 5, true));
        assert_eq!(defaults().with(&defaults().to_wire()).unwrap(), defaults());
        assert!(next.states.include(ContainerState::QuasiClosed));
        assert!(!next.states.include(ContainerState::Closed));
    }

    #[test]
    fn values_that_make_no_sense_are_refused() {
        let with = |change: fn(&mut DiskBalancerConfigurationProto)| {
            let mut named = DiskBalancerConfigurationProto::default();
            change(&mut named);
            defaults().with(&named).is_err()
        };
        for threshold in [0.0, -1.0, 100.0, f64::NAN, f64::INFINITY] {
            let named =
                DiskBalancerConfigurationProto { threshold: Some(threshold), ..Default::default() };
            assert!(defaults().with(&named).is_err(), "{threshold}");
        }
        assert!(with(|named| named.disk_bandwidth_in_mb = Some(0)));
        assert!(with(|named| named.disk_bandwidth_in_mb = Some(u64::MAX)));
        assert!(with(|named| named.parallel_thread = Some(0)));
        assert!(with(|named| named.parallel_thread = Some(-5)));
        assert!(with(|named| named.parallel_thread = Some(i32::MAX)));
        for states in ["", ",", "OPEN", "closed", "CLOSED,UNHEALTHY"] {
            assert!(MovableStates::parse(states).is_err(), "{states}");
        }
    }
}
