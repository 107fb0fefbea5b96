//! A bounded cache of open files.

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

/// One open file: a handle through the page cache, and one for direct I/O once needed.
pub(crate) struct OpenFile {
    pub(crate) path: Arc<Path>,
    pub(crate) cached: File,
    direct: OnceLock<Option<File>>,
    /// The file was created here and its name is not known to be durable yet.
    name_is_new: AtomicBool,
    /// It was written through this handle since the last sync.
    written: AtomicBool,
    /// Held during a sync, so that there is one at a time.
    pub(crate) syncing: Mutex<()>,
}

impl OpenFile {
    /// The handle for direct I/O, if the file system supports it.
    pub(crate) fn direct(&self, backend: &dyn Backend) -> Option<&File> {
        self.direct
            .get_or_init(|| backend.open(&self.path, false, true).ok().map(|(file, _)| file))
            .as_ref()
    }

    /// Returns `true` if the name is not known to be durable.
    pub(crate) fn name_is_new(&self) -> bool {
        self.name_is_new.load(Ordering::Acquire)
    }

    /// Records that the name is durable.
    pub(crate) fn name_is_durable(&self) {
        self.name_is_new.store(false, Ordering::Release);
    }

    /// Records the begin of a write.
    pub(crate) fn note_write(&self) {
        self.written.store(true, Ordering::Release);
    }

    /// Records the begin of a sync, which covers the writes so far.
    pub(crate) fn note_sync(&self) {
        self.written.store(false, Ordering::Release);
    }

    /// Returns `true` if it must be synced before its handle is closed.
    pub(crate) fn needs_sync(&self) -> bool {
        self.written.load(Ordering::Acquire) || self.name_is_new()
    }
}

/// A file, and the one evicted for it.
pub(crate) type Opened = (Arc<OpenFile>, Option<Arc<OpenFile>>);

/// The most recently used files. An evicted file is closed when its last user is done.
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

    /// Returns `true` if later users get this handle.
    pub(crate) fn holds(&self, file: &Arc<OpenFile>) -> bool {
        self.files.lock().peek(&file.path).is_some_and(|there| Arc::ptr_eq(there, file))
    }

    /// Opens the file if it is not open, and creates it if requested. The caller syncs the evicted
    /// file.
    pub(crate) fn open(
        &self,
        backend: &dyn Backend,
        path: &Arc<Path>,
        create: bool,
    ) -> io::Result<Opened> {
        if let Some(file) = self.peek(path) {
            return Ok((file, None));
        }
        let (cached, made) = backend.open(path, create, false)?;
        let file = Arc::new(OpenFile {
            path: Arc::clone(path),
            cached,
            direct: OnceLock::new(),
            name_is_new: AtomicBool::new(made),
            written: AtomicBool::new(false),
            syncing: Mutex::default(),
        });
        let mut files = self.files.lock();
        // Two threads may open the same file; only one of them created it.
        if let Some(first) = files.get(path) {
            let first = Arc::clone(first);
            if made {
                first.name_is_new.store(true, Ordering::Release);
            }
            return Ok((first, None));
        }
        let fallen = files.push(Arc::clone(path), Arc::clone(&file));
        Ok((file, fallen.map(|(_, old)| old)))
    }

    /// Closes a file.
    pub(crate) fn forget(&self, file: &Path) {
        self.files.lock().pop(file);
    }

    /// Closes a file, or every file below a directory. Scans all open files under the lock: not for
    /// one of many files.
    pub(crate) fn forget_below(&self, path: &Path) {
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
