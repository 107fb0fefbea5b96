//! Making directories that only those may enter whom the configuration lets in.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use config::DirPermissions;

use super::DataDirError;

/// Makes a directory with these permissions, or gives them to one that is there, as Ozone does.
/// Directories that it lies in get those of the umask.
///
/// # Errors
/// When it cannot be made ([`DataDirError::Io`]), or is there and its permissions cannot be set
/// ([`DataDirError::Permissions`]).
pub fn make(path: &Path, permissions: DirPermissions) -> Result<(), DataDirError> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(DataDirError::io(parent))?;
    }
    match DirBuilder::new().mode(permissions.mode()).create(path) {
        // One that is there is looked at below: a file, or a link to nowhere, is an error.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made.map_err(DataDirError::io(path))?,
    }
    let there = fs::metadata(path).map_err(DataDirError::io(path))?;
    if !there.is_dir() {
        let source = io::Error::from(io::ErrorKind::NotADirectory);
        return Err(DataDirError::Io { path: path.to_owned(), source });
    }
    // The umask may have taken bits away.
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
