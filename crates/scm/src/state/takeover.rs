//! The first start on a directory that Apache Ozone's SCM has written: `scm.db` is taken over.
//!
//! Its tables are those of this SCM, and more, which are not touched; rows stay as they are. Data
//! of Ozone's DataNodes is not taken over: they use protocols of their own.

use std::path::Path;

use metastore::{KeyCodec, OfflineStore, ValueCodec};
use replicated::takeover;

use crate::error::ScmError;
use crate::state::tables::{PositionRow, TRANSACTION_INFO, TRANSACTION_INFO_KEY};

/// A table of Ozone's SCM that this one does not make.
const OZONES: &str = "validSCMCerts";
/// Default directory of the Ratis log of Ozone's SCM, below its metadata directory.
const RATIS: &str = "scm.ratis";

/// Takes over the database at `path`, if Ozone wrote it. `home` is the locked directory of this
/// SCM, `raft_dir` that of its new log. Blocks on the disk.
///
/// # Errors
/// When it cannot be taken over completely, or the disk fails.
pub fn take_over(path: &Path, raft_dir: &Path, home: &Path) -> Result<(), ScmError> {
    if !path.join("CURRENT").exists() || takeover::has_log(home) {
        return Ok(());
    }
    let store = OfflineStore::open_read_only(path)?;
    if !store.tables().iter().any(|table| table == OZONES) {
        return Ok(());
    }
    tracing::info!(database = %path.display(), "Apache Ozone wrote this database: it is taken over");
    let refuse = |reason: String| ScmError::TakeOver { path: path.display().to_string(), reason };
    let key = KeyCodec::encode(&TRANSACTION_INFO_KEY.to_owned());
    let position = store.get(TRANSACTION_INFO.raw().name(), &key)?.unwrap_or_default();
    let PositionRow(position) = PositionRow::decode(&position)
        .ok_or_else(|| refuse("it does not say where in the log it is".to_owned()))?;
    let parent = path.parent().unwrap_or(path);
    let logs = [parent.join(RATIS), raft_dir.to_path_buf()];
    let ahead = takeover::ratis_ahead(&logs, position.index);
    if let Some((log, last)) = ahead.map_err(|e| refuse(format!("its Ratis log: {e}")))? {
        return Err(refuse(format!(
            "the Ratis log in {} goes to entry {last}, the tables to {}: start Ozone's SCM again, \
             stop it, and then start here",
            log.display(),
            position.index
        )));
    }
    drop(store);
    takeover::begin_behind_tables(home).map_err(|e| refuse(e.to_string()))?;
    tracing::info!(
        term = position.term,
        index = position.index,
        "database taken over; do not start Ozone's SCM on it again"
    );
    Ok(())
}
