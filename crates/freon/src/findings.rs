//! Findings of a run of `ockc`: counts, gaps without success, and violations.

use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use crate::gaps::Gaps;
use crate::history::Verdict;
use crate::timer::Timer;

/// Maximum number of violations and failures shown in full; the rest are counted.
const MAX_DETAILS: usize = 20;
/// Duration above which a write is reported, too.
const SLOW_WRITE: Duration = Duration::from_secs(5);

/// Counts and details of a run.
pub(crate) struct Findings {
    writes: Timer,
    reads: Timer,
    gaps: Gaps,
    write_failures: u64,
    read_failures: u64,
    late: u64,
    lost: u64,
    stale: u64,
    torn: u64,
    unreadable: u64,
    violations: Vec<String>,
    failures: Vec<String>,
    slow: Vec<String>,
}

fn push_bounded(list: &mut Vec<String>, text: impl FnOnce() -> String) {
    if list.len() < MAX_DETAILS {
        list.push(text());
    }
}

impl Findings {
    /// Empty findings.
    pub(crate) fn begin(now: Instant) -> Self {
        Self {
            writes: Timer::default(),
            reads: Timer::default(),
            gaps: Gaps::begin(now),
            write_failures: 0,
            read_failures: 0,
            late: 0,
            lost: 0,
            stale: 0,
            torn: 0,
            unreadable: 0,
            violations: Vec::new(),
            failures: Vec::new(),
            slow: Vec::new(),
        }
    }

    /// A write was acknowledged.
    pub(crate) fn wrote(&mut self, began: Instant, text: impl FnOnce() -> String) {
        self.writes.since(began);
        if began.elapsed() >= SLOW_WRITE {
            push_bounded(&mut self.slow, text);
        }
        self.gaps.end(Instant::now(), SystemTime::now());
    }

    /// A write failed; its outcome is unknown.
    pub(crate) fn write_failed(&mut self, text: impl FnOnce() -> String) {
        self.write_failures += 1;
        push_bounded(&mut self.failures, text);
    }

    /// A read returned something.
    pub(crate) fn read(&mut self, began: Instant, verdict: Verdict, text: impl FnOnce() -> String) {
        self.reads.since(began);
        match verdict {
            Verdict::Fine => return,
            Verdict::Late => {
                self.late += 1;
                return;
            }
            Verdict::Lost => self.lost += 1,
            Verdict::Stale => self.stale += 1,
            Verdict::Torn => self.torn += 1,
        }
        push_bounded(&mut self.violations, text);
    }

    /// A read failed.
    pub(crate) fn read_failed(&mut self, text: impl FnOnce() -> String) {
        self.read_failures += 1;
        push_bounded(&mut self.failures, text);
    }

    /// A key could not be read at the end.
    pub(crate) fn unreadable(&mut self, text: impl FnOnce() -> String) {
        self.unreadable += 1;
        push_bounded(&mut self.violations, text);
    }

    /// The end of the last write, which ends the last gap.
    pub(crate) fn end(&mut self) {
        self.gaps.end(Instant::now(), SystemTime::now());
    }

    /// Number of violations.
    pub(crate) fn wrong(&self) -> u64 {
        self.lost + self.stale + self.torn + self.unreadable
    }

    /// Returns `true` if the run is conclusive: there were writes, and no violations.
    pub(crate) fn good(&self) -> bool {
        self.wrong() == 0 && self.writes.count() > 0
    }

    /// Renders the findings for programs.
    pub(crate) fn json(&self, prefix: &str, elapsed: Duration) -> Value {
        let millis = |d: Duration| d.as_secs_f64() * 1e3;
        let seconds = elapsed.as_secs_f64().max(1e-9);
        let side = |timer: &Timer, failures: u64| {
            json!({
                "count": timer.count(),
                "perSecond": timer.count() as f64 / seconds,
                "failures": failures,
                "p50Ms": millis(timer.quantile(0.5)),
                "p99Ms": millis(timer.quantile(0.99)),
                "maxMs": millis(timer.max()),
            })
        };
        json!({
            "prefix": prefix,
            "elapsedMs": millis(elapsed),
            "writes": side(&self.writes, self.write_failures),
            "reads": side(&self.reads, self.read_failures),
            "gaps": self.gaps.json(),
            "lost": self.lost,
            "stale": self.stale,
            "torn": self.torn,
            "unreadable": self.unreadable,
            "late": self.late,
            "violations": self.violations,
            "failures": self.failures,
            "slow": self.slow,
        })
    }

    /// Renders the findings for people.
    pub(crate) fn text(&self, elapsed: Duration) -> String {
        let seconds = elapsed.as_secs_f64().max(1e-9);
        let mut out = String::new();
        let sides = [
            ("writes", &self.writes, self.write_failures),
            ("reads", &self.reads, self.read_failures),
        ];
        for (name, timer, failures) in sides {
            let count = timer.count();
            let (rate, p99, max) = (count as f64 / seconds, timer.quantile(0.99), timer.max());
            out += &format!(
                "{name}: {count} ({rate:.1}/s, p99 {p99:.1?}, max {max:.1?}), failed: {failures}\n"
            );
        }
        let (median, longest) = (self.gaps.median(), self.gaps.longest());
        out += &format!("Without a successful write: median {median:.1?}, longest {longest:.1?}\n");
        out += &format!(
            "Lost: {}, stale: {}, torn: {}, unreadable: {}, late: {}\n",
            self.lost, self.stale, self.torn, self.unreadable, self.late
        );
        for (name, list) in
            [("violation", &self.violations), ("failure", &self.failures), ("slow", &self.slow)]
        {
            list.iter().for_each(|text| out += &format!("{name}: {text}\n"));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_run_that_wrote_and_found_nothing_wrong_is_good() {
        let now = Instant::now();
        let mut findings = Findings::begin(now);
        assert!(!findings.good(), "nothing was written");
        findings.wrote(now, String::new);
        findings.read(now, Verdict::Fine, String::new);
        findings.read(now, Verdict::Late, String::new);
        findings.write_failed(|| "no leader".into());
        findings.end();
        assert!(findings.good());
        for verdict in [Verdict::Lost, Verdict::Stale, Verdict::Torn] {
            findings.read(now, verdict, || "key 1".into());
        }
        findings.unreadable(|| "key 2".into());
        assert_eq!((findings.good(), findings.wrong()), (false, 4));
        let json = findings.json("p", Duration::from_secs(1));
        assert_eq!(
            (&json["lost"], &json["stale"], &json["late"]),
            (&1.into(), &1.into(), &1.into())
        );
        assert_eq!(json["violations"].as_array().unwrap().len(), 4);
        assert!(findings.text(Duration::from_secs(1)).contains("Lost: 1, stale: 1, torn: 1"));
    }
}
