//! Old entries and snapshots for followers that lag.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::core::GroupCore;
use super::out::Out;
use crate::apply::ApplyTask;
use crate::consensus::{Entry, Snapshot};
use crate::entry::is_stripped;
use crate::error::FetchError;
use crate::event::{Event, Fetched};
use crate::machine::MachineError;
use crate::metrics::add;
use crate::shared::GroupShared;
use crate::snapshot::{Outgoing, describe_members};
use crate::store::FetchRequest;

/// Time a snapshot is kept, on disk, for a follower that was lost during sending.
const SNAPSHOT_RETENTION: Duration = Duration::from_secs(120);

/// Restores payloads in entries, up to `max_bytes` (at least one entry).
pub(crate) async fn with_payloads(
    shared: &GroupShared,
    entries: Vec<Entry>,
    max_bytes: u64,
) -> Result<Vec<Entry>, FetchError> {
    let mut full = Vec::with_capacity(entries.len());
    let mut bytes = 0u64;
    for mut entry in entries {
        if is_stripped(&entry) {
            let Some(payloads) = &shared.payloads else {
                return Err(FetchError::NoStore(entry.index));
            };
            let read = payloads.read(entry.data.clone()).await;
            entry.context =
                read.map_err(|error| FetchError::Payload { index: entry.index, error })?;
        }
        bytes += (entry.data.len() + entry.context.len()) as u64;
        if bytes > max_bytes && !full.is_empty() {
            break;
        }
        full.push(entry);
    }
    Ok(full)
}

impl GroupCore {
    /// Starts the fetches that Raft requested from the store.
    pub(crate) fn serve_fetches(&mut self, out: &mut Out) {
        for request in self.node.store().take_fetches() {
            if self.fetching.contains(&request.low) {
                continue;
            }
            self.fetching.push(request.low);
            add(&out.metrics.log_fetches, 1);
            self.fetch(request);
        }
        if self.node.store().take_snapshot_request() && !self.taking_snapshot {
            self.taking_snapshot = true;
            out.apply(&self.apply, ApplyTask::Snapshot { group: self.region() });
        }
    }

    fn fetch(&self, request: FetchRequest) {
        let (shared, log) = (self.shared.clone(), self.log.clone());
        let FetchRequest { low, high, max_bytes, context } = request;
        // The newest entries may be in memory only, and those in memory may suffice.
        let mut entries = Vec::new();
        let cached = self.node.store().cache.extend_into(low, high, Some(max_bytes), &mut entries);
        let persisted = self.persisted;
        self.shared.runtime.spawn(async move {
            let group = shared.number;
            let read = if cached {
                Ok(entries)
            } else {
                let max = usize::try_from(max_bytes).unwrap_or(usize::MAX);
                let high = high.min(persisted + 1);
                let read = move || {
                    let mut entries = Vec::new();
                    log.entries(group, low, high, Some(max), &mut entries).map(|()| entries)
                };
                match tokio::task::spawn_blocking(read).await {
                    Ok(read) => read.map_err(FetchError::from),
                    Err(error) => Err(error.into()),
                }
            };
            let result = match read {
                Ok(entries) => with_payloads(&shared, entries, max_bytes).await,
                Err(error) => Err(error),
            };
            let inbox = Arc::clone(&shared.inbox);
            inbox.push(Event::Fetched { group, fetched: Fetched { low, result, context } });
        });
    }

    pub(crate) fn on_fetched(&mut self, fetched: Fetched) {
        self.fetching.retain(|low| *low != fetched.low);
        match fetched.result {
            Ok(entries) if !entries.is_empty() => {
                self.node.mut_store().put_fetched(entries);
                self.node.on_entries_fetched(fetched.context);
            }
            Ok(_) => {}
            Err(error) => {
                // Raft retries with the follower's next heartbeat.
                tracing::warn!(group = %self.shared.id, %error, "cannot read entries for a follower");
            }
        }
    }

    /// Handles the state machine's snapshot; Raft takes it at its next message to the follower.
    pub(crate) fn on_snapshot_taken(&mut self, result: Result<Outgoing, MachineError>) {
        self.taking_snapshot = false;
        let outgoing = match result {
            Ok(outgoing) => outgoing,
            Err(error) => {
                tracing::warn!(group = %self.shared.id, %error, "cannot take snapshot");
                return;
            }
        };
        let mut snapshot = Snapshot { data: outgoing.describe(), ..Snapshot::default() };
        let metadata = snapshot.mut_metadata();
        metadata.index = outgoing.at.index;
        metadata.term = outgoing.at.term;
        describe_members(&mut snapshot, &self.shared.membership.borrow());
        self.node.mut_store().snapshot = Some(snapshot);
        self.outgoing = Some(outgoing);
    }

    pub(crate) fn on_snapshot_sent(&mut self, to: u64, ok: bool) {
        self.sending_to.retain(|other| *other != to);
        self.node.report_snapshot(to, ok);
        if !self.sending_to.is_empty() {
            return;
        }
        if ok {
            // The next follower that needs one gets a new one.
            self.drop_outgoing();
        } else {
            // An interrupted stream resumes where it was, which requires the same snapshot.
            self.outgoing_unused = Some(Instant::now());
        }
    }

    fn drop_outgoing(&mut self) {
        self.outgoing = None;
        self.outgoing_unused = None;
        self.node.mut_store().snapshot = None;
    }

    /// Releases a snapshot that no follower came back for.
    pub(crate) fn tick_snapshot(&mut self, now: Instant) {
        if !self.sending_to.is_empty() {
            self.outgoing_unused = None;
        } else if let Some(since) = self.outgoing_unused {
            let follows = !self.node.leads();
            if follows || now.duration_since(since) > SNAPSHOT_RETENTION {
                self.drop_outgoing();
            }
        }
    }
}
