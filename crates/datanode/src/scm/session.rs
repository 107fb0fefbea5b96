//! The session with one SCM, until it is ended: version, register, heartbeats, and from the start
//! again if SCM has no registration of this node.
//!
//! Two heartbeats are in flight at a time. The *report* is sent at every interval and immediately
//! when there is a change to report; SCM responds at once. The *waiting* heartbeat is empty: SCM
//! holds it until it has a command, so that commands arrive without delay.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use config::HostPort;
use framed::{CallError, Client, ClientOptions};
use proto::scm_datanode as wire;
use proto::scm_datanode::ScmCommandProto as Command;
use proto::scm_datanode::scm_command_proto::Type as CommandType;
use service::Shutdown;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::report::{self, Told};
use super::{commands, sessions};
use crate::DatanodeError;
use crate::daemon::Daemon;
use crate::node::Node;
use crate::open::open;
use crate::pending_reports::{Batch, Outbox};

/// Reports that come within this time go together.
const COALESCE_DELAY: Duration = Duration::from_millis(3);
/// Pauses between attempts to reach SCM.
const MIN_RETRY_DELAY: Duration = Duration::from_millis(50);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(2);
/// SCM answers a waiting heartbeat earlier than this, with or without commands.
const WAITING_TIMEOUT: Duration = Duration::from_secs(30);

