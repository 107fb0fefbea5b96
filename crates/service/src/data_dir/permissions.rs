//! Creation of directories with the configured permissions.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use config::DirPermissions;

use super::DataDirError;

/// Creates a directory with these permissions, or sets them on an existing one, as Ozone does.
/// Parent directories get those of the umask.
///
/// # Errors
/// If it cannot be created ([`DataDirError::Io`]), or exists and its permissions cannot be set
/// ([`DataDirError::Permissions`]).
pub fn make(path: &Path, permissions: DirPermissions) -> Result<(), DataDirError> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(DataDirError::io(parent))?;
    }
    match DirBuilder::new().mode(permissions.mode()).create(path) {
        // An existing path is checked below: a file, or a dangling link, is an error.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made.map_err(DataDirError::io(path))?,
    }
    let there = fs::metadata(path).map_err(DataDirError::io(path))?;
    if !there.is_dir() {
        let source = io::Error::from(io::ErrorKind::NotADirectory);
        return Err(DataDirError::Io { path: path.to_owned(), source });
    }
    // The umask may have cleared bits.
    const BITS: u32 = 0o777;
    let mode = there.permissions().mode();
    if mode & BITS == permissions.mode() {
        return Ok(());
    }
    let wanted = fs::Permissions::from_mode(mode & !BITS | permissions.mode());
    fs::set_permissions(path, wanted).map_err(|source| DataDirError::Permissions {
        path: path.to_owned(),
        permissions,
        source,
    })?;
    tracing::info!(dir = %path.display(), before = format!("{:03o}", mode & BITS), now = %permissions, "permissions of a directory set");
    Ok(())
}
