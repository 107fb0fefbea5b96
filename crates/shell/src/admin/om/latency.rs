//! `o3 admin om latency`: latencies of OM's requests.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use config::Configuration;
use proto::om_admin::{OmLatencyResponse, StageLatency};
use serde_json::{Value, json};
use service::Spread;

use super::OmArgs;
use crate::{ShellError, output};

/// Show the latency of requests by verb and stage.
#[derive(Debug, Clone, Args)]
pub struct Latency {
    /// Only requests of this many seconds from now on; by default all since OM's start or the last
    /// --reset.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    window: Option<u64>,
    /// Reset the counters after this command.
    #[arg(long, conflicts_with = "window")]
    reset: bool,
    /// Only this verb, such as CreateKey.
    #[arg(long)]
    verb: Option<String>,
    /// Only this OM of the service.
    #[arg(long = "node-id", visible_alias = "nodeid", value_name = "ID")]
    node: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    om: OmArgs,
}

/// The latencies of a verb or stage.
#[derive(Clone, Copy)]
struct Times {
    spread: Spread,
    longest: Duration,
}

/// The latencies of a verb with its stages; the total under the empty name.
type Verb = BTreeMap<String, Times>;

/// The report of one OM.
struct Report {
    node: String,
    period: Duration,
    verbs: Vec<(String, Verb)>,
}

/// Shows it.
pub(super) async fn run(args: Latency, conf: &Configuration) -> Result<(), ShellError> {
    let client = args.om.client(conf)?;
    let mut before = BTreeMap::new();
    if let Some(seconds) = args.window {
        for (address, answer) in client.om_latencies(false).await {
            if let Ok(answer) = answer {
                before.insert(address, report(&answer));
            }
        }
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }
    let mut reports = Vec::new();
    for (address, answer) in client.om_latencies(args.reset).await {
        let told = answer.map(|answer| {
            let mut report = report(&answer);
            if let Some(seconds) = args.window {
                report.subtract(before.get(&address));
                report.period = Duration::from_secs(seconds);
            }
            report.verbs.retain(|(verb, times)| {
                let wanted = args.verb.as_ref().is_none_or(|v| v.eq_ignore_ascii_case(verb));
                wanted && times.get("").is_some_and(|whole| whole.spread.count() > 0)
            });
            report
        });
        let wanted = |node: &str| args.node.as_ref().is_none_or(|wanted| wanted == node);
        if told.as_ref().map_or(args.node.is_none(), |report| wanted(&report.node)) {
            reports.push((address, told));
        }
    }
    if reports.is_empty() {
        let node = args.node.unwrap_or_default();
        return Err(ShellError::Refused(format!("no OM {node} answered")));
    }
    if args.json {
        let all: Vec<Value> = reports
            .iter()
            .map(|(address, told)| match told {
                Ok(report) => report.json(address),
                Err(error) => json!({ "address": address, "error": error.to_string() }),
            })
            .collect();
        return output::value(&all.into());
    }
    for (address, told) in &reports {
        match told {
            Ok(report) => report.print(address)?,
            Err(error) => output::line(format!("{address}: {error}"))?,
        }
    }
    Ok(())
}

fn report(answer: &OmLatencyResponse) -> Report {
    let verbs = answer.verbs.iter().map(|verb| {
        let all = std::iter::once(&verb.total).chain(&verb.stages);
        (verb.verb.clone(), all.map(|stage| (stage.stage.clone(), times(stage))).collect())
    });
    Report {
        node: answer.node_id.clone(),
        period: Duration::from_millis(answer.period_ms),
        verbs: verbs.collect(),
    }
}

fn times(stage: &StageLatency) -> Times {
    let sum = Duration::from_nanos(stage.sum_nanos);
    Times {
        spread: Spread::from_parts(stage.buckets.iter().copied(), sum),
        longest: Duration::from_nanos(stage.longest_nanos),
    }
}

impl Report {
    /// Subtracts the counts of an `earlier` report. The maximum of the rest is known up to the
    /// width of a bucket.
    fn subtract(&mut self, earlier: Option<&Report>) {
        let earlier: BTreeMap<&String, &Verb> =
            earlier.into_iter().flat_map(|r| r.verbs.iter().map(|(v, t)| (v, t))).collect();
        for (verb, stages) in &mut self.verbs {
            for (stage, times) in stages {
                let Some(then) = earlier.get(verb).and_then(|stages| stages.get(stage)) else {
                    continue;
                };
                times.spread = times.spread.since(&then.spread);
                if times.longest <= then.longest {
                    times.longest = times.longest.min(times.spread.longest());
                }
            }
        }
    }

