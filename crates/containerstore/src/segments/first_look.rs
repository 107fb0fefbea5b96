//! The first check of the segments of a container that was loaded from rows: the same as
//! [`recover`](super::recover) at a start, concurrently with readers and deletions.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::sync::atomic::Ordering;

use super::recover::{cut_tail, expect_header, files};
use crate::containers::Container;

impl Container {
    /// Returns the faults of the beginnings of segments, and removes segments without a row. Each
    /// is checked once. Blocks.
    ///
    /// # Errors
    /// The system's; damage is no error.
    pub(crate) fn look_first(&self) -> io::Result<Option<String>> {
        if !self.unseen.load(Ordering::Relaxed) || self.is_replaying() {
            return Ok(None);
        }
        for (number, path) in files(&self.path().join("chunks"))? {
            // Readers wait for this lock: it is held only where there is something to remove.
            if !self.segments.lock().infos.contains_key(&number) {
                // A new one has its number here before it has a file.
                let segments = self.segments.lock();
                if !segments.infos.contains_key(&number) {
                    match fs::remove_file(&path) {
                        Ok(()) => {
                            tracing::info!(container = %self.id(), number, "removing a segment without a row");
                        }
                        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                        Err(error) => return Err(error),
                    }
                }
                continue;
            }
            let file = match OpenOptions::new().read(true).write(true).open(&path) {
                Ok(file) => file,
                // Dropped just now; one that is lost was found before.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            if let Some(damage) = self.look_at(number, &file)? {
                return Ok(Some(format!("{}: {damage}", path.display())));
            }
        }
        self.unseen.store(false, Ordering::Relaxed);
        Ok(None)
    }

    fn look_at(&self, number: u32, file: &File) -> io::Result<Option<String>> {
        let info = self.segments.lock().infos.get(&number).copied();
        let Some(info) = info.filter(|info| info.live_records > 0) else { return Ok(None) };
        if let Err(error) = expect_header(file, self.id(), number)? {
            return Ok(Some(error.to_string()));
        }
        let len = file.metadata()?.len();
        if len > info.end {
            let segments = self.segments.lock();
            // No record is placed meanwhile.
            if let Some(info) = segments.infos.get(&number) {
                cut_tail(self.disk(), (file, &self.segment_path(number)), info, len)?;
            }
        }
        Ok(None)
    }
}
