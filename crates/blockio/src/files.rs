//! Files kept open, up to a bound.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use lru::LruCache;
use parking_lot::Mutex;

use crate::backend::Backend;

/// One open file: a handle through the page cache, and one past it once needed.
pub(crate) struct OpenFile {
    pub(crate) path: Arc<Path>,
    pub(crate) cached: File,
    direct: OnceLock<Option<File>>,
    /// The file was made here and its name is not known to be durable yet.
    name_is_new: AtomicBool,
}

impl OpenFile {
    /// The handle for direct I/O, where the file system has it.
    pub(crate) fn direct(&self, backend: &dyn Backend) -> Option<&File> {
        self.direct
            .get_or_init(|| backend.open(&self.path, false, true).ok().map(|(file, _)| file))
            .as_ref()
    }

    pub(crate) fn take_new_name(&self) -> bool {
        self.name_is_new.swap(false, Ordering::AcqRel)
    }

    pub(crate) fn put_new_name_back(&self) {
        self.name_is_new.store(true, Ordering::Release);
    }
}

/// The most recently used files. A file that falls out is closed when its last user is done.
pub(crate) struct FileCache {
    files: Mutex<LruCache<Arc<Path>, Arc<OpenFile>, rustc_hash::FxBuildHasher>>,
}

impl FileCache {
    pub(crate) fn new(bound: usize) -> Self {
        let bound = NonZeroUsize::new(bound).unwrap_or(NonZeroUsize::MIN);
        Self { files: Mutex::new(LruCache::with_hasher(bound, rustc_hash::FxBuildHasher)) }
    }

    /// The file, if it is open.
    pub(crate) fn peek(&self, path: &Path) -> Option<Arc<OpenFile>> {
        self.files.lock().get(path).cloned()
    }

    /// The file, opened if it is not, made if wanted.
    pub(crate) fn open(
        &self,
        backend: &dyn Backend,
        path: &Arc<Path>,
        create: bool,
    ) -> io::Result<Arc<OpenFile>> {
        if let Some(file) = self.peek(path) {
            return Ok(file);
        }
        let (cached, made) = backend.open(path, create, false)?;
        let file = Arc::new(OpenFile {
            path: Arc::clone(path),
            cached,
            direct: OnceLock::new(),
            name_is_new: AtomicBool::new(made),
        });
        let mut files = self.files.lock();
        // Two threads may open the same file; the first one's handle knows whether it was made.
        if let Some(first) = files.get(path) {
            return Ok(Arc::clone(first));
        }
        // The names of files that fall out before they are synced must not be forgotten.
        let fallen = files.push(Arc::clone(path), Arc::clone(&file));
        drop(files);
        if let Some((_, old)) = fallen
            && old.take_new_name()
            && let Some(parent) = old.path.parent()
            && backend.sync_directory(parent).is_err()
        {
            old.put_new_name_back();
            self.files.lock().put(Arc::clone(&old.path), old);
        }
        Ok(file)
    }

    /// Closes a file, or every file below a directory.
    pub(crate) fn forget(&self, path: &Path) {
        let mut files = self.files.lock();
        if files.pop(path).is_none() {
            let below: Vec<_> =
                files.iter().map(|(p, _)| p).filter(|p| p.starts_with(path)).cloned().collect();
            for path in below {
                files.pop(&path);
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.files.lock().len()
    }
}
