//! `o3 debug datanode check-containers`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use types::ContainerId;

use super::disk::{Disk, Lies};
use super::finding::Finding;
use super::places;
use crate::{ShellError, output};

/// Check a stopped DataNode for containers that an earlier release may have damaged. Nothing is
/// changed.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
The exit status is 1 if there are findings. After a crash, unflushed rows are reported as missing:
start this release once and stop it. Do not start an earlier one for it, which deletes replicas that
this one keeps.

Findings:
  outside        rows refer to places outside of the container's own files: a copy that arrived
                 while the pipeline created the container overwrote its rows
  without-rows   files with blocks but no rows: the rows were deleted with those of a copy
  without-files  rows but no directory: the replica is lost
  twins          two replicas on two disks: the DataNode serves one and keeps the other
  left-copy      leftovers of a copy whose container exists: the next start deletes them, and an
                 earlier release deletes the rows of the container with them
  left-removal   the same of a deletion
  unreadable     a file or directory cannot be read

Examples:
  o3 debug datanode check-containers /data/1 /data/2
  o3 debug datanode check-containers --json /data/1 /data/2 | jq -r '.[].container'")]
pub struct CheckContainers {
    /// All data directories of the DataNode, as in hdds.datanode.dir; duplicates are found only
    /// between given directories.
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn run(args: &CheckContainers) -> Result<(), ShellError> {
    let found = check(&args.dirs)?;
    if args.json {
        let rows = found.iter().map(|finding| {
            json!({
                "container": finding.container.0,
                "finding": finding.kind,
                "directory": finding.dir,
                "detail": finding.detail,
            })
        });
        output::value(&rows.collect())?;
    } else {
        for Finding { container, kind, dir, detail } in &found {
            output::line(format!("container {container}  {kind}  {dir}: {detail}"))?;
        }
    }
    match found.len() {
        0 if args.json => Ok(()),
        0 => output::line("Nothing was found."),
        count => Err(ShellError::Refused(format!(
            "findings: {count}; see o3 debug datanode check-containers --help for their meaning"
        ))),
    }
}

/// All findings, by container.
pub(super) fn check(dirs: &[PathBuf]) -> Result<Vec<Finding>, ShellError> {
    let disks = dirs.iter().map(|dir| Disk::open(dir)).collect::<Result<Vec<_>, _>>()?;
    if let Some(pair) = disks.windows(2).find(|pair| pair[0].datanode != pair[1].datanode) {
        let [one, other] = [&pair[0], &pair[1]].map(Disk::name);
        return Err(ShellError::Refused(format!(
            "{one} and {other} belong to different DataNodes (datanodeUuid in their VERSION files): check one DataNode at a time"
        )));
    }
    let mut found = Vec::new();
    let mut places: BTreeMap<ContainerId, Vec<&Disk>> = BTreeMap::new();
    for disk in &disks {
        for (id, _) in disk.list(Lies::InPlace)? {
            places.entry(id).or_default().push(disk);
        }
        places::check(disk, &mut found)?;
    }
    for (id, on) in places.iter().filter(|(_, on)| on.len() > 1) {
        let all: Vec<_> = on.iter().map(|disk| disk.describe(*id)).collect();
        let dir = on.first().map_or_else(String::new, |disk| disk.name());
        found.push(Finding { container: *id, kind: "twins", dir, detail: all.join("; ") });
    }
    for disk in &disks {
        for (lies, kind) in [(Lies::Arriving, "left-copy"), (Lies::SetAside, "left-removal")] {
            for (container, path) in disk.list(lies)? {
                let Some(on) = places.get(&container) else { continue };
                let here: Vec<_> = on.iter().map(|disk| disk.describe(container)).collect();
                let detail =
                    format!("{}, but the container exists: {}", path.display(), here.join("; "));
                found.push(Finding { container, kind, dir: disk.name(), detail });
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use container::segment::{RecordHeader, SegmentHeader, SegmentInfo};
    use metastore::{Batch, Durability, Preset, Store, StoreOptions, Table, TableSpec};
    use prost::Message;
    use types::LocalId;

    use super::super::places::{Packed, Row};
    use super::*;

    const TABLES: [TableSpec; 3] = [
        TableSpec::new("block_data", Preset::Scan),
        TableSpec::new("metadata", Preset::Small),
        TableSpec::new("segments", Preset::Small),
    ];

    /// A data directory of a stopped DataNode.
    struct Data {
        dir: PathBuf,
        store: Store,
    }

    impl Data {
        fn new(dir: PathBuf) -> Self {
            let hdds = dir.join("hdds");
            for below in ["current", "tmp/arriving-containers", "tmp/deleted-containers"] {
                fs::create_dir_all(hdds.join("CID-1").join(below)).unwrap();
            }
            let version = "clusterID=CID-1\nstorageID=DS-1\ndatanodeUuid=one\n";
            fs::write(hdds.join("VERSION"), version).unwrap();
            let path = hdds.join("CID-1/DS-1/container.db");
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let store = Store::open(&path, &TABLES, &StoreOptions::default()).unwrap();
            Self { dir, store }
        }

        fn cluster(&self) -> PathBuf {
            self.dir.join("hdds/CID-1")
        }

        fn place(&self, id: u64) -> PathBuf {
            let group = format!("containerDir{}", (id >> 9) & 0xFF);
            self.cluster().join("current").join(group).join(id.to_string())
        }

        /// A container of one packed block, 7, whose row is `row`.
        fn container(&self, id: u64, state: &str, row: &Row) {
            let place = self.place(id);
            fs::create_dir_all(place.join("metadata")).unwrap();
            fs::create_dir_all(place.join("chunks")).unwrap();
            let file = place.join(format!("metadata/{id}.container"));
            fs::write(file, format!("!<KeyValueContainerData>\nstate: {state}\n")).unwrap();
            let id = ContainerId(id);
            let mut segment = SegmentHeader { container: id, number: 1 }.encode().to_vec();
            let at = segment.len() as u64;
            let header = RecordHeader::new(LocalId(7), 1, b"seven");
            segment.extend_from_slice(&header.encode(id, at));
            segment.extend_from_slice(b"seven");
            segment.extend_from_slice(container::segment::padding(5));
            fs::write(place.join("chunks/00000001.segment"), &segment).unwrap();
            let end = segment.len() as u64;
            let info =
                SegmentInfo { end, durable: end, live_bytes: 1, live_records: 1, sealed: true };
            let key = |rest: &[u8]| [&id.0.to_be_bytes()[..], b"|", rest].concat();
            let mut batch = Batch::new();
            batch.put(Table::named("segments"), key(&1_u32.to_be_bytes()), info.encode());
            batch.put(Table::named("metadata"), key(b"#BLOCKCOUNT"), 1_u64.to_be_bytes());
            batch.put(Table::named("block_data"), key(b"7"), row.encode_to_vec());
            self.store.write(batch, Durability::Sync).unwrap();
        }

        fn close(self) -> PathBuf {
            self.store.flush().unwrap();
            self.dir
        }
    }

    fn row(container: u64, local: i64, segment: u32) -> Row {
        let block_id = proto::datanode::DatanodeBlockId {
            container_id: container as i64,
            local_id: local,
            ..Default::default()
        };
        let offset = container::segment::SEGMENT_HEADER_LEN;
        Row { block_id, size: Some(5), packed: Some(Packed { segment, offset, len: 5 }) }
    }

    fn kinds(dirs: &[PathBuf]) -> Vec<(u64, &'static str)> {
        check(dirs).unwrap().into_iter().map(|f| (f.container.0, f.kind)).collect()
    }

    fn two(dir: &Path) -> [Data; 2] {
        [Data::new(dir.join("1")), Data::new(dir.join("2"))]
    }

    #[test]
    fn sound_containers_are_no_findings() {
        let dir = tempfile::tempdir().unwrap();
        let [one, two] = two(dir.path());
        one.container(1, "CLOSED", &row(1, 7, 1));
        two.container(2, "OPEN", &row(2, 7, 1));
        // A copy in progress of a container that does not exist here.
        one.container(3, "CLOSED", &row(3, 7, 1));
        fs::remove_dir_all(one.place(3)).unwrap();
        fs::create_dir(one.cluster().join("tmp/arriving-containers/3")).unwrap();
        assert_eq!(kinds(&[one.close(), two.close()]), []);
    }

    #[test]
    fn what_earlier_releases_damaged_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let [one, two] = two(dir.path());
        // In another segment, and with another block.
        one.container(1, "CLOSED", &row(1, 7, 2));
        one.container(2, "OPEN", &row(2, 8, 1));
        for data in [&one, &two] {
            data.container(4, "CLOSED", &row(4, 7, 1));
        }
        two.container(5, "CLOSED", &row(5, 7, 1));
        fs::create_dir(two.cluster().join("tmp/arriving-containers/5")).unwrap();
        fs::create_dir(two.cluster().join("tmp/deleted-containers/5")).unwrap();
        two.container(6, "CLOSED", &row(6, 7, 1));
        let mut batch = Batch::new();
        for table in ["block_data", "metadata", "segments"] {
            let key = |id: u64| id.to_be_bytes().to_vec();
            batch.delete_range(Table::named(table), key(6), key(7));
        }
        two.store.write(batch, Durability::Sync).unwrap();
        two.container(9, "CLOSED", &row(9, 7, 1));
        fs::remove_dir_all(two.place(9)).unwrap();
        let dirs = [one.close(), two.close()];
        let wanted = [
            (1, "outside"),
            (2, "outside"),
            (4, "twins"),
            (5, "left-copy"),
            (5, "left-removal"),
            (6, "without-rows"),
            (9, "without-files"),
        ];
        assert_eq!(kinds(&dirs), wanted);
    }

    #[test]
    fn directories_of_two_datanodes_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let dirs = two(dir.path()).map(Data::close);
        let version = dirs[1].join("hdds/VERSION");
        let other = fs::read_to_string(&version).unwrap().replace("=one", "=other");
        fs::write(&version, other).unwrap();
        let refused = check(&dirs).unwrap_err().to_string();
        assert!(refused.contains("belong to different DataNodes"), "{refused}");
    }

    #[test]
    fn findings_are_the_exit_status() {
        let dir = tempfile::tempdir().unwrap();
        let dirs = two(dir.path());
        for data in &dirs {
            data.container(4, "CLOSED", &row(4, 7, 1));
        }
        let dirs = dirs.map(Data::close).to_vec();
        for json in [true, false] {
            let all = CheckContainers { dirs: dirs.clone(), json };
            assert!(run(&all).unwrap_err().to_string().contains("findings: 1;"));
            assert!(run(&CheckContainers { dirs: dirs[..1].to_vec(), json }).is_ok());
        }
    }

    #[test]
    fn a_datanode_that_runs_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let data = Data::new(dir.path().join("1")).close();
        let lock = service::DataDir::lock(data.join("hdds")).unwrap();
        let refused = check(std::slice::from_ref(&data)).unwrap_err().to_string();
        assert!(refused.contains("stop the DataNode"), "{refused}");
        drop(lock);
        assert_eq!(kinds(&[data]), []);
        assert!(check(&[dir.path().join("none")]).is_err());
    }
}