/// Reasons for the end of a session.
#[derive(Debug, thiserror::Error)]
enum SessionError {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("SCM answered: {0}")]
    Scm(String),
    #[error("SCM's answer lacks {0}")]
    Incomplete(&'static str),
    #[error("SCM requested a new registration")]
    Reregister,
    #[error(transparent)]
    Fatal(#[from] DatanodeError),
}

/// Runs a session with the SCM at `address` until `stop`.
pub(crate) async fn run(daemon: Arc<Daemon>, address: HostPort, stop: Shutdown) {
    let outbox = daemon.pending_reports.open();
    keep(&daemon, &address, &outbox, &stop).await;
    daemon.pending_reports.close(&outbox);
}

async fn keep(daemon: &Arc<Daemon>, address: &HostPort, outbox: &Arc<Outbox>, stop: &Shutdown) {
    let options = ClientOptions { connections: 1, ..ClientOptions::default() };
    let session = Session {
        client: Client::new(address.to_string(), options),
        outbox: outbox.clone(),
        daemon: daemon.clone(),
        reregister: Notify::new(),
    };
    let mut pause = MIN_RETRY_DELAY;
    let mut quiet = false;
    loop {
        let began = Instant::now();
        let error = match stop.until(session.run()).await {
            None => return,
            Some(error) => error,
        };
        match &error {
            SessionError::Reregister => {
                tracing::info!(scm = %address, "registering again on SCM's request");
                (pause, quiet) = (MIN_RETRY_DELAY, false);
                continue;
            }
            SessionError::Fatal(fatal) => {
                tracing::error!(scm = %address, error = %fatal, "cannot join the cluster");
                daemon.fail(fatal.to_string());
                return;
            }
            _ => {}
        }
        if began.elapsed() > MAX_RETRY_DELAY {
            (pause, quiet) = (MIN_RETRY_DELAY, false);
        }
        if quiet {
            tracing::debug!(scm = %address, %error, "no session with SCM yet");
        } else {
            tracing::warn!(scm = %address, %error, "no session with SCM; trying until there is one");
        }
        quiet = true;
        stop.until(tokio::time::sleep(pause)).await;
        pause = (pause * 2).min(MAX_RETRY_DELAY);
    }
}

/// Reports sent in this session, and times of the next full ones.
struct Progress {
    told: Told,
    all_containers: Instant,
    all_pipelines: Instant,
}

struct Session {
    daemon: Arc<Daemon>,
    client: Client,
    outbox: Arc<Outbox>,
    reregister: Notify,
}

impl Session {
    /// Runs one session; returns why it ended.
    async fn run(&self) -> SessionError {
        let node = match telemetry::root("join", self.join()).await {
            Ok(node) => node,
            Err(error) => return error,
        };
        let mut told = Told::default();
        if let Err(error) = telemetry::root("register", self.register(&node, &mut told)).await {
            return error;
        }
        tokio::select! {
            error = self.keep_reporting(&node, told) => error,
            error = self.wait_for_commands(&node) => error,
            () = self.reregister.notified() => SessionError::Reregister,
        }
    }

    /// Learns the cluster, and opens the disks when that was what they waited for.
    async fn join(&self) -> Result<Arc<Node>, SessionError> {
        let request = wire::ScmDatanodeRequest {
            get_version_request: Some(wire::ScmVersionRequestProto {}),
            ..envelope(wire::Type::GetVersion)
        };
        let response = self.call(request, self.daemon.settings.heartbeat_timeout).await?;
        let version =
            response.get_version_response.ok_or(SessionError::Incomplete("getVersionResponse"))?;
        let cluster_id = version
            .keys
            .iter()
            .find(|pair| pair.key == "clusterID")
            .and_then(|pair| pair.value.clone())
            .ok_or(SessionError::Incomplete("clusterID"))?;
        Ok(open(&self.daemon, &cluster_id).await?)
    }

    async fn register(&self, node: &Arc<Node>, told: &mut Told) -> Result<(), SessionError> {
        // Heartbeats report later changes.
        self.outbox.take();
        let request = wire::ScmDatanodeRequest {
            register_request: Some(report::registration(node, told)),
            ..envelope(wire::Type::Register)
        };
        let response = self.call(request, self.daemon.settings.heartbeat_timeout).await?;
        let registered =
            response.register_response.ok_or(SessionError::Incomplete("registerResponse"))?;
        if registered.error_code() != wire::scm_registered_response_proto::ErrorCode::Success {
            let why = format!("cluster {}", registered.cluster_id);
            return Err(DatanodeError::NotPermitted(why).into());
        }
        tracing::info!(
            scm = %self.client.address(), cluster = registered.cluster_id, "registered with SCM"
        );
        for id in node.full_containers() {
            self.outbox.add(|batch| _ = batch.full.insert(id));
        }
        for (id, reason) in node.pipelines.failed() {
            self.outbox.add(|batch| _ = batch.failed.insert(id, reason));
        }
        self.daemon.registered();
        Ok(())
    }

    /// Sends reports until one fails.
    async fn keep_reporting(&self, node: &Arc<Node>, told: Told) -> SessionError {
        let settings = &self.daemon.settings;
        let mut tick = tokio::time::interval(settings.heartbeat_interval);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let now = Instant::now();
        let mut progress = Progress {
            told,
            all_containers: now + settings.container_report_interval,
            all_pipelines: now + settings.pipeline_report_interval,
        };
        loop {
            let periodic = tokio::select! {
                _ = tick.tick() => true,
                () = self.outbox.wait() => {
                    tokio::time::sleep(COALESCE_DELAY).await;
                    false
                }
            };
            let mut batch = self.outbox.take();
            if batch.look || periodic {
                node.collect_changes();
                merge(&mut batch, self.outbox.take());
            }
            if !periodic && is_empty(&batch) {
                continue;
            }
            let report = self.report(node, batch, &mut progress, periodic);
            if let Err(error) = telemetry::root("report", report).await {
                return error;
            }
        }
    }

    /// Sends one report, with all containers or pipelines when that is due.
    async fn report(
        &self,
        node: &Arc<Node>,
        batch: Batch,
        progress: &mut Progress,
        periodic: bool,
    ) -> Result<(), SessionError> {
        let settings = &self.daemon.settings;
        let mut beat = report::heartbeat(node, &batch, &mut progress.told, periodic);
        let now = Instant::now();
        let (containers, pipelines) =
            (now >= progress.all_containers, now >= progress.all_pipelines);
        if containers {
            let reports = node.store.report();
            beat.container_report = Some(wire::ContainerReportsProto { reports });
        }
        if pipelines {
            beat.pipeline_reports = Some(report::all_pipelines(node));
        }
        if let Err(error) = self.heartbeat(node, beat, settings.heartbeat_timeout).await {
            self.outbox.put_back(batch);
            return Err(error);
        }
        if containers {
            progress.all_containers = now + settings.container_report_interval;
        }
        if pipelines {
            progress.all_pipelines = now + settings.pipeline_report_interval;
        }
        Ok(())
    }

    /// Sends one heartbeat that waits for commands. The report's failures end the session, not this
    /// one's.
    async fn wait_for_commands(&self, node: &Arc<Node>) -> SessionError {
        let mut pause = MIN_RETRY_DELAY;
        loop {
            let waiting = self.heartbeat(node, report::waiting(node), WAITING_TIMEOUT);
            match telemetry::root("wait for commands", waiting).await {
                Ok(()) => pause = MIN_RETRY_DELAY,
                Err(error) => {
                    tracing::debug!(%error, "the waiting heartbeat failed");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(MAX_RETRY_DELAY);
                }
            }
        }
    }

    /// Sends a heartbeat and starts what it brings back.
    async fn heartbeat(
        &self,
        node: &Arc<Node>,
        mut beat: wire::ScmHeartbeatRequestProto,
        timeout: Duration,
    ) -> Result<(), SessionError> {
        beat.known_scms = Some(self.daemon.sessions.known());
        let request = wire::ScmDatanodeRequest {
            send_heartbeat_request: Some(beat),
            ..envelope(wire::Type::SendHeartbeat)
        };
        let response = self.call(request, timeout).await?;
        let answer = response
            .send_heartbeat_response
            .ok_or(SessionError::Incomplete("sendHeartbeatResponse"))?;
        for command in answer.commands {
            self.start(node, command);
        }
        if let Some(places) = &answer.scms {
            sessions::on_scm_places(&self.daemon, places);
        }
        Ok(())
    }

    fn start(&self, node: &Arc<Node>, command: Command) {
        // Two SCMs may think that they lead; the one elected later is right.
        let term = command.term();
        let latest = self.daemon.scm_term.fetch_max(term, Ordering::SeqCst);
        if command.command_type() == CommandType::ReregisterCommand {
            // Orders of earlier terms no longer change later registrations.
            self.reregister.notify_one();
            return;
        }
        if latest > term {
            tracing::info!(scm = %self.client.address(), term, "ignoring a command of an SCM that no longer leads");
            return;
        }
        commands::start(&self.daemon, node, &self.outbox, command);
    }

    async fn call(
        &self,
        request: wire::ScmDatanodeRequest,
        timeout: Duration,
    ) -> Result<wire::ScmDatanodeResponse, SessionError> {
        let response: wire::ScmDatanodeResponse = telemetry::stage("call scm", async {
            let trace_id = telemetry::current_trace_id();
            let request = wire::ScmDatanodeRequest { trace_id, ..request };
            let method = proto::method::SCM_DATANODE;
            framed::message::call(&self.client, method, &request, timeout).await
        })
        .await?;
        self.daemon.heard_scm();
        if response.status() != wire::Status::Ok || !response.success() {
            return Err(SessionError::Scm(response.message().to_owned()));
        }
        Ok(response)
    }
}

fn envelope(kind: wire::Type) -> wire::ScmDatanodeRequest {
    wire::ScmDatanodeRequest { cmd_type: kind as i32, ..Default::default() }
}

fn is_empty(batch: &Batch) -> bool {
    batch.containers.is_empty()
        && batch.full.is_empty()
        && batch.pipelines.is_empty()
        && batch.failed.is_empty()
        && batch.statuses.is_empty()
}

fn merge(batch: &mut Batch, more: Batch) {
    batch.containers.extend(more.containers);
    batch.full.extend(more.full);
    batch.pipelines.extend(more.pipelines);
    batch.failed.extend(more.failed);
    batch.statuses.extend(more.statuses);
}
