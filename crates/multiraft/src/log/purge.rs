//! Reclaims a log's space: files without live entries are recycled, and groups whose old entries
//! keep a file alive are asked to flush and trim. Also writes the records outside of the log's
//! directory.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use super::core::LogCore;
use crate::event::Event;

pub(super) fn run(core: Arc<LogCore>) {
    let mut none = Vec::new();
    let mut next = Instant::now() + core.options.purge_interval;
    loop {
        let open = core.purge.recv_many(&mut none, Some(next));
        none.clear();
        core.identity.persist();
        if !open {
            core.identity.synced.sync();
            return;
        }
        let now = Instant::now();
        if now < next {
            continue;
        }
        next = now + core.options.purge_interval;
        core.identity.synced.sync();
        if core.health.failure().is_some() {
            continue;
        }
        // The engine panics if an fsync fails.
        let purged = catch_unwind(AssertUnwindSafe(|| core.engine.purge_expired_files()));
        let Ok(purged) = purged else {
            core.give_up(String::from("fsync failed"));
            continue;
        };
        match purged {
            Ok(regions) => {
                // The engine has synced the entries it moved.
                let moved = core.written.rewrite();
                if core.options.fsync && moved.file > 0 {
                    core.identity.synced.note_rewritten(moved);
                }
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
