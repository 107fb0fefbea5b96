//! Table file with two columns: host and rack. It is reloaded after changes.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use types::topology;

/// Minimum interval between checks of the file's time of modification.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Table {
    path: PathBuf,
    read: Mutex<Read>,
}

#[derive(Debug, Default)]
struct Read {
    looked: Option<Instant>,
    changed: Option<SystemTime>,
    racks: FxHashMap<String, String>,
}

impl Table {
    pub fn new(path: PathBuf) -> Self {
        Self { path, read: Mutex::default() }
    }

    /// The location of a host with these names.
    pub fn location(&self, names: &[&str]) -> Option<String> {
        let mut read = self.read.lock();
        self.refresh(&mut read);
        names.iter().find_map(|name| read.racks.get(*name).cloned())
    }

    /// If the file cannot be read, the earlier entries are kept.
    fn refresh(&self, read: &mut Read) {
        if read.looked.is_some_and(|at| at.elapsed() < CHECK_INTERVAL) {
            return;
        }
        read.looked = Some(Instant::now());
        let path = self.path.display();
        let changed = match fs::metadata(&self.path).and_then(|file| file.modified()) {
            Ok(changed) => changed,
            Err(error) => return tracing::warn!(%path, %error, "rack table not found"),
        };
        if read.changed == Some(changed) {
            return;
        }
        match fs::read_to_string(&self.path) {
            Ok(text) => {
                read.racks = parse(&text);
                read.changed = Some(changed);
                tracing::info!(%path, hosts = read.racks.len(), "rack table loaded");
            }
            Err(error) => tracing::warn!(%path, %error, "cannot read rack table"),
        }
    }
}

/// Parses lines of two words; `#` begins a comment. Other lines are logged and ignored.
pub(crate) fn parse(text: &str) -> FxHashMap<String, String> {
    let mut racks = FxHashMap::default();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            [] => {}
            [host, rack] => _ = racks.insert(host.to_owned(), topology::normal(rack)),
            _ => tracing::warn!(line, "ignoring malformed line of rack table"),
        }
    }
    racks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_two_columns() {
        let racks = parse("# hosts\n10.0.0.1 /r1\n\nhost2\tr2/\nodd\nthree words here\n");
        assert_eq!(racks.len(), 2);
        assert_eq!(racks["10.0.0.1"], "/r1");
        assert_eq!(racks["host2"], "/r2");
    }

    #[test]
    fn the_first_name_that_is_known_counts_and_a_changed_file_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("table");
        let table = Table::new(path.clone());
        assert_eq!(table.location(&["a"]), None, "there is no file");
        fs::write(&path, "a /r1\nb /r2\n").unwrap();
        table.read.lock().looked = None;
        assert_eq!(table.location(&["x", "b", "a"]).as_deref(), Some("/r2"));
        fs::write(&path, "a /r3\n").unwrap();
        let later = SystemTime::now() + Duration::from_secs(5);
        fs::File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        table.read.lock().looked = None;
        assert_eq!(table.location(&["b", "a"]).as_deref(), Some("/r3"));
    }
}
