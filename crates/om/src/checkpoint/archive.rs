//! A copy as a tar archive, piece by piece.
//!
//! Two forms, both Ozone's. The first has the files by their names. In the second files have ids,
//! and `hardLinkFile` lists the names of each id; so a file with several names is sent once. The
//! last entry of both marks the archive as complete.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::copy::TablesCopy;
use super::request::CheckpointRequest;

/// The list of names in the second form.
const LINKS: &str = "hardLinkFile";
/// The entry that ends a whole archive.
const COMPLETE: &str = "OZONE_RATIS_SNAPSHOT_COMPLETE";
/// Bytes read at once.
const PIECE: usize = 1 << 20;
/// Size in bytes of a block of a tar archive.
const BLOCK: usize = 512;

/// Form of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Names,
    Ids,
}

/// Settings for sending an archive.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Bytes a second; 0 for as many as go.
    pub(super) rate: u64,
    /// Time for which the reader may read nothing.
    pub(super) stall: Duration,
}

/// The archive's reader disconnected, or a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendError {
    #[error("the reader disconnected")]
    Gone,
    #[error("the reader read nothing for {0:?}")]
    Stalled(Duration),
    #[error("a file of the copy cannot be read: {0}")]
    Read(#[from] io::Error),
}

/// Sends a copy's files.
pub(super) async fn send(
    copy: &TablesCopy,
    form: Form,
    wish: &CheckpointRequest,
    pace: Pace,
    to: mpsc::Sender<io::Result<Bytes>>,
) -> Result<u64, SendError> {
    let mut out = Out { to, pace, begun: Instant::now(), sent: 0 };
    let mut links = String::new();
    for file in &copy.files {
        let name = match form {
            Form::Names => &file.name,
            Form::Ids => {
                links.push_str(&format!("om.db/{}\t{}\n", file.name, file.id));
                &file.id
            }
        };
        if !wish.excluded.contains(name) {
            out.entry(name, file.size, file.modified_s).await?;
            out.file(copy.path_of(file), file.size).await?;
        }
    }
    let now = crate::ids::now_ms() / 1_000;
    if form == Form::Ids {
        out.entry(LINKS, links.len() as u64, now).await?;
        out.padded(links.into_bytes()).await?;
    }
    out.entry(COMPLETE, 0, now).await?;
    out.write(Bytes::from_static(&[0; 2 * BLOCK])).await?;
    Ok(out.sent)
}

struct Out {
    to: mpsc::Sender<io::Result<Bytes>>,
    pace: Pace,
    begun: Instant,
    sent: u64,
}

impl Out {
    async fn entry(&mut self, name: &str, size: u64, modified_s: u64) -> Result<(), SendError> {
        let mut header = tar::Header::new_gnu();
        header.set_path(name)?;
        header.set_size(size);
        header.set_mode(0o644);
        header.set_mtime(modified_s);
        header.set_cksum();
        self.write(Bytes::copy_from_slice(header.as_bytes())).await
    }

    /// Sends as many bytes of a file as its entry announces.
    async fn file(&mut self, path: PathBuf, size: u64) -> Result<(), SendError> {
        let opened = tokio::task::spawn_blocking(move || File::open(path));
        let file = Arc::new(opened.await.map_err(io::Error::other)??);
        let mut at = 0;
        while at < size {
            let length = usize::try_from(size - at).unwrap_or(PIECE).min(PIECE);
            let from = Arc::clone(&file);
            let read = move || -> io::Result<Vec<u8>> {
                let mut piece = vec![0; length];
                std::os::unix::fs::FileExt::read_exact_at(&*from, &mut piece, at)?;
                Ok(piece)
            };
            let piece = tokio::task::spawn_blocking(read).await.map_err(io::Error::other)??;
            at += length as u64;
            self.padded_if(piece, at == size).await?;
        }
        Ok(())
    }

    async fn padded_if(&mut self, piece: Vec<u8>, last: bool) -> Result<(), SendError> {
        if last { self.padded(piece).await } else { self.write(piece.into()).await }
    }

    /// Sends the last piece of an entry, filled up to a block.
    async fn padded(&mut self, mut piece: Vec<u8>) -> Result<(), SendError> {
        piece.resize(piece.len().next_multiple_of(BLOCK), 0);
        self.write(piece.into()).await
    }

    async fn write(&mut self, piece: Bytes) -> Result<(), SendError> {
        self.sent += piece.len() as u64;
        let sending = tokio::time::timeout(self.pace.stall, self.to.send(Ok(piece)));
        match sending.await {
            Err(_) => return Err(SendError::Stalled(self.pace.stall)),
            Ok(Err(_)) => return Err(SendError::Gone),
            Ok(Ok(())) => {}
        }
        if self.pace.rate > 0 {
            let due = Duration::from_secs_f64(self.sent as f64 / self.pace.rate as f64);
            tokio::time::sleep(due.saturating_sub(self.begun.elapsed())).await;
        }
        Ok(())
    }
}
