//! The replicated state of an OM: tables, Raft log and group, opened and brought together.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use multiraft::transport::framed::FramedTransport;
use multiraft::{
    Group, GroupConfig, HostOptions, LogHandle, LogOptions, Membership, RaftHost, RestartPolicy,
    StateMachine, Supervisor, TrimOptions,
};

use crate::error::Error;
use crate::identity::{Identity, name_uuid};
use crate::join;
use crate::options::{Bootstrap, Setup};
use crate::rpc::METHODS;
use crate::state::{CurrentTables, InFlightProposals, MachineEvents, OmStateMachine};

/// How long a starting OM waits to lead its group; replaying a long log takes most of it.
const LEADERSHIP_TIMEOUT: Duration = Duration::from_secs(120);
/// Bytes of log after which the tables are flushed and the log trimmed: bounds what a start after
/// a crash has to replay.
const TRIM_BYTES: u64 = 64 << 20;
/// Entries kept in a trimmed log for replicas that were away for a moment.
const KEEP_ENTRIES: u64 = 5_000;

/// The replicated state, running.
pub(crate) struct State {
    pub(crate) current: Arc<CurrentTables>,
    pub(crate) proposals: Arc<InFlightProposals>,
    pub(crate) events: Arc<MachineEvents>,
    pub(crate) host: RaftHost,
    pub(crate) log: LogHandle,
    pub(crate) group: Group,
    /// Starts the group again when it fails.
    pub(crate) supervisor: Arc<Supervisor>,
}

impl State {
    /// Opens tables and log, finds out the members of the service when the log does not say, and
    /// starts the group.
    pub(crate) async fn open(
        setup: &Setup,
        identity: &Identity,
        bootstrap: Option<Bootstrap>,
    ) -> Result<Self, Error> {
        let options = HostOptions {
            election_timeout: setup.election_timeout,
            heartbeat: setup.election_timeout / 5,
            snapshot_rate: setup.snapshot_rate,
            ..HostOptions::new(setup.members.me.raft_id)
        };
        let transport = FramedTransport::new(METHODS, options.request_timeout);
        let host = RaftHost::start(options, transport)?;
        let disk = {
            let (setup, host) = (setup.clone(), host.clone());
            blocking(identity, move || Disk::open(&setup, &host)).await?
        };
        let state = Self::begin(setup, identity, bootstrap, &host, &disk).await;
        if state.is_err() {
            // The next start finds the directory at rest.
            host.shutdown().await;
            blocking(identity, move || {
                disk.log.close();
                disk.current.close();
                Ok(())
            })
            .await?;
        }
        state
    }

    async fn begin(
        setup: &Setup,
        identity: &Identity,
        bootstrap: Option<Bootstrap>,
        host: &RaftHost,
        disk: &Disk,
    ) -> Result<Self, Error> {
        let known = disk.log.holds(name_uuid(&setup.members.service_id));
        let note = identity.join_note();
        let joined = join::membership(setup, &note, known, bootstrap).await?;
        let (setup, snapshots) = (setup.clone(), identity.home().join("snapshots"));
        let (host, disk) = (host.clone(), disk.clone());
        let start = move || disk.start(&setup, snapshots, host, joined);
        let state = blocking(identity, start).await?;
        // The log says from now on which OMs are members.
        state.log.settled().await?;
        note.remove()?;
        Ok(state)
    }
}

/// Does what waits for the disk.
async fn blocking<T: Send + 'static>(
    identity: &Identity,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|e| Error::io(identity.home(), std::io::Error::other(e)))?
}

/// What is on disk, before the group runs. Opening and starting wait for the disk.
#[derive(Clone)]
struct Disk {
    current: Arc<CurrentTables>,
    log: LogHandle,
}

impl Disk {
    fn open(setup: &Setup, host: &RaftHost) -> Result<Self, Error> {
        let current = CurrentTables::open(&setup.dir, setup.store.clone(), setup.caches)?;
        // With the tables: a log that is lost alone is missed there.
        let manifest = Some(setup.dir.join("om").join("raft-log.manifest"));
        let log_options = LogOptions { manifest, ..LogOptions::default() };
        let log = host.open_log(&setup.raft_dir, log_options)?;
        Ok(Self { current: Arc::new(current), log })
    }

    fn start(
        self,
        setup: &Setup,
        snapshots: PathBuf,
        host: RaftHost,
        joined: Option<Membership>,
    ) -> Result<State, Error> {
        let Self { current, log } = self;
        let proposals = InFlightProposals::new(rand::random());
        let events = Arc::new(MachineEvents::default());
        let machine = {
            let of = (Arc::clone(&current), Arc::clone(&proposals), Arc::clone(&events));
            let node_id = setup.members.me.node_id.clone();
            move || {
                let (current, proposals, events) = of.clone();
                OmStateMachine::new(current, proposals, events, snapshots.clone(), node_id.clone())
            }
        };
        let me = host.node();
        let id = name_uuid(&setup.members.service_id);
        let mut config = GroupConfig::new(id, me, setup.members.first(), log.clone());
        config.joined = joined;
        config.trim = TrimOptions {
            entries: setup.trim_entries,
            bytes: TRIM_BYTES,
            keep: KEEP_ENTRIES.min(setup.trim_entries),
        };
        let group = host.start_group(config, Box::new(machine()?))?;
        let again = move || Ok(Box::new(machine()?) as Box<dyn StateMachine>);
        let supervisor = Arc::new(host.supervise(&group, RestartPolicy::default(), again));
        Ok(State { current, proposals, events, host, log, group, supervisor })
    }
}

/// Waits until this OM leads and has applied what its log holds.
pub(crate) async fn lead(group: &Group, supervisor: &Supervisor) -> Result<(), Error> {
    let mut changes = group.leader_changes();
    let ready = changes.wait_for(|state| state.ready);
    let ready = tokio::select! {
        ready = tokio::time::timeout(LEADERSHIP_TIMEOUT, ready) => ready.map(|ready| ready.map(drop)),
        failure = supervisor.failed() => return Err(Error::NoLeader(failure.to_string())),
    };
    match ready {
        Ok(Ok(())) => {}
        Ok(Err(_)) => return Err(Error::NoLeader("the group stopped".to_owned())),
        Err(_) => {
            let failed = group.status().await.and_then(|s| s.failed);
            let reason = failed.unwrap_or(format!("no leader within {LEADERSHIP_TIMEOUT:?}"));
            return Err(Error::NoLeader(reason));
        }
    }
    group.read_index().await.map_err(|e| Error::NoLeader(e.to_string()))?;
    Ok(())
}
