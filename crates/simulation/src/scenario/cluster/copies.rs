//! Copies of the tables of any OM, as Recon takes them (`/dbCheckpoint`): a complete one must be of
//! one moment.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use metastore::OfflineStore;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Board;
use super::configuration::{Layout, OM_HTTP_PORT, OMS, om_machine};
use super::tables::{TablesError, counters};
use crate::scenario::process::on_runtime;
use crate::world::disk;
use crate::world::node::address;
use crate::world::random::Random;

/// Time limit of a copy: links may be cut for ever.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Between two at most, in seconds.
const MAX_INTERVAL: u64 = 4;
/// The entry that ends a whole archive.
const COMPLETE: &str = "OZONE_RATIS_SNAPSHOT_COMPLETE";

/// Takes copies until clients stop.
pub fn work(_: &Layout, mut random: Random, board: &Board) {
    on_runtime(async {
        while !board.stop.load(Ordering::Acquire) {
            let om = random.below(OMS as u64) as usize;
            let copy = tokio::time::timeout(TIMEOUT, get(om)).await;
            if let Ok(Ok(archive)) = copy {
                match look(&archive) {
                    Ok(true) => drop(board.copies.fetch_add(1, Ordering::Relaxed)),
                    Ok(false) => tracing::debug!(om, "a copy was cut off"),
                    Err(wrong) => {
                        let told = format!("a copy of the tables of OM {om}: {wrong}");
                        board.violations.lock().push(told);
                    }
                }
            }
            board.pass(random.below(MAX_INTERVAL)).await;
        }
    });
}

/// The body of a response, as far as it arrived.
pub async fn get(om: usize) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect((address(om_machine(om)), OM_HTTP_PORT)).await?;
    stream.write_all(b"GET /dbCheckpoint HTTP/1.0\r\nHost: om\r\n\r\n").await?;
    let mut answer = Vec::new();
    let end = stream.read_to_end(&mut answer).await;
    tracing::debug!(om, len = answer.len(), ?end, "an answer");
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n");
    match head {
        // "HTTP/1.0 200": anything else is no copy.
        Some(head) if answer.get(9..12) == Some(b"200") => Ok(answer.split_off(head + 4)),
        _ => Err(std::io::ErrorKind::InvalidData.into()),
    }
}

/// Checks an archive: `false` if it is incomplete; an error for defects of a complete one.
fn look(archive: &[u8]) -> Result<bool, TablesError> {
    let dir = disk::aside("copy");
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir)?;
    if !unpack(archive, &dir) {
        return Ok(false);
    }
    counters(&OfflineStore::open_read_only(&dir)?).map(|()| true)
}

/// Unpacks an archive; whether it is whole.
fn unpack(archive: &[u8], to: &Path) -> bool {
    let mut archive = tar::Archive::new(archive);
    let Ok(entries) = archive.entries() else { return false };
    let mut last = PathBuf::new();
    for entry in entries {
        let Ok(mut entry) = entry else { return false };
        let Ok(name) = entry.path().map(|path| path.into_owned()) else { return false };
        let mut content = Vec::new();
        if entry.read_to_end(&mut content).is_err() {
            return false;
        }
        if std::fs::write(to.join(&name), content).is_err() {
            return false;
        }
        last = name;
    }
    last == Path::new(COMPLETE)
}
