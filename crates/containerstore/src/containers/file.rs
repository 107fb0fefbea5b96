//! The `.container` file: YAML as Ozone writes and reads it.
//!
//! `checksum` is the SHA-256 of the document with 64 zeros in its own place. Paths in the file are
//! for other readers; this program uses the place of the file, so that a disk can be mounted
//! elsewhere.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use container::ContainerState;
use sha2::{Digest, Sha256};
use types::{ContainerId, PipelineId};

use super::{Container, Fixed, Sealed, closed_row};
use crate::disk::Disk;
use crate::error::{ContainerFileFault, Result, StorageError};

const TAG: &str = "!<KeyValueContainerData>";
const NO_CHECKSUM: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Contents of a `.container` file.
#[derive(Debug, Clone)]
pub(crate) struct ContainerFile {
    pub id: ContainerId,
    pub state: ContainerState,
    pub fixed: Fixed,
    /// In Ozone's field for users' notes about a container.
    pub sealed: Option<Sealed>,
}

/// Keys in `metadata` of a sealed container.
const SEALED_BCSID: &str = "trioxide.bcsid";
const SEALED_DELETE_TX: &str = "trioxide.deleteTransaction";

impl ContainerFile {
    /// The document, for a container in `dir`.
    fn text(&self, dir: &Path) -> String {
        let Fixed { pipeline, origin, replica_index, max_size } = &self.fixed;
        let pipeline = pipeline.map(|id| id.to_string()).unwrap_or_default();
        let index = match replica_index {
            0 => String::new(),
            n => format!("replicaIndex: {n}\n"),
        };
        let metadata = self.sealed.map_or_else(String::new, |Sealed { bcsid, delete_tx }| {
            format!("{SEALED_BCSID}: '{bcsid}', {SEALED_DELETE_TX}: '{delete_tx}'")
        });
        let text = format!(
            "{TAG}\n\
             checksum: {NO_CHECKSUM}\n\
             chunksPath: {}\n\
             containerDBType: RocksDB\n\
             containerID: {}\n\
             containerType: KeyValueContainer\n\
             layOutVersion: 2\n\
             maxSize: {max_size}\n\
             metadata: {{{metadata}}}\n\
             metadataPath: {}\n\
             originNodeId: {}\n\
             originPipelineId: {}\n\
             {index}\
             schemaVersion: '3'\n\
             state: {}\n",
            scalar(&dir.join("chunks").display().to_string()),
            self.id,
            scalar(&dir.join("metadata").display().to_string()),
            scalar(origin),
            scalar(&pipeline),
            self.state,
        );
        let sum = hex::encode(Sha256::digest(text.as_bytes()));
        text.replacen(NO_CHECKSUM, &sum, 1)
    }

    /// Reads a document.
    fn parse(text: &str) -> Result<Self, ContainerFileFault> {
        let mut lines = text.lines();
        if lines.next().map(str::trim) != Some(TAG) {
            return Err(ContainerFileFault::Tag);
        }
        let mut file = Fields::default();
        for line in lines.filter(|line| !line.trim().is_empty() && !line.starts_with(' ')) {
            let (name, value) =
                line.split_once(':').ok_or_else(|| ContainerFileFault::NoField(line.to_owned()))?;
            file.set(name, unquote(value.trim()))?;
        }
        let sum = file.checksum.as_deref().ok_or(ContainerFileFault::Missing("checksum"))?;
        let zeroed = text.replacen(sum, NO_CHECKSUM, 1);
        if hex::encode(Sha256::digest(zeroed.as_bytes())) != sum {
            return Err(ContainerFileFault::Checksum);
        }
        Ok(Self {
            id: file.id.ok_or(ContainerFileFault::Missing("containerID"))?,
            state: file.state.ok_or(ContainerFileFault::Missing("state"))?,
            fixed: Fixed {
                pipeline: file.pipeline,
                origin: file.origin.unwrap_or_default(),
                replica_index: file.replica_index,
                max_size: file.max_size.ok_or(ContainerFileFault::Missing("maxSize"))?,
            },
            sealed: file.sealed,
        })
    }

    /// Reads the file at `path`.
    pub fn read(path: &Path) -> Result<Self> {
        let fail = |fault| StorageError::ContainerFile { path: path.to_owned(), fault };
        let text =
            fs::read_to_string(path).map_err(|e| fail(ContainerFileFault::Io(Arc::new(e))))?;
        Self::parse(&text).map_err(fail)
    }

