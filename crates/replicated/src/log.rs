//! Raft host and log of a service, before its group starts.

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;
use multiraft::framed::{FramedTransport, Methods};
use multiraft::{
    GroupConfig, HostOptions, LogHandle, LogOptions, MachineError, Membership, Peer, RaftHost,
    RestartPolicy, StateMachine, Transport, TrimOptions,
};
use proto::method;
use uuid::Uuid;

use crate::error::Error;
use crate::group::Group;
use crate::handle::Handle;
use crate::join_note::JoinNote;
use crate::machine::{Machine, Untyped};
use crate::service::{Service, close};
use crate::single_node::SingleNode;

/// The manifest of the Raft log, in the role's directory: next to the tables, so that the loss of
/// the log alone is detected.
pub(crate) const MANIFEST: &str = "raft-log.manifest";

/// Wire numbers of Raft's methods between the members of a service.
pub const METHODS: Methods = Methods {
    messages: method::RAFT,
    snapshot: method::RAFT_SNAPSHOT,
    fetch: method::PAYLOAD_FETCH,
};

/// Options of host and log.
#[derive(Debug, Clone)]
pub struct Options {
    /// Timeouts and limits; contains this node's id.
    pub host: HostOptions,
    /// There are other members; a service of one sends nothing.
    pub shared: bool,
    /// The role's directory, which the role has locked.
    pub home: PathBuf,
    /// Directory of the log.
    pub log_dir: PathBuf,
    /// The log. Its manifest is below `home`, regardless of this value.
    pub log: LogOptions,
}

/// Options of a group.
#[derive(Debug, Clone)]
pub struct GroupOptions {
    /// The group's id.
    pub id: Uuid,
    /// The initial members of a new group.
    pub peers: Vec<Peer>,
    /// The members as reported by others, for a node that joins a running group.
    pub joined: Option<Membership>,
    /// Thresholds for trimming the log.
    pub trim: TrimOptions,
}

/// An open log, and its host. Call [`RaftLog::close`], or start a group.
pub struct RaftLog {
    host: RaftHost,
    log: LogHandle,
    note: JoinNote,
}

impl RaftLog {
    /// Opens host and log, on a thread that may block.
    ///
    /// # Errors
    /// If the log is in use, damaged, lost, or another replica's.
    pub fn open(options: Options) -> BoxFuture<'static, Result<Self, Error>> {
        Box::pin(Self::open_both(options))
    }

    async fn open_both(options: Options) -> Result<Self, Error> {
        let transport: Arc<dyn Transport> = match options.shared {
            false => Arc::new(SingleNode),
            true => FramedTransport::new(METHODS, options.host.request_timeout),
        };
        let host = RaftHost::start(options.host, transport)?;
        let note = JoinNote::below(&options.home);
        let log = LogOptions { manifest: Some(options.home.join(MANIFEST)), ..options.log };
        let opening = host.clone();
        let open = move || opening.open_log(&options.log_dir, log);
        match tokio::task::spawn_blocking(open).await {
            Ok(Ok(log)) => Ok(Self { host, log, note }),
            Ok(Err(error)) => {
                host.shutdown().await;
                Err(error.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns `true` if the log contains a group, and so the group's members.
    pub fn holds(&self, group: Uuid) -> bool {
        self.log.holds(group)
    }

    /// The persistent note of a joining node.
    pub fn join_note(&self) -> &JoinNote {
        &self.note
    }

    /// This node.
    pub fn node(&self) -> Uuid {
        self.host.node()
    }

    /// Starts the group with `machine`. After a failure it is restarted with the machine from
    /// `again`.
    ///
    /// # Errors
    /// If the group does not start; the log is closed then.
    pub async fn start<M: Machine>(
        self,
        options: GroupOptions,
        machine: M,
        again: impl Fn() -> Result<M, MachineError> + Send + Sync + 'static,
    ) -> Result<Service<M>, Error> {
        match self.begin(options, machine).await {
            Ok(group) => {
                let again = move || Ok(Box::new(Untyped(again()?)) as Box<dyn StateMachine>);
                let supervisor = self.host.supervise(&group, RestartPolicy::default(), again);
                let handle = Handle::new(Group::new(group), self.host.node(), Arc::new(supervisor));
                Ok(Service::new(handle, self.host, self.log))
            }
            Err(error) => {
                self.close().await;
                Err(error)
            }
        }
    }

    async fn begin<M: Machine>(
        &self,
        options: GroupOptions,
        machine: M,
    ) -> Result<multiraft::Group, Error> {
        let GroupOptions { id, peers, joined, trim } = options;
        let config = GroupConfig {
            joined,
            trim,
            ..GroupConfig::new(id, self.host.node(), peers, self.log.clone())
        };
        let host = self.host.clone();
        let start = move || host.start_group(config, Box::new(Untyped(machine)));
        let group = tokio::task::spawn_blocking(start).await??;
        // The log has the members from now on.
        self.log.sync().await?;
        self.note.remove()?;
        Ok(group)
    }

    /// Closes the log, so that the next start can open the directory.
    pub fn close(self) -> BoxFuture<'static, ()> {
        close(self.host, self.log)
    }
}
