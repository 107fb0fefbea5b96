//! Durable names and files.
//!
//! An fsync of a file does not guarantee that its name is durable: that requires a sync of its
//! directory. Code that opens logs, databases and files of its own uses these functions instead of
//! a [`Disk`](crate::Disk): at a start, and for few small files, there is no queue to share.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Makes the names in a directory durable.
///
/// # Errors
/// If the directory cannot be opened or synced.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Makes the name of a file or directory durable.
///
/// # Errors
/// If its directory cannot be opened or synced.
pub fn sync_name(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_directory(parent),
        _ => Ok(()),
    }
}

/// Makes the name of a directory and of all its ancestors durable: without them a power loss would
/// remove its contents. For a directory that may have just been created.
///
/// # Errors
/// If a directory cannot be read, or one that can be listed cannot be synced.
pub fn sync_names_above(directory: &Path) -> io::Result<()> {
    let directory = directory.canonicalize()?;
    let device = directory.metadata()?.dev();
    for parent in directory.ancestors().skip(1) {
        // The mount point's name belongs to another file system.
        if parent.metadata()?.dev() != device {
            break;
        }
        match sync_directory(parent) {
            // A process that may not list a directory has created nothing there.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => break,
            synced => synced?,
        }
    }
    Ok(())
}

/// Makes all files below a directory durable, with their names.
///
/// # Errors
/// If one of them cannot be read or synced.
pub fn sync_tree(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => sync_tree(&entry.path())?,
            false => File::open(entry.path())?.sync_all()?,
        }
    }
    sync_directory(directory)
}

/// Drops the files of a directory from the page cache, so that they are read from the device: a
/// page that could not be written back may still be cached there by an earlier process.
///
/// # Errors
/// If a file cannot be read or synced.
pub fn read_from_device(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if !entry.file_type()?.is_file() {
            continue;
        }
        let file = File::open(entry.path())?;
        // Only clean pages are dropped.
        file.sync_all()?;
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    }
    // The same for the names: that process may have continued, or ended, when it could not sync
    // them.
    sync_directory(directory)
}

/// Replaces a file so that after a crash there is either the old one or the complete new one. The
/// new one is written as `temporary`, in the same directory.
///
/// # Errors
/// If a file cannot be written, renamed or synced.
pub fn replace(path: &Path, temporary: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create(temporary)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(temporary, path)?;
    sync_name(path)
}
