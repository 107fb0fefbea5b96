//! The roles of a server, started in the order of their dependencies and stopped in the reverse.

use std::time::Duration;

use config::Configuration;
use config::keys::hdds;
use datanode::{Datanode, DatanodeHandle, DatanodeOptions};
use futures::future::{join_all, select_all};
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use om::{Om, OmHandle, OmOptions, RootCredentials};
use s3gateway::{GatewayOptions, S3Gateway, S3GatewayError, S3GatewayHandle};
use scm::{Scm, ScmHandle};
use tracing::warn;
use types::ReplicationConfig;

use crate::derive::Base;
use crate::directory::Directory;
use crate::endpoints::{Credentials, Endpoints, reachable};
use crate::error::ServerError;

/// Interval of log lines with the reason why the cluster accepts no writes yet.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Timeout for several OMs to elect their first leader and initialize.
const FIRST_LEADER_TIMEOUT: Duration = Duration::from_secs(60);
/// Poll interval of states without notifications.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Handles of the running roles.
#[derive(Default)]
pub struct Roles {
    scms: Vec<ScmHandle>,
    oms: Vec<OmHandle>,
    datanodes: Vec<DatanodeHandle>,
    s3: Option<S3GatewayHandle>,
}

/// Result of the start.
pub(crate) struct Started {
    pub endpoints: Endpoints,
    pub credentials: Credentials,
    pub client: Configuration,
    /// Settings for clients in other processes.
    pub site: Vec<(String, String)>,
}

impl Roles {
    /// Starts the SCMs; then OMs and DataNodes in parallel; then the S3 gateway. Returns when a
    /// pipeline is open.
    pub(crate) async fn start(
        &mut self,
        base: &Base,
        directory: &Directory,
        datanodes: usize,
        root: Option<RootCredentials>,
    ) -> Result<Started, ServerError> {
        let scms = (1..=base.scms()).map(|number| {
            let conf = base.scm(directory, number);
            async move { Scm::start(&conf).await.map_err(ServerError::from) }
        });
        gather(&mut self.scms, scms).await?;
        let no_scm = || ServerError::Stopped("no SCM".to_owned());
        let scm = self.scms.first().ok_or_else(no_scm)?;
        let base = match base.scms() {
            1 => {
                let at = scm.addresses();
                base.with_scm(&reachable(at.client), &reachable(at.block), &reachable(at.datanode))
            }
            _ => base.clone(),
        };
        let mut endpoints = Endpoints::default();
        for (scm, name) in self.scms.iter().zip(names("SCM", self.scms.len())) {
            endpoints.scms.push(reachable(scm.addresses().client).to_string());
            endpoints.page(name, scm.addresses().http);
        }

        let om_options = OmOptions {
            cluster_id: Some(scm.cluster_id().to_owned()),
            root_credentials: root,
            bootstrap: None,
        };
        let oms = (1..=base.oms()).map(|number| {
            let (conf, options) = (base.om(directory, number), om_options.clone());
            async move { Om::start(&conf, options).await.map_err(ServerError::from) }
        });
        let datanodes = (1..=datanodes).map(|number| {
            let conf = base.datanode(directory, number);
            async move {
                let started = Datanode::start(&conf, DatanodeOptions::default()).await;
                started.map_err(|source| ServerError::Datanode { number, source })
            }
        });
        let Self { oms: om_handles, datanodes: datanode_handles, .. } = self;
        let started = tokio::join!(gather(om_handles, oms), gather(datanode_handles, datanodes));
        started.0?;
        started.1?;
        for (om, name) in self.oms.iter().zip(names("OM", self.oms.len())) {
            let at = om.addresses();
            endpoints.oms.push(reachable(at.framed).to_string());
            endpoints.om_grpc.extend(at.grpc.map(|at| reachable(at).to_string()));
            endpoints.page(name, at.http);
        }
        for (index, datanode) in self.datanodes.iter().enumerate() {
            let at = datanode.addresses();
            endpoints.datanodes.push(reachable(at.native).to_string());
            endpoints.page(format!("DataNode {}", index + 1), at.http);
        }
        let root = self.root_credentials().await?;
        let om_at = self.oms.first().map(OmHandle::addresses).ok_or_else(no_root)?;

        let client = base.client(&reachable(om_at.framed), om_at.grpc.map(|at| at.port()));
        let mut options =
            GatewayOptions::from_configuration(&client).map_err(S3GatewayError::from)?;
        // The gateway's initial key pair needs no request to OM.
        options.credentials = Some((root.access_key.clone(), root.secret_key.clone()));
        if options.enabled {
            let s3 = self.s3.insert(S3Gateway::start(&client, options).await?);
            endpoints.s3 = Some(s3.endpoint());
            endpoints.page("S3 gateway", s3.status_address());
        }

        self.wait_for_writes(&client).await?;
        let credentials = Credentials { access_key: root.access_key, secret_key: root.secret_key };
        Ok(Started { endpoints, credentials, site: base.site(&client), client })
    }

