//! The roles of a server: started in the order they need each other, stopped in the reverse.

use std::time::Duration;

use config::Configuration;
use config::keys::hdds;
use datanode::{Datanode, DatanodeHandle, DatanodeOptions};
use futures::FutureExt;
use futures::future::{join_all, select_all};
use om::{Om, OmHandle, OmOptions, RootCredentials};
use s3gateway::{GatewayOptions, S3Gateway, S3GatewayHandle};
use scm::{Scm, ScmHandle};
use tracing::warn;
use types::ReplicationConfig;

use crate::derive::Base;
use crate::directory::Directory;
use crate::endpoints::{Credentials, Endpoints, reachable};
use crate::error::ServerError;

/// How often the log says why the cluster takes no writes yet.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// Handles of what runs.
#[derive(Default)]
pub struct Roles {
    scm: Option<ScmHandle>,
    om: Option<OmHandle>,
    datanodes: Vec<DatanodeHandle>,
    s3: Option<S3GatewayHandle>,
}

/// What starting came to.
pub(crate) struct Started {
    pub endpoints: Endpoints,
    pub credentials: Credentials,
    pub client: Configuration,
}

impl Roles {
    /// Starts SCM; then OM and the DataNodes beside each other; then the S3 gateway. Returns when a pipeline is open.
    pub(crate) async fn start(
        &mut self,
        base: &Base,
        directory: &Directory,
        datanodes: usize,
        root: Option<RootCredentials>,
    ) -> Result<Started, ServerError> {
        let scm = self.scm.insert(Scm::start(&base.scm(directory)).await?);
        let at = scm.addresses();
        let base =
            base.with_scm(&reachable(at.client), &reachable(at.block), &reachable(at.datanode));
        let mut endpoints =
            Endpoints { scm: reachable(at.client).to_string(), ..Endpoints::default() };
        endpoints.page("SCM", at.http);

        let om_conf = base.om(directory);
        let om_options =
            OmOptions { cluster_id: Some(scm.cluster_id().to_owned()), root_credentials: root };
        let datanodes = (1..=datanodes).map(async |number| {
            Datanode::start(&base.datanode(directory, number), DatanodeOptions::default())
                .await
                .map_err(|source| ServerError::Datanode { number, source })
        });
        let (om, datanodes) = tokio::join!(Om::start(&om_conf, om_options), join_all(datanodes));
        // Keep what started even when another did not, so that it is stopped in good order.
        let mut failure = None;
        for datanode in datanodes {
            match datanode {
                Ok(handle) => self.datanodes.push(handle),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        let om = self.om.insert(om?);
        if let Some(error) = failure {
            return Err(error);
        }
        let no_root = || ServerError::Stopped("OM has no root S3 key pair".to_owned());
        let (om_at, root) = (om.addresses(), om.root_credentials().ok_or_else(no_root)?);
        endpoints.om = reachable(om_at.framed).to_string();
        endpoints.om_grpc = om_at.grpc.map(|at| reachable(at).to_string());
        endpoints.page("OM", om_at.http);
        for (index, datanode) in self.datanodes.iter().enumerate() {
            let at = datanode.addresses();
            endpoints.datanodes.push(reachable(at.native).to_string());
            endpoints.page(format!("DataNode {}", index + 1), at.http);
        }

        let client = base.client(&reachable(om_at.framed), om_at.grpc.map(|at| at.port()));
        let mut options = GatewayOptions::from_configuration(&client);
        // The one pair everybody starts with need not be asked of OM.
        options.credentials = Some((root.access_key.clone(), root.secret_key.clone()));
        let s3 = self.s3.insert(S3Gateway::start(&client, options).await?);
        endpoints.s3 = s3.endpoint();
        endpoints.page("S3 gateway", s3.status_address());

        self.wait_for_writes(&client).await?;
        let credentials = Credentials { access_key: root.access_key, secret_key: root.secret_key };
        Ok(Started { endpoints, credentials, client })
    }

    /// Waits until blocks of the default replication can be had: SCM is out of safe mode and a pipeline is open.
    async fn wait_for_writes(&self, conf: &Configuration) -> Result<(), ServerError> {
        let Some(scm) = &self.scm else { return Ok(()) };
        let kind = conf.get(&hdds::OZONE_SERVER_DEFAULT_REPLICATION_TYPE);
        let factor = conf.get(&hdds::OZONE_SERVER_DEFAULT_REPLICATION);
        let replication = ReplicationConfig::parse(&kind, &factor);
        let ready = async {
            match replication {
                Ok(replication) => scm.ready_for(replication).await,
                // Not for us to judge: OM has taken it.
                Err(_) => scm.ready().await,
            }
        };
        let tell = async {
            loop {
                tokio::time::sleep(TELL_EVERY).await;
                let state =
                    if scm.in_safe_mode() { "SCM is in safe mode" } else { "no pipeline is open" };
                warn!(state, "no writes yet, waiting; 'o3 admin safemode status' tells more");
            }
        };
        tokio::select! {
            () = ready => Ok(()),
            error = self.failed() => Err(error),
            () = tell => Ok(()),
        }
    }

    /// Waits until a role stops by itself, and says why.
    pub(crate) async fn failed(&self) -> ServerError {
        let mut ends = Vec::new();
        if let Some(om) = &self.om {
            let end = om.stopped().map(|()| ServerError::Stopped("OM stopped".to_owned()));
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

    /// Takes a DataNode out, for tests that stop one; they count from 1.
    pub fn take_datanode(&mut self, number: usize) -> Option<DatanodeHandle> {
        let index = number.checked_sub(1).filter(|index| *index < self.datanodes.len())?;
        Some(self.datanodes.remove(index))
    }

    /// SCM's handle.
    pub fn scm(&self) -> Option<&ScmHandle> {
        self.scm.as_ref()
    }

    /// OM's handle.
    pub fn om(&self) -> Option<&OmHandle> {
        self.om.as_ref()
    }

    /// Stops everything: first who asks, last who is asked.
    pub(crate) async fn stop(&mut self) {
        if let Some(s3) = self.s3.take() {
            s3.shutdown().await;
        }
        if let Some(om) = self.om.take() {
            om.shutdown().await;
        }
        join_all(self.datanodes.drain(..).map(DatanodeHandle::shutdown)).await;
        if let Some(scm) = self.scm.take() {
            scm.shutdown().await;
        }
    }
}
