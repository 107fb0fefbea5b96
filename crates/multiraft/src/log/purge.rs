//! Gives a log's space back: files without live entries are recycled, and groups whose old
//! entries hold a file back are asked to flush and trim.

use std::sync::Arc;
use std::time::Instant;

use super::LogCore;
use crate::turn::event::Event;

pub(super) fn run(core: Arc<LogCore>) {
    let mut none = Vec::new();
    loop {
        let next = Instant::now() + core.options.purge_interval;
        if !core.purge.take(&mut none, Some(next)) {
            return;
        }
        none.clear();
        match core.engine.purge_expired_files() {
            Ok(regions) => {
                let groups: Vec<u64> = {
                    let known = core.regions.lock();
                    regions.into_iter().filter_map(|region| known.group(region)).collect()
                };
                let running = core.groups.lock();
                for group in groups {
                    if let Some(inbox) = running.get(&group) {
                        inbox.push(Event::TrimWanted { group });
                    }
                }
            }
            Err(error) => {
                tracing::warn!(log = %core.dir.display(), %error, "raft log purge failed");
            }
        }
    }
}