    /// Writes the file of a container in `dir`, so that a crash leaves the old one or the new one.
    /// The row with the contents of the old one is deleted first.
    pub fn write(&self, disk: &Disk, dir: &Path) -> Result<()> {
        disk.check()?;
        closed_row::forget(disk, self.id)?;
        let metadata = dir.join("metadata");
        let path = metadata.join(format!("{}.container", self.id));
        let temporary = path.with_extension("container.tmp");
        let fail = |e: io::Error| StorageError::file(&path, e);
        let mut file = File::create(&temporary).map_err(fail)?;
        file.write_all(self.text(dir).as_bytes()).map_err(fail)?;
        disk.sync_file(&file, &temporary)?;
        fs::rename(&temporary, &path).map_err(fail)?;
        disk.sync_names(&metadata)
    }
}

/// Returns `true` if a replica that could not be loaded may be in the place of a container on a
/// disk. An invalid file may be that of a replica whose blocks are whole.
pub(crate) fn may_hold_replica(disk: &Disk, id: ContainerId) -> bool {
    let path = disk.container_dir(id).join("metadata").join(format!("{id}.container"));
    match ContainerFile::read(&path) {
        Ok(file) => file.state != ContainerState::Recovering,
        Err(StorageError::ContainerFile { fault: ContainerFileFault::Io(error), .. }) => {
            is_there(&error)
        }
        Err(_) => true,
    }
}