    fn print(&self, address: &str) -> Result<(), ShellError> {
        let seconds = self.period.as_secs_f64();
        output::line(format!("{} ({address}), {seconds:.1} s", self.node))?;
        if self.verbs.is_empty() {
            return output::line("  no requests");
        }
        let head = ["VERB", "STAGE", "CALLS", "P50 ms", "P99 ms", "MAX ms", "SHARE"];
        output::line(row(head.map(str::to_owned)))?;
        for (verb, times) in &self.verbs {
            for (stage, took) in in_order(times) {
                let (name, part) =
                    if stage.is_empty() { (verb.as_str(), "total") } else { ("", stage) };
                let (p50, p99, max) = took.quantiles();
                output::line(row([
                    name.to_owned(),
                    part.to_owned(),
                    took.spread.count().to_string(),
                    millis(p50),
                    millis(p99),
                    millis(max),
                    format!("{:.1} %", took.share(times) * 100.0),
                ]))?;
            }
        }
        Ok(())
    }

    fn json(&self, address: &str) -> Value {
        let micros = |took: Duration| (took.as_secs_f64() * 1e9).round() / 1e3;
        let of = |took: &Times, verb: &Verb| {
            let (p50, p99, max) = took.quantiles();
            json!({
                "count": took.spread.count(),
                "sumMicros": micros(took.spread.sum()),
                "p50Micros": micros(p50),
                "p99Micros": micros(p99),
                "maxMicros": micros(max),
                "share": (took.share(verb) * 1e4).round() / 1e4,
            })
        };
        let verbs = self.verbs.iter().map(|(verb, times)| {
            let parts = in_order(times).into_iter().map(|(stage, took)| {
                let name = if stage.is_empty() { "total" } else { stage };
                (name.to_owned(), of(took, times))
            });
            (verb.clone(), Value::Object(parts.collect()))
        });
        json!({
            "nodeId": self.node,
            "address": address,
            "periodSeconds": self.period.as_secs_f64(),
            "verbs": verbs.collect::<serde_json::Map<_, _>>(),
        })
    }
}

impl Times {
    /// The median, the 99th percentile and the maximum.
    fn quantiles(&self) -> (Duration, Duration, Duration) {
        let of = |q| self.spread.quantile(q).min(self.longest);
        (of(0.5), of(0.99), self.longest)
    }

    /// Fraction of the total.
    fn share(&self, verb: &Verb) -> f64 {
        let whole = verb.get("").map_or(Duration::ZERO, |whole| whole.spread.sum());
        self.spread.sum().as_secs_f64() / whole.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// The total first, then the stages in descending order.
fn in_order(verb: &Verb) -> Vec<(&str, &Times)> {
    let used = verb.iter().filter(|(_, took)| took.spread.count() > 0);
    let mut parts: Vec<(&str, &Times)> = used.map(|(stage, took)| (stage.as_str(), took)).collect();
    parts.sort_by_key(|(stage, took)| (!stage.is_empty(), std::cmp::Reverse(took.spread.sum())));
    parts
}

fn millis(took: Duration) -> String {
    format!("{:.3}", took.as_secs_f64() * 1e3)
}

fn row([verb, stage, calls, p50, p99, max, share]: [String; 7]) -> String {
    format!("{verb:<24}{stage:<12}{calls:>10}{p50:>12}{p99:>12}{max:>12}{share:>10}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(name: &str, buckets: &[u64], sum_nanos: u64, longest_nanos: u64) -> StageLatency {
        StageLatency { stage: name.to_owned(), sum_nanos, longest_nanos, buckets: buckets.to_vec() }
    }

    fn answer(calls: u64, longest_nanos: u64) -> OmLatencyResponse {
        let whole = stage("", &[0, calls], calls * 2_000, longest_nanos);
        let queue = stage("queue", &[calls], calls * 500, 1_000);
        OmLatencyResponse {
            node_id: "om1".to_owned(),
            period_ms: 1_000,
            verbs: vec![proto::om_admin::VerbLatency {
                verb: "CreateKey".to_owned(),
                total: whole,
                stages: vec![queue],
            }],
        }
    }

    #[test]
    fn a_window_has_what_came_within_it() {
        let mut now = report(&answer(10, 9_000_000));
        now.subtract(Some(&report(&answer(7, 9_000_000))));
        let (verb, times) = &now.verbs[0];
        assert_eq!(verb, "CreateKey");
        let whole = times[""];
        assert_eq!((whole.spread.count(), whole.spread.sum()), (3, Duration::from_micros(6)));
        assert_eq!(whole.longest, Duration::from_micros(2), "the longest was before");
        assert!((times["queue"].share(times) - 0.25).abs() < 1e-9);
        let order: Vec<&str> = in_order(times).iter().map(|(stage, _)| *stage).collect();
        assert_eq!(order, ["", "queue"]);
        let json = now.json("host:1");
        assert_eq!(json["verbs"]["CreateKey"]["total"]["count"], 3);
        assert_eq!(json["verbs"]["CreateKey"]["queue"]["share"], 0.25);
    }

    #[test]
    fn a_longest_time_that_is_new_is_exact() {
        let mut now = report(&answer(10, 9_500_000));
        now.subtract(Some(&report(&answer(7, 9_000_000))));
        assert_eq!(now.verbs[0].1[""].longest, Duration::from_nanos(9_500_000));
        let mut all = report(&answer(2, 5));
        all.subtract(None);
        assert_eq!(all.verbs[0].1[""].spread.count(), 2);
    }
}
