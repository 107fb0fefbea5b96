//! The DataNode's audit log: what became of reconstructions.

use std::time::Duration;

use service::{AuditEvent, AuditLog};

use super::coordinator::Report;
use super::error::ReconstructError;
use super::job::Job;

/// Ozone's name of the operation.
const OPERATION: &str = "RECOVER_EC_BLOCK";

/// Writes a line for each reconstruction.
#[derive(Debug, Clone)]
pub(crate) struct Audit(pub AuditLog);

impl Audit {
    /// Logs the result of a job.
    pub fn log(
        &self,
        job: &Job,
        report: &Report,
        took: Duration,
        outcome: &Result<(), ReconstructError>,
    ) {
        if !self.0.is_enabled() {
            return;
        }
        let list = |items: Vec<String>| items.join(" ");
        let of = |members: &[super::job::Member]| {
            list(members.iter().map(|m| format!("{}@{}", m.index, m.node.id)).collect())
        };
        let (sources, targets) = (of(&job.sources), of(&job.targets));
        let published = list(report.published.iter().map(ToString::to_string).collect());
        let named = report.named.iter().map(|(local, sources)| format!("{local}:{sources}"));
        let named = list(named.collect());
        let numbers = [report.blocks, report.bytes, report.skipped, report.unverified];
        let [blocks, bytes, skipped, unverified] = numbers.map(|n| n.to_string());
        let (container, scheme) = (job.container.to_string(), job.scheme.to_string());
        let millis = took.as_millis().to_string();
        let failure = outcome.as_ref().err().map(ToString::to_string);
        self.0.log(&AuditEvent {
            user: "scm",
            ip: "",
            op: OPERATION,
            params: &[
                ("container", &container),
                ("replication", &scheme),
                ("sources", &sources),
                ("targets", &targets),
                ("published", &published),
                ("blocks", &blocks),
                ("bytes", &bytes),
                ("skipped", &skipped),
                ("skippedBlocks", &named),
                ("unverified", &unverified),
                ("millis", &millis),
            ],
            result: failure.as_deref().map_or(Ok(()), Err),
        });
    }
}
