//! The file of an audit log, rotated when it is large.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::AuditOptions;

#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    size: u64,
    rotate_at: u64,
    keep: usize,
}

impl LogFile {
    pub(super) fn open(options: &AuditOptions) -> io::Result<LogFile> {
        if let Some(parent) = options.path.parent() {
            fs::create_dir_all(parent)?;
        }
        let (file, size) = open(&options.path)?;
        Ok(LogFile {
            path: options.path.clone(),
            file,
            size,
            rotate_at: options.rotate_at,
            keep: options.keep,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.size > 0 && self.size + bytes.len() as u64 > self.rotate_at {
            self.rotate()?;
        }
        self.file.write_all(bytes)?;
        self.size += bytes.len() as u64;
        Ok(())
    }

    /// Renames `audit.log` to `audit.log.1`, that to `audit.log.2`, and so on; the oldest is
    /// deleted.
    fn rotate(&mut self) -> io::Result<()> {
        for number in (1..self.keep).rev() {
            let from = self.numbered(number);
            if from.exists() {
                fs::rename(from, self.numbered(number + 1))?;
            }
        }
        if self.keep > 0 {
            fs::rename(&self.path, self.numbered(1))?;
        } else {
            fs::remove_file(&self.path)?;
        }
        (self.file, self.size) = open(&self.path)?;
        Ok(())
    }

    fn numbered(&self, number: usize) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }
}

fn open(path: &Path) -> io::Result<(File, u64)> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    let size = file.metadata()?.len();
    Ok((file, size))
}