    /// The root key pair, which the first leader of OM creates.
    async fn root_credentials(&self) -> Result<RootCredentials, ServerError> {
        let made = async {
            loop {
                if let Some(root) = self.oms.iter().find_map(OmHandle::root_credentials) {
                    return root;
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        tokio::time::timeout(FIRST_LEADER_TIMEOUT, made).await.map_err(|_| no_root())
    }

    /// Waits until blocks of the default replication can be allocated: SCM has left safe mode and a
    /// pipeline is open.
    async fn wait_for_writes(&self, conf: &Configuration) -> Result<(), ServerError> {
        let kind = conf.get(&hdds::OZONE_SERVER_DEFAULT_REPLICATION_TYPE);
        let factor = conf.get(&hdds::OZONE_SERVER_DEFAULT_REPLICATION);
        let replication = ReplicationConfig::parse(&kind, &factor);
        let ready = async {
            loop {
                let Some(scm) = self.scms.iter().find(|scm| scm.leads()) else {
                    tokio::time::sleep(POLL_INTERVAL).await;
                    continue;
                };
                let ready = match &replication {
                    Ok(replication) => scm.ready_for(*replication).boxed(),
                    // OM has accepted the value; no check here.
                    Err(_) => scm.ready().boxed(),
                };
                // The leader may change in the meantime.
                if tokio::time::timeout(Duration::from_secs(1), ready).await.is_ok() {
                    return;
                }
            }
        };
        let report = async {
            loop {
                tokio::time::sleep(LOG_INTERVAL).await;
                let safe = self.scms.iter().any(ScmHandle::in_safe_mode);
                let state = if safe { "SCM is in safe mode" } else { "no pipeline is open" };
                warn!(state, "waiting until writes are possible; see 'o3 admin safemode status'");
            }
        };
        tokio::select! {
            () = ready => Ok(()),
            error = self.failed() => Err(error),
            () = report => Ok(()),
        }
    }

    /// Waits until a role stops by itself, and returns the reason.
    pub(crate) async fn failed(&self) -> ServerError {
        let mut ends = Vec::new();
        for om in &self.oms {
            let end = om.stopped().map(|why| ServerError::Stopped(format!("OM stopped: {why}")));
            ends.push(end.boxed());
        }
        for scm in &self.scms {
            let end = scm.failed().map(|why| ServerError::Stopped(format!("SCM stopped: {why}")));
            ends.push(end.boxed());
        }
        for (index, datanode) in self.datanodes.iter().enumerate() {
            let end = datanode.failed();
            ends.push(
                end.map(move |why| ServerError::Stopped(format!("DataNode {}: {why}", index + 1)))
                    .boxed(),
            );
        }
        if ends.is_empty() {
            return std::future::pending().await;
        }
        select_all(ends).await.0
    }

    /// Removes a DataNode, for tests that stop one; numbers start at 1.
    pub fn remove_datanode(&mut self, number: usize) -> Option<DatanodeHandle> {
        let index = number.checked_sub(1).filter(|index| *index < self.datanodes.len())?;
        Some(self.datanodes.remove(index))
    }

    /// The leader of the SCMs; the first SCM if there is none.
    pub fn scm(&self) -> Option<&ScmHandle> {
        self.scms.iter().find(|scm| scm.leads()).or(self.scms.first())
    }

    /// The leader of the OMs; the first OM if there is none.
    pub fn om(&self) -> Option<&OmHandle> {
        self.oms.iter().find(|om| om.is_leader()).or(self.oms.first())
    }

    /// Stops all roles: clients first, then the servers that they use.
    pub(crate) async fn stop(&mut self) {
        if let Some(s3) = self.s3.take() {
            s3.shutdown().await;
        }
        join_all(self.oms.drain(..).map(OmHandle::shutdown)).await;
        join_all(self.datanodes.drain(..).map(DatanodeHandle::shutdown)).await;
        join_all(self.scms.drain(..).map(ScmHandle::shutdown)).await;
    }
}

/// Starts the members of a role in parallel. Started members are kept, in order, even if another
/// did not start, so that they can be stopped gracefully.
async fn gather<H>(
    kept: &mut Vec<H>,
    starting: impl Iterator<Item = impl Future<Output = Result<H, ServerError>>>,
) -> Result<(), ServerError> {
    let numbered = starting.enumerate().map(async |(n, starting)| (n, starting.await));
    let mut ends: FuturesUnordered<_> = numbered.collect();
    let (mut started, mut failure) = (Vec::new(), None);
    while let Some((number, end)) = ends.next().await {
        match end {
            Ok(handle) => started.push((number, handle)),
            Err(error) => {
                // Others may be waiting for it.
                failure = Some(error);
                break;
            }
        }
    }
    started.sort_by_key(|(number, _)| *number);
    kept.extend(started.into_iter().map(|(_, handle)| handle));
    failure.map_or(Ok(()), Err)
}

/// Names of the members of a role.
fn names(role: &str, count: usize) -> Vec<String> {
    match count {
        1 => vec![role.to_owned()],
        _ => (1..=count).map(|number| format!("{role} {number}")).collect(),
    }
}

fn no_root() -> ServerError {
    ServerError::Stopped("OM has no root S3 key pair".to_owned())
}
