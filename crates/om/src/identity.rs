//! The identity of this OM: its directory, its cluster, the ids of its Raft group and node.

use std::path::Path;
use std::time::{Duration, Instant};

use service::{DataDir, Expected, VersionFile, data_dir};
use uuid::Uuid;

use crate::error::Error;
use crate::ids::now_ms;
use crate::scm::{ScmClient, ScmInfo};
use crate::settings::{OmOptions, Setup};

/// OMLayoutFeature SNAPSHOT_DEFRAG: the newest layout of Ozone 2.2.
const LAYOUT_VERSION: u32 = 9;
const VERSION_PATH: &str = "current/VERSION";
/// Time for which the first start waits for SCM: it needs the cluster id.
const FIRST_START_TIMEOUT: Duration = Duration::from_secs(60);
const RETRY_DELAY: Duration = Duration::from_millis(100);
/// Time for which a later start waits for SCM to confirm the cluster.
const CONFIRM_TIMEOUT: Duration = Duration::from_millis(500);

/// An OM's directory, locked, and its contents.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) cluster_id: String,
    pub(crate) om_uuid: String,
    /// Held as long as OM runs.
    pub(crate) lock: DataDir,
}

impl Identity {
    /// Locks the directory; makes it one of the cluster at the first start.
    pub(crate) async fn open(
        setup: &Setup,
        options: &OmOptions,
        scm: &ScmClient,
    ) -> Result<Self, Error> {
        // Secrets of S3 users are rows of the tables, and entries of the log.
        data_dir::make(&setup.dir, setup.permissions)?;
        let home = setup.dir.join("om");
        let known = VersionFile::read(&home.join(VERSION_PATH))?;
        let mut cluster_id = options.cluster_id.clone();
        match &known {
            None if cluster_id.is_none() => cluster_id = Some(fetch_cluster_id(setup, scm).await?),
            Some(version) if cluster_id.is_none() => confirm(setup, scm, version).await?,
            _ => {}
        }
        let expected = Expected {
            node_type: Some("OM"),
            cluster_id: cluster_id.clone(),
            layout_version: LAYOUT_VERSION,
        };
        let format = || {
            let cluster = cluster_id.clone().unwrap_or_default();
            VersionFile::new("OM", &cluster, now_ms(), LAYOUT_VERSION)
                .with("omUuid", Uuid::new_v4())
                .with("nodeId", &setup.members.me.node_id)
        };
        let (lock, version, _) = DataDir::open_or_format(home, VERSION_PATH, &expected, format)?;
        Ok(Self {
            cluster_id: version.cluster_id().unwrap_or_default().to_owned(),
            om_uuid: version.get("omUuid").unwrap_or_default().to_owned(),
            lock,
        })
    }

    /// The directory.
    pub(crate) fn home(&self) -> &Path {
        self.lock.path()
    }
}

/// The cluster id of the first start.
async fn fetch_cluster_id(setup: &Setup, scm: &ScmClient) -> Result<String, Error> {
    let deadline = Instant::now() + FIRST_START_TIMEOUT;
    let mut told = false;
    loop {
        match scm.info(Duration::from_secs(2)).await {
            Ok(ScmInfo { cluster_id, scm_id }) => {
                tracing::info!(cluster_id, scm_id, "joining the cluster of SCM");
                return Ok(cluster_id);
            }
            Err(e) if Instant::now() >= deadline => {
                return Err(Error::NoCluster {
                    address: setup.scm_client.to_string(),
                    cause: e.to_string(),
                });
            }
            Err(e) => {
                if !std::mem::replace(&mut told, true) {
                    tracing::info!("first start: waiting for the cluster id from SCM: {e}");
                }
                tokio::time::sleep(RETRY_DELAY).await;
            }
        }
    }
}

/// Refuses to serve another cluster's data, if SCM is reachable. If it is not, OM serves its own
/// tables: metadata needs no SCM.
async fn confirm(setup: &Setup, scm: &ScmClient, version: &VersionFile) -> Result<(), Error> {
    match scm.info(CONFIRM_TIMEOUT).await {
        Ok(info) => check_cluster(setup, &info, version.cluster_id().unwrap_or_default()),
        Err(e) => {
            tracing::warn!("SCM cannot confirm the cluster id yet; serving metadata only: {e}");
            Ok(())
        }
    }
}

/// SCM must be of our cluster.
pub(crate) fn check_cluster(setup: &Setup, info: &ScmInfo, expected: &str) -> Result<(), Error> {
    if info.cluster_id == expected {
        return Ok(());
    }
    Err(Error::ForeignScm {
        address: setup.scm_client.to_string(),
        found: info.cluster_id.clone(),
        expected: expected.to_owned(),
    })
}
