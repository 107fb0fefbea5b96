//! OM's status page, and the progress of deletions.

pub(crate) mod deletion;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use futures::future::BoxFuture;
use multiraft::{LogHandle, Supervisor};
use namespace::Table;
use service::{BackgroundServices, RpcMetrics, Section, StageMetrics, StatusPage};

use crate::dispatch::Dispatcher;
use crate::state::column_families::stored;

/// Sources of the page.
pub(crate) struct OmPage {
    pub(crate) dispatcher: Weak<Dispatcher>,
    pub(crate) rpc: RpcMetrics,
    pub(crate) stages: StageMetrics,
    pub(crate) background: BackgroundServices,
    pub(crate) facts: Vec<(String, String)>,
    pub(crate) node_id: String,
    pub(crate) supervisor: Arc<Supervisor>,
    pub(crate) log: LogHandle,
}

impl StatusPage for OmPage {
    fn title(&self) -> String {
        format!("Ozone Manager {}", self.node_id)
    }

    fn trouble(&self) -> Option<String> {
        let log = || self.log.trouble().map(|why| format!("raft log cannot be written: {why}"));
        self.supervisor.health().trouble().or_else(log)
    }

    fn sections(&self) -> Vec<Section> {
        let mut sections = vec![Section::facts("Overview", self.facts.clone())];
        if let Some(dispatcher) = self.dispatcher.upgrade() {
            let group = &dispatcher.parts().group;
            let leader = group.leader();
            let role = if group.is_leader() { "LEADER" } else { "FOLLOWER" };
            sections.push(Section::facts(
                "Raft",
                [
                    ("group", group.id().to_string()),
                    ("role", role.to_owned()),
                    ("term", leader.term.to_string()),
                    ("applied", group.applied().to_string()),
                    ("restarts after a failure", self.supervisor.restarts().to_string()),
                    ("trouble", self.trouble().unwrap_or_else(|| "none".to_owned())),
                ],
            ));
            if let Some(tables) = dispatcher.parts().current.get() {
                let rows = Table::ALL
                    .iter()
                    .map(|t| (*t, tables.store().estimated_rows(stored(*t))))
                    .filter(|(_, rows)| *rows > 0)
                    .map(|(t, rows)| vec![t.name().to_owned(), rows.to_string()])
                    .collect();
                sections.push(Section::table("Tables (estimated)", &["table", "rows"], rows));
            }
            sections.extend(dispatcher.parts().compactor.sections());
        }
        if let Some(dispatcher) = self.dispatcher.upgrade() {
            sections.extend(queues(&dispatcher));
        }
        sections.push(Section::rpc("RPC", &self.rpc));
        sections.push(Section::stages("Where time goes", &self.stages));
        sections.push(Section::background(&self.background.list()));
        sections
    }

    fn slow_sections(&self) -> BoxFuture<'_, Vec<Section>> {
        Box::pin(async {
            let Some(dispatcher) = self.dispatcher.upgrade() else { return Vec::new() };
            match deletion::status(&dispatcher, &self.background).await {
                Ok(told) => Section::deletions(&told),
                Err(status) => vec![Section::facts("Deletions", [("not known", status.message)])],
            }
        })
    }
}

/// Queued users, and users with the most requests.
fn queues(dispatcher: &Dispatcher) -> [Section; 2] {
    let admission = &dispatcher.parts().admission;
    let rows = admission.queues().map(|(kind, queue)| {
        let waiting: Vec<String> = queue.waiting().iter().map(usize::to_string).collect();
        let count = |n: &AtomicU64| n.load(Ordering::Relaxed).to_string();
        let stats = queue.stats();
        vec![
            kind.to_owned(),
            queue.taken().to_string(),
            waiting.join(" / "),
            count(&stats.at_once),
            count(&stats.waited),
            count(&stats.refused),
        ]
    });
    let columns = ["kind", "at work", "waiting by level", "at once", "waited", "refused"];
    let users = admission.top_users().into_iter();
    let users = users.map(|(user, share)| vec![user, format!("{:.1}%", share * 100.0)]).collect();
    [
        Section::table("Requests of clients", &columns, rows.to_vec()),
        Section::table("Users who ask for most lately", &["user", "share"], users),
    ]
}