/// Returns `true` if the path may exist in spite of this system error.
pub(crate) fn is_there(error: &io::Error) -> bool {
    !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

impl Container {
    /// Returns the difference between the container's file and the container, `state` being its
    /// state. The caller ensures that neither changes. Blocks.
    ///
    /// # Errors
    /// When the file cannot be read, or is invalid.
    pub(crate) fn check_file(&self, state: ContainerState) -> Result<Option<String>> {
        let path = self.path().join("metadata").join(format!("{}.container", self.id));
        let file = ContainerFile::read(&path)?;
        let (said, here) = (&file.fixed, &self.fixed);
        let differs = [
            (file.id != self.id, "id"),
            (file.state != state, "state"),
            (said.pipeline != here.pipeline, "pipeline"),
            (said.origin != here.origin, "origin"),
            (said.replica_index != here.replica_index, "replica index"),
            (said.max_size != here.max_size, "size limit"),
            (file.sealed != self.sealed(), "extent"),
        ];
        let other = differs.into_iter().find(|(differs, _)| *differs);
        Ok(other.map(|(_, what)| format!("{} has another {what}", path.display())))
    }
}

#[derive(Default)]
struct Fields {
    checksum: Option<String>,
    id: Option<ContainerId>,
    state: Option<ContainerState>,
    pipeline: Option<PipelineId>,
    origin: Option<String>,
    replica_index: i32,
    max_size: Option<u64>,
    sealed: Option<Sealed>,
}

impl Fields {
    fn set(&mut self, name: &str, value: &str) -> Result<(), ContainerFileFault> {
        let bad = || ContainerFileFault::Field { name: name.to_owned(), value: value.to_owned() };
        match name {
            "checksum" => self.checksum = Some(value.to_owned()),
            "containerID" => self.id = Some(value.parse().map_err(|_| bad())?),
            "state" => self.state = Some(value.parse().map_err(|()| bad())?),
            "maxSize" => self.max_size = Some(value.parse().map_err(|_| bad())?),
            "replicaIndex" => self.replica_index = value.parse().map_err(|_| bad())?,
            "originNodeId" => self.origin = Some(value.to_owned()),
            "originPipelineId" if !value.is_empty() => {
                self.pipeline = Some(value.parse().map_err(|_| bad())?);
            }
            "metadata" => self.sealed = sealed(value).map_err(|()| bad())?,
            "layOutVersion" if value != "2" => return Err(bad()),
            "schemaVersion" if value != "3" => return Err(bad()),
            _ => {}
        }
        Ok(())
    }
}

/// Returns the values of a sealed container in `metadata`, if any. Other contents are ignored.
fn sealed(value: &str) -> Result<Option<Sealed>, ()> {
    let inside = value.strip_prefix('{').and_then(|v| v.strip_suffix('}')).unwrap_or_default();
    let number = |name: &str| {
        let said =
            inside.split(", ").find_map(|field| field.strip_prefix(name)?.strip_prefix(": "));
        said.map(|said| unquote(said).parse::<u64>().map_err(|_| ())).transpose()
    };
    match (number(SEALED_BCSID)?, number(SEALED_DELETE_TX)?) {
        (None, None) => Ok(None),
        (Some(bcsid), Some(delete_tx)) => Ok(Some(Sealed { bcsid, delete_tx })),
        _ => Err(()),
    }
}

/// A YAML scalar: plain when that cannot be misread.
fn scalar(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_' | '.');
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

fn unquote(value: &str) -> &str {
    value.strip_prefix('\'').and_then(|v| v.strip_suffix('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> ContainerFile {
        ContainerFile {
            id: ContainerId(7),
            state: ContainerState::QuasiClosed,
            fixed: Fixed {
                pipeline: Some(PipelineId::random()),
                origin: "a-node".into(),
                replica_index: 0,
                max_size: 5 << 30,
            },
            sealed: None,
        }
    }

    /// With a correct checksum: the test is about the later checks.
    #[test]
    fn any_text_is_a_container_or_refused() {
        let read = |data: &[u8]| {
            let text = String::from_utf8_lossy(data);
            drop(ContainerFile::parse(&text));
            let sum = hex::encode(Sha256::digest(text.as_bytes()));
            drop(ContainerFile::parse(&text.replacen(NO_CHECKSUM, &sum, 1)));
        };
        let text = file().text(Path::new("/d/current/containerDir0/7"));
        let sum = text.lines().find_map(|line| line.strip_prefix("checksum: ")).unwrap().to_owned();
        let zeroed = text.replacen(&sum, NO_CHECKSUM, 1);
        testkit::fuzz(vec![("container-file", read, vec![text.into(), zeroed.into()])]);
    }

    #[test]
    fn the_document_is_ozones() {
        let text = file().text(Path::new("/d/current/containerDir0/7"));
        let names: Vec<&str> =
            text.lines().skip(1).filter_map(|line| line.split(':').next()).collect();
        assert_eq!(
            names,
            [
                "checksum",
                "chunksPath",
                "containerDBType",
                "containerID",
                "containerType",
                "layOutVersion",
                "maxSize",
                "metadata",
                "metadataPath",
                "originNodeId",
                "originPipelineId",
                "schemaVersion",
                "state"
            ]
        );
        assert!(text.starts_with("!<KeyValueContainerData>\nchecksum: "));
        assert!(text.contains("\nschemaVersion: '3'\nstate: QUASI_CLOSED\n"));
        assert!(text.contains("\nchunksPath: /d/current/containerDir0/7/chunks\n"));
    }

    #[test]
    fn a_document_is_read_back() {
        let mut written = file();
        written.fixed.replica_index = 4;
        let read = ContainerFile::parse(&written.text(Path::new("/a dir/it's"))).unwrap();
        assert_eq!((read.id, read.state), (written.id, written.state));
        assert_eq!(read.fixed.pipeline, written.fixed.pipeline);
        assert_eq!(read.fixed.replica_index, 4);
        assert_eq!((read.fixed.origin.as_str(), read.sealed), ("a-node", None));
        written.sealed = Some(Sealed { bcsid: 7, delete_tx: u64::MAX });
        let text = written.text(Path::new("/d"));
        let line = "\nmetadata: {trioxide.bcsid: '7', trioxide.deleteTransaction: '18446744073709551615'}\n";
        assert!(text.contains(line), "{text}");
        assert_eq!(ContainerFile::parse(&text).unwrap().sealed, written.sealed);
    }

    #[test]
    fn what_others_note_about_a_container_is_no_extent() {
        assert_eq!(sealed("{}"), Ok(None));
        assert_eq!(sealed("{OWNER: ann, VOLUME: 'a, b'}"), Ok(None));
        let both = "{OWNER: ann, trioxide.bcsid: '1', trioxide.deleteTransaction: 2}";
        assert_eq!(sealed(both), Ok(Some(Sealed { bcsid: 1, delete_tx: 2 })));
        assert_eq!(sealed("{trioxide.bcsid: '1'}"), Err(()));
        assert_eq!(sealed("{trioxide.bcsid: x, trioxide.deleteTransaction: 2}"), Err(()));
    }

    #[test]
    fn a_changed_document_is_refused() {
        let text = file().text(Path::new("/d"));
        let changed = text.replace("state: QUASI_CLOSED", "state: CLOSED");
        assert!(matches!(ContainerFile::parse(&changed), Err(ContainerFileFault::Checksum)));
        assert!(ContainerFile::parse("").is_err());
        assert!(ContainerFile::parse(&text.replace("checksum", "checksun")).is_err());
    }
}
