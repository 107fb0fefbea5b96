//! SCM's directory: which cluster it is of, and which SCM.

use service::{DataDir, DataDirError, Expected, VersionFile, data_dir};
use uuid::Uuid;

use crate::error::ScmError;
use crate::settings::ScmOptions;

/// The layout that this release writes, as Ozone counts them (`STORAGE_SPACE_DISTRIBUTION`).
const LAYOUT_VERSION: u32 = 10;

/// Directory of SCM's identity, below the metadata directory.
const HOME: &str = "scm";
const VERSION_PATH: &str = "current/VERSION";

/// The locked directory and its contents.
pub struct Directory {
    pub cluster_id: String,
    pub scm_id: Uuid,
    /// Holds the lock.
    pub home: DataDir,
}

impl Directory {
    /// Returns `true` if the directory already belongs to an SCM.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn is_formatted(options: &ScmOptions) -> Result<bool, ScmError> {
        Ok(VersionFile::read(&options.dir.join(HOME).join(VERSION_PATH))?.is_some())
    }

    /// Locks the directory; makes it one of `cluster`, or of a new cluster, when it is new. Blocks
    /// on the disk.
    ///
    /// # Errors
    /// When it is in use, damaged, of a newer layout, or that of another SCM.
    pub fn open(options: &ScmOptions, cluster: Option<String>, now: u64) -> Result<Self, ScmError> {
        let my_id = options.members.as_ref().map(|members| members.me.scm_id);
        let expected =
            Expected { node_type: Some("SCM"), cluster_id: None, layout_version: LAYOUT_VERSION };
        data_dir::make(&options.dir, options.permissions)?;
        let home = options.dir.join(HOME);
        let (home, version, fresh) =
            DataDir::open_or_format(home, VERSION_PATH, &expected, || {
                let cluster_id = cluster.unwrap_or_else(|| format!("CID-{}", Uuid::new_v4()));
                VersionFile::new("SCM", &cluster_id, now, LAYOUT_VERSION)
                    .with("scmUuid", my_id.unwrap_or_else(Uuid::new_v4))
                    .with("scmHA", true)
            })?;
        let malformed = |reason: String| DataDirError::Malformed {
            path: options.dir.join(HOME).join(VERSION_PATH),
            reason,
        };
        let property = |name: &'static str| {
            let value = version.get(name).map(str::to_owned);
            value.ok_or_else(|| malformed(format!("{name} is missing")))
        };
        let cluster_id = property("clusterID")?;
        let scm_id = property("scmUuid")?;
        let scm_id: Uuid =
            scm_id.parse().map_err(|_| malformed(format!("scmUuid {scm_id} is not a uuid")))?;
        if let Some(expected) = my_id.filter(|id| *id != scm_id) {
            return Err(ScmError::AnotherScm {
                dir: options.dir.display().to_string(),
                found: scm_id.to_string(),
                expected: expected.to_string(),
            });
        }
        if fresh {
            tracing::info!(dir = %options.dir.display(), cluster_id, %scm_id, "new cluster");
        }
        Ok(Self { cluster_id, scm_id, home })
    }

    /// The id of the cluster's Raft group of SCMs: that of the cluster, as in Ozone.
    pub fn group_id(&self) -> Uuid {
        let text = self.cluster_id.strip_prefix("CID-").unwrap_or(&self.cluster_id);
        let named = || Uuid::new_v3(&Uuid::NAMESPACE_OID, self.cluster_id.as_bytes());
        text.parse().unwrap_or_else(|_| named())
    }
}
