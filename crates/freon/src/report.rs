//! The measurements of a run, as text and JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::timer::Timer;

/// The measurements of a run.
pub struct Report {
    /// Prefix of the generated names.
    pub prefix: String,
    /// Wall time.
    pub elapsed: Duration,
    /// Tests that succeeded.
    pub successes: u64,
    /// Tests that failed.
    pub failures: u64,
    /// Timers by name of the operation.
    pub timers: BTreeMap<&'static str, Timer>,
    /// Payload bytes moved.
    pub bytes: u64,
    /// Entries listed, if tests list.
    pub entries: u64,
    /// CPU time of the servers given by `--server-pid`.
    pub server_cpu: Option<Duration>,
}

const QUANTILES: [(&str, f64); 7] = [
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p98", 0.98),
    ("p99", 0.99),
    ("p99.9", 0.999),
];

fn millis(d: Duration) -> f64 {
    d.as_secs_f64() * 1e3
}

fn rate(count: u64, elapsed: Duration) -> f64 {
    count as f64 / elapsed.as_secs_f64().max(1e-9)
}

impl Report {
    /// Server CPU time per successful test in milliseconds.
    pub fn server_cpu_per_test_ms(&self) -> Option<f64> {
        self.server_cpu
            .filter(|_| self.successes > 0)
            .map(|cpu| millis(cpu) / self.successes as f64)
    }

    /// Renders the report for programs.
    pub fn json(&self) -> Value {
        let timers: serde_json::Map<String, Value> = self
            .timers
            .iter()
            .map(|(name, timer)| {
                let mut entry = json!({
                    "count": timer.count(),
                    "meanRate": rate(timer.count(), self.elapsed),
                    "minMs": millis(timer.min()),
                    "meanMs": millis(timer.mean()),
                    "stddevMs": millis(timer.deviation()),
                });
                for (label, share) in QUANTILES {
                    entry[format!("{label}Ms")] = millis(timer.quantile(share)).into();
                }
                entry["maxMs"] = millis(timer.max()).into();
                ((*name).to_owned(), entry)
            })
            .collect();
        json!({
            "prefix": self.prefix,
            "elapsedMs": millis(self.elapsed),
            "successes": self.successes,
            "failures": self.failures,
            "testsPerSecond": rate(self.successes, self.elapsed),
            "bytes": self.bytes,
            "bytesPerSecond": rate(self.bytes, self.elapsed),
            "entries": self.entries,
            "serverCpuMs": self.server_cpu.map(millis),
            "serverCpuMsPerTest": self.server_cpu_per_test_ms(),
            "timers": timers,
        })
    }

    /// Renders the report for people.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for (name, timer) in &self.timers {
            out += &format!("\n{name}\n");
            let mut line = |label: &str, value: String| out += &format!("{label:>18} = {value}\n");
            line("count", timer.count().to_string());
            line("mean rate", format!("{:.2} calls/second", rate(timer.count(), self.elapsed)));
            line("min", format!("{:.3} milliseconds", millis(timer.min())));
            line("mean", format!("{:.3} milliseconds", millis(timer.mean())));
            for (label, share) in QUANTILES {
                line(label, format!("{:.3} milliseconds", millis(timer.quantile(share))));
            }
            line("max", format!("{:.3} milliseconds", millis(timer.max())));
        }
        out += "\n";
        if self.bytes > 0 {
            let mb = rate(self.bytes, self.elapsed) / 1e6;
            out += &format!("Bytes: {} ({mb:.1} MB/s)\n", self.bytes);
        }
        if self.entries > 0 {
            let per_second = rate(self.entries, self.elapsed);
            out += &format!("Entries listed: {} ({per_second:.0}/s)\n", self.entries);
        }
        if let (Some(cpu), Some(each)) = (self.server_cpu, self.server_cpu_per_test_ms()) {
            out += &format!("Server CPU (sec): {:.2} ({each:.4} ms per test", cpu.as_secs_f64());
            if self.entries > 0 {
                let us = cpu.as_secs_f64() * 1e6 / self.entries as f64;
                out += &format!(", {us:.3} us per entry");
            }
            out += ")\n";
        }
        out += &format!("Total execution time (sec): {:.3}\n", self.elapsed.as_secs_f64());
        out += &format!("Failures: {}\n", self.failures);
        out += &format!("Successful executions: {}\n", self.successes);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_hold_counts_rates_and_percentiles() {
        let mut timer = Timer::default();
        (1..=100).for_each(|ms| timer.record(Duration::from_millis(ms)));
        let report = Report {
            prefix: "x".into(),
            elapsed: Duration::from_secs(2),
            successes: 100,
            failures: 1,
            timers: [("key-create", timer)].into(),
            bytes: 4_000_000,
            entries: 0,
            server_cpu: Some(Duration::from_millis(50)),
        };
        let text = report.text();
        for part in [
            "key-create",
            "count = 100",
            "mean rate = 50.00 calls/second",
            "p99.9 = 100",
            "(2.0 MB/s)",
            "0.5000 ms per test",
            "Failures: 1",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        let json = report.json();
        assert_eq!(json["timers"]["key-create"]["count"], 100);
        assert_eq!(json["serverCpuMsPerTest"], 0.5);
    }
}
