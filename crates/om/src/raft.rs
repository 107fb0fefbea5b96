//! The replicated state of an OM: tables, Raft log and group, opened and brought together.

use std::sync::Arc;
use std::time::Duration;

use multiraft::{HostOptions, LogOptions, TrimOptions};
use replicated::{GroupOptions, Options, RaftLog, Service};
use service::data_dir;

use crate::error::Error;
use crate::identity::Identity;
use crate::ids::name_uuid;
use crate::settings::{Bootstrap, Setup};
use crate::state::takeover;
use crate::state::{CurrentTables, MachineEvents, OmStateMachine, SNAPSHOTS, discard_sent};
use crate::{checkpoint, join};

/// Time for which a starting OM waits to lead its group; replaying a long log takes most of it.
pub(crate) const LEADERSHIP_TIMEOUT: Duration = Duration::from_secs(120);
/// Bytes of log after which the tables are flushed and the log trimmed: bounds the replay after a
/// crash.
const TRIM_BYTES: u64 = 64 << 20;
/// Entries kept in a trimmed log for replicas that were down for a moment.
const KEEP_ENTRIES: u64 = 5_000;

/// The replicated state, running.
pub(crate) struct State {
    pub(crate) current: Arc<CurrentTables>,
    pub(crate) events: Arc<MachineEvents>,
    pub(crate) service: Service<OmStateMachine>,
}

impl State {
    /// Opens tables and log, finds out the members of the service when the log does not say, and
    /// starts the group.
    pub(crate) async fn open(
        setup: &Setup,
        identity: &Identity,
        bootstrap: Option<Bootstrap>,
    ) -> Result<Self, Error> {
        let opening = setup.clone();
        let home = identity.home().to_path_buf();
        let open = move || {
            takeover::take_over(&opening.dir, &opening.raft_dir, &home)?;
            data_dir::make(&opening.raft_dir, opening.permissions)?;
            CurrentTables::open(&opening.dir, opening.store, opening.caches)
        };
        let current = Arc::new(tokio::task::spawn_blocking(open).await??);
        let begun = Self::begin(setup, identity, bootstrap, &current).await;
        if begun.is_err() {
            // The next start finds the directory at rest.
            current.close().await;
        }
        begun
    }

    async fn begin(
        setup: &Setup,
        identity: &Identity,
        bootstrap: Option<Bootstrap>,
        current: &Arc<CurrentTables>,
    ) -> Result<Self, Error> {
        let host = HostOptions {
            election_timeout: setup.election_timeout,
            heartbeat: setup.election_timeout / 5,
            snapshot_rate: setup.snapshot_rate,
            ..HostOptions::new(setup.members.me.raft_id)
        };
        let log = RaftLog::open(Options {
            host,
            shared: true,
            home: identity.home().to_path_buf(),
            log_dir: setup.raft_dir.clone(),
            log: LogOptions::default(),
        });
        let log = log.await?;
        let id = name_uuid(&setup.members.service_id);
        let joined = match join::membership(setup, &log, id, bootstrap).await {
            Ok(joined) => joined,
            Err(error) => {
                log.close().await;
                return Err(error);
            }
        };
        let options = GroupOptions {
            id,
            peers: setup.members.first(),
            joined,
            trim: TrimOptions {
                entries: setup.trim_entries,
                bytes: TRIM_BYTES,
                keep: KEEP_ENTRIES.min(setup.trim_entries),
            },
        };
        let events = Arc::new(MachineEvents::default());
        let snapshots = identity.home().join(SNAPSHOTS);
        let of = (Arc::clone(current), Arc::clone(&events), setup.members.me.node_id.clone());
        let machine = move || {
            let (current, events, node_id) = of.clone();
            OmStateMachine::new(current, events, snapshots.clone(), node_id)
        };
        let first = {
            let (machine, snapshots) = (machine.clone(), identity.home().join(SNAPSHOTS));
            let dir = setup.dir.clone();
            move || {
                discard_sent(&snapshots)?;
                checkpoint::discard(&dir)?;
                machine()
            }
        };
        let first = match tokio::task::spawn_blocking(first).await? {
            Ok(first) => first,
            Err(error) => {
                log.close().await;
                return Err(error);
            }
        };
        let service = log.start(options, first, move || {
            let machine = machine()?;
            machine.check_room()?;
            Ok(machine)
        });
        let service = service.await?;
        Ok(Self { current: Arc::clone(current), events, service })
    }
}
