//! CPU time of server processes.

use std::time::Duration;

use crate::FreonError;

/// Clock ticks in a second of `/proc/PID/stat`; Linux fixes it for user space.
const TICKS: f64 = 100.0;

/// User and system time used by a process and its threads.
fn used(pid: u32) -> Result<Duration, FreonError> {
    let failed = |reason: String| FreonError::Process { pid, reason };
    let stat =
        std::fs::read_to_string(format!("/proc/{pid}/stat")).map_err(|e| failed(e.to_string()))?;
    parse(&stat).ok_or_else(|| failed("its stat file has an unknown form".into()))
}

/// Parses fields 14 and 15; the process name before them may contain spaces and parentheses.
fn parse(stat: &str) -> Option<Duration> {
    let (_, after) = stat.rsplit_once(')')?;
    let mut fields = after.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some(Duration::from_secs_f64((user + system) / TICKS))
}

/// Measures the CPU time of processes from its start on.
pub(crate) struct CpuMeter {
    pids: Vec<u32>,
    before: Duration,
}

impl CpuMeter {
    /// Starts the measurement; `None` without processes.
    pub(crate) fn start(pids: &[u32]) -> Result<Option<Self>, FreonError> {
        if pids.is_empty() {
            return Ok(None);
        }
        let before = Self::sum(pids)?;
        Ok(Some(Self { pids: pids.to_vec(), before }))
    }

    fn sum(pids: &[u32]) -> Result<Duration, FreonError> {
        pids.iter().map(|pid| used(*pid)).sum()
    }

    /// CPU time used since the start.
    pub(crate) fn elapsed(&self) -> Result<Duration, FreonError> {
        Ok(Self::sum(&self.pids)?.saturating_sub(self.before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_confuse() {
        let stat = "7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0";
        assert_eq!(parse(stat), Some(Duration::from_secs(2)));
        assert_eq!(parse("7 (x) S 1"), None);
    }

    #[test]
    fn this_process_can_be_measured_and_a_missing_one_is_named() {
        let meter = CpuMeter::start(&[std::process::id()]).unwrap().unwrap();
        assert!(meter.elapsed().is_ok());
        assert!(CpuMeter::start(&[u32::MAX]).err().unwrap().to_string().contains("4294967295"));
    }
}
