//! The status page of a role: for people, for Prometheus, for scripts.
//!
//! `/` is plain HTML, `/metrics` and `/prom` Prometheus' text format, `/status.json` the page's
//! content as JSON, `/logLevel` the log levels, which can be changed from this host, and `/conf`
//! the role's configuration. `/health` answers 200, or 503 with the reason if the role cannot do
//! its work.

mod configuration;
mod deletions;
mod html;
mod log_level;
mod server;
mod slow;

use configuration::configuration;
pub use server::StatusServer;

use futures::future::BoxFuture;
use limits::{MemoryBudget, MemoryClass};

use crate::background::ServiceStatus;
use crate::metrics::{RpcMetrics, StageMetrics};

/// The state of a role, for its status page. Called for each request, so it must be cheap and must
/// not block.
pub trait StatusPage: Send + Sync + 'static {
    /// The heading: `Ozone Manager om1`.
    fn title(&self) -> String;
    /// The parts of the page, in order.
    fn sections(&self) -> Vec<Section>;
    /// Further parts that require reads of tables. They are cached for a few seconds, regardless of
    /// the number of requests.
    fn slow_sections(&self) -> BoxFuture<'_, Vec<Section>> {
        Box::pin(std::future::ready(Vec::new()))
    }
    /// The reason why the role cannot do its work now, if any: the response of `/health`.
    fn trouble(&self) -> Option<String> {
        None
    }
}

/// A part of a status page.
#[derive(Debug, Clone, PartialEq)]
pub enum Section {
    /// Names with values.
    Facts {
        /// Its heading.
        title: String,
        /// One line each.
        facts: Vec<(String, String)>,
    },
    /// A table.
    Table {
        /// Its heading.
        title: String,
        /// The columns' headings.
        columns: Vec<String>,
        /// Rows, with one cell per column.
        rows: Vec<Vec<String>>,
    },
}

impl Section {
    /// A part of names with values.
    pub fn facts<N: Into<String>>(
        title: impl Into<String>,
        facts: impl IntoIterator<Item = (N, String)>,
    ) -> Self {
        Section::Facts {
            title: title.into(),
            facts: facts.into_iter().map(|(n, v)| (n.into(), v)).collect(),
        }
    }

    /// A table.
    pub fn table(title: impl Into<String>, columns: &[&str], rows: Vec<Vec<String>>) -> Self {
        Section::Table {
            title: title.into(),
            columns: columns.iter().map(|c| c.to_string()).collect(),
            rows,
        }
    }

    /// The table of background services.
    pub fn background(services: &[ServiceStatus]) -> Self {
        let rows = services
            .iter()
            .map(|s| {
                let failure = s.last_failure.clone().unwrap_or_default();
                let interval = format!("{:?}", std::time::Duration::from_millis(s.interval_ms));
                vec![
                    s.name.clone(),
                    s.state.into(),
                    interval,
                    s.runs.to_string(),
                    s.items.to_string(),
                    s.skipped.to_string(),
                    failure,
                ]
            })
            .collect();
        Section::table(
            "Background services",
            &["service", "state", "interval", "runs", "items", "skipped", "last failure"],
            rows,
        )
    }

    /// The table of the verbs' times in the current period, with the shares of their stages.
    pub fn stages(title: impl Into<String>, metrics: &StageMetrics) -> Self {
        let ms = |duration: std::time::Duration| format!("{:.3}", duration.as_secs_f64() * 1e3);
        let rows = metrics
            .times()
            .iter()
            .map(|times| {
                let (whole, total) = (&times.total.spread, times.total.spread.sum());
                let shares = times.stages.iter().map(|(stage, took)| {
                    let share = took.spread.sum().as_secs_f64() / total.as_secs_f64().max(1e-9);
                    format!("{stage} {:.0}%", share * 100.0)
                });
                vec![
                    times.verb.to_owned(),
                    whole.count().to_string(),
                    ms(whole.quantile(0.5)),
                    ms(whole.quantile(0.99).min(times.total.longest)),
                    ms(times.total.longest),
                    shares.collect::<Vec<_>>().join(", "),
                ]
            })
            .collect();
        let columns = ["verb", "calls", "ms p50", "ms p99", "ms max", "share of the stages"];
        Section::table(title, &columns, rows)
    }

    /// The use of the memory for data in flight.
    pub fn memory(budget: &MemoryBudget) -> Self {
        let rows = MemoryClass::ALL
            .into_iter()
            .map(|class| {
                vec![
                    class.name().to_owned(),
                    budget.limit_of(class).to_string(),
                    budget.used(class).to_string(),
                    budget.waiting(class).to_string(),
                ]
            })
            .collect();
        Section::table("Memory for data in flight", &["for", "limit", "used", "waiting"], rows)
    }

    /// The table of an endpoint's methods.
    pub fn rpc(title: impl Into<String>, metrics: &RpcMetrics) -> Self {
        let rows = metrics
            .summary()
            .iter()
            .map(|m| {
                let ms = |v: f64| format!("{v:.3}");
                let (queue, mean, p99) =
                    (ms(m.queue_ms_p99), ms(m.processing_ms_mean), ms(m.processing_ms_p99));
                vec![
                    m.method.clone(),
                    m.calls.to_string(),
                    m.failures.to_string(),
                    queue,
                    mean,
                    p99,
                ]
            })
            .collect();
        let columns = [
            "method",
            "calls",
            "failures",
            "queue ms p99",
            "processing ms mean",
            "processing ms p99",
        ];
        Section::table(title, &columns, rows)
    }
}

/// Converts a page to JSON: facts as objects, tables as lists of objects.
fn json(title: String, sections: Vec<Section>) -> serde_json::Value {
    use serde_json::{Map, Value};
    let mut whole = Map::new();
    whole.insert("title".into(), Value::String(title));
    for section in sections {
        let (title, value) = match section {
            Section::Facts { title, facts } => (
                title,
                facts
                    .into_iter()
                    .map(|(name, value)| (name, Value::String(value)))
                    .collect::<Map<_, _>>()
                    .into(),
            ),
            Section::Table { title, columns, rows } => {
                let rows: Vec<Value> = rows
                    .into_iter()
                    .map(|row| {
                        columns
                            .iter()
                            .cloned()
                            .zip(row.into_iter().map(Value::String))
                            .collect::<Map<_, _>>()
                            .into()
                    })
                    .collect();
                (title, rows.into())
            }
        };
        whole.insert(title, value);
    }
    whole.into()
}
