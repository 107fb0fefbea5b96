//! The benchmarks, with the command of each.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::criterion;
use super::results::{self, Figure};

/// A benchmark.
pub struct Program {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its subject.
    pub what: &'static str,
    start: Start,
}

enum Start {
    /// A bench target that runs criterion.
    Bench(&'static str),
    /// An example with its arguments; `DIR` stands for a directory for its data.
    Example(&'static str, &'static [&'static str]),
    /// A script below `benches/` with its arguments.
    Script(&'static str, &'static [&'static str]),
}

/// All of them, from those of single functions to those of whole clusters. Sizes are such that a
/// run of all takes about half an hour on two cores, once everything is compiled.
pub const PROGRAMS: &[Program] = &[
    Program {
        name: "components",
        what: "rules and machinery without a server: CPU time, by criterion",
        start: Start::Bench("components"),
    },
    Program {
        name: "framed",
        what: "calls of the framed transport over loopback",
        start: Start::Example("echo_rate", &[]),
    },
    Program {
        name: "hadoop-rpc",
        what: "calls of Hadoop RPC over loopback",
        start: Start::Example("hadoop_echo_rate", &[]),
    },
    Program {
        name: "commits",
        what: "commits of three replicas with fsyncs",
        start: Start::Example("commit_rate", &["--replicas", "3", "--dir", "DIR"]),
    },
    Program {
        name: "log-share",
        what: "commits of 1 and 30 groups beside a bare group commit loop",
        start: Start::Example("commit_share", &["--dir", "DIR"]),
    },
    Program {
        name: "elections",
        what: "how long 200 groups are without a leader",
        start: Start::Example("elections", &["--rounds", "3", "--dir", "DIR"]),
    },
    Program {
        name: "resting",
        what: "what Raft groups cost that are not used",
        start: Start::Example("resting_groups", &["--dir", "DIR"]),
    },
    Program {
        name: "disk",
        what: "three durable copies by plain system calls, the limit of replicated writes",
        start: Start::Example("raw_copies", &["DIR", "100", "10", "4"]),
    },
    Program {
        name: "disk-groups",
        what: "durable data and parity cells by plain system calls, the limit of erasure-coded writes",
        start: Start::Example("raw_groups", &["DIR", "50", "10", "3-2"]),
    },
    Program {
        name: "storage",
        what: "the DataNode's storage without a network",
        start: Start::Example("chunk_bench", &["DIR"]),
    },
    Program {
        name: "scan",
        what: "the DataNode's scan of replicas, when nothing holds it back",
        start: Start::Example("scan_bench", &["DIR"]),
    },
    Program {
        name: "datanode",
        what: "three DataNodes, written to through pipelines",
        start: Start::Example("dn_bench", &["DIR"]),
    },
    Program {
        name: "om",
        what: "commands of an OM through its endpoint",
        start: Start::Example("om_bench", &["--dir", "DIR/om"]),
    },
    Program {
        name: "directory",
        what: "one large directory of a FILE_SYSTEM_OPTIMIZED bucket",
        start: Start::Example("directory_bench", &["--files", "100000"]),
    },
    Program {
        name: "scm",
        what: "an SCM from its start out of safe mode, with thousands of DataNodes",
        start: Start::Example("scale", &["--nodes", "3000", "--containers", "300"]),
    },
    Program {
        name: "oms-create",
        what: "keys created with one OM and with three, as processes",
        start: Start::Script("om/run", &["creates"]),
    },
    Program {
        name: "oms-read",
        what: "lookups through followers, and during writes (needs cgroups)",
        start: Start::Script("om/run", &["reads"]),
    },
    Program {
        name: "hot-block",
        what: "reads of one block by 1 to 64 readers at once",
        start: Start::Script("hot-block/run", &[]),
    },
    Program {
        name: "dense-datanode",
        what: "a DataNode of 60 directories and 200,000 containers: start, memory, CPU at rest",
        start: Start::Script("dense-datanode/run", &[]),
    },
    Program {
        name: "chunk-cache",
        what: "first chunks of blocks from a slow disk, with and without a cache (needs root)",
        start: Start::Script("chunk-cache/run", &[]),
    },
    Program {
        name: "s3",
        what: "S3 requests to a whole cluster (needs wrk)",
        start: Start::Script("s3/run", &[]),
    },
    Program {
        name: "filesystem",
        what: "Ozone's Java file system client (needs Java)",
        start: Start::Script("filesystem/run", &[]),
    },
    Program {
        name: "erasure",
        what: "erasure-coded keys beside replicated ones and raw writes, with nodes lost",
        start: Start::Script("erasure/run", &[]),
    },
    Program {
        name: "slow-disk",
        what: "reads of a cluster in which one disk takes 2 s a read, with and without what helps",
        start: Start::Example("slow_disk_reads", &["DIR", "15"]),
    },
    Program {
        name: "late-reads",
        what: "the same with processes, each disk in turn; also RocksDB's reads are late (needs cc)",
        start: Start::Script("late-reads/run", &[]),
    },
    Program {
        name: "deletion",
        what: "a client's latency beside a backlog of deleted blocks, and how fast it drains",
        start: Start::Script("deletion/run", &[]),
    },
    Program {
        name: "background",
        what: "a client's latency beside scans, deletion and balancing (needs root)",
        start: Start::Script("background/run", &[]),
    },
    Program {
        name: "scan-rate",
        what: "whether scans keep to their rates, in off-peak hours too",
        start: Start::Script("scan/run", &[]),
    },
    Program {
        name: "rebuild",
        what: "reads and writes of a reconstruction by plain system calls, and its decoding: the limits",
        start: Start::Example("raw_rebuild", &["DIR", "512", "3-2"]),
    },
    Program {
        name: "reconstruction",
        what: "a lost replica of 1 GB rebuilt, beside disk and codec, and a client's p99 meanwhile",
        start: Start::Script("reconstruction/run", &[]),
    },
    Program {
        name: "om-keys",
        what: "start, lookups and memory of an OM with 1,000,000 keys beside one with 100,000",
        start: Start::Script("metadata/run", &["keys", "1000000"]),
    },
    Program {
        name: "om-mix",
        what: "creates, deletes and lists of an OM for a minute, and the rate at the end",
        start: Start::Script("metadata/run", &["mix", "60"]),
    },
    Program {
        name: "om-acls",
        what: "lookups with ACLs and audit, and without",
        start: Start::Script("metadata/run", &["acls"]),
    },
    Program {
        name: "om-snapshots",
        what: "a snapshot of a bucket with 1,000,000 keys, and a diff of 1,000 changes",
        start: Start::Script("metadata/run", &["snapshots", "1000000"]),
    },
    Program {
        name: "disks",
        what: "S3 PUTs over many slow disks (needs root, wrk and loop devices)",
        start: Start::Script("disks/run", &[]),
    },
];

impl Program {
    /// Runs it with its output shown, and returns its figures. It writes to `directory`.
    ///
    /// # Errors
    /// When it cannot be started, fails, or has no figures.
    pub fn run(&self, root: &Path, directory: &Path) -> Result<Vec<Figure>> {
        let (data, recorded) = (directory.join("data"), directory.join("recorded.jsonl"));
        let estimates = directory.join("criterion");
        for stale in [&data, &estimates] {
            remove(fs::remove_dir_all(stale)).with_context(|| stale.display().to_string())?;
        }
        remove(fs::remove_file(&recorded)).with_context(|| recorded.display().to_string())?;
        fs::create_dir_all(&data).with_context(|| data.display().to_string())?;

        let mut command = self.command(root, &data.display().to_string());
        command.current_dir(root);
        command.env("BENCH_RESULTS", &recorded).env("BENCH_DIR", &data);
        command.env("CRITERION_HOME", &estimates);
        let status = command.status().with_context(|| format!("{command:?}"))?;
        if !status.success() {
            bail!("{command:?}: {status}");
        }
        remove(fs::remove_dir_all(&data)).with_context(|| data.display().to_string())?;
        let figures = match self.start {
            Start::Bench(_) => criterion::figures(&estimates)?,
            _ => results::recorded(&recorded)?,
        };
        if figures.is_empty() {
            bail!("it has recorded no figure");
        }
        Ok(figures)
    }

    fn command(&self, root: &Path, data: &str) -> Command {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        match self.start {
            Start::Bench(name) => {
                cargo.args(["bench", "--bench", name]);
                cargo
            }
            Start::Example(name, arguments) => {
                cargo.args(["run", "--release", "--quiet", "--example", name, "--"]);
                cargo.args(arguments.iter().map(|argument| argument.replace("DIR", data)));
                cargo
            }
            Start::Script(path, arguments) => {
                let mut script = Command::new(root.join("benches").join(path));
                script.args(arguments);
                script
            }
        }
    }
}

/// A file that does not exist is no failure.
fn remove(outcome: std::io::Result<()>) -> std::io::Result<()> {
    match outcome {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn root() -> std::path::PathBuf {
        std::path::PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("..")
    }

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<_> = PROGRAMS.iter().map(|program| program.name).collect();
        assert_eq!(names.len(), PROGRAMS.len());
    }

    #[test]
    fn every_example_and_every_script_is_a_benchmark() {
        let mut there: BTreeSet<String> = BTreeSet::new();
        for entry in fs::read_dir(root().join("benches")).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && path.join("run").exists() {
                there.insert(format!("{}/run", path.file_name().unwrap().display()));
            }
        }
        for entry in fs::read_dir(root().join("crates/benchmark/examples")).unwrap() {
            let file = entry.unwrap().path();
            if file.extension().is_some_and(|e| e == "rs") {
                there.insert(file.file_stem().unwrap().display().to_string());
            }
        }
        // What a script starts.
        assert!(there.remove("fill_datanode"));
        // What makes a page of the documents.
        there.remove("cli_reference");
        let started: BTreeSet<String> = PROGRAMS
            .iter()
            .filter_map(|program| match program.start {
                Start::Bench(_) => None,
                Start::Example(name, _) | Start::Script(name, _) => Some(name.to_owned()),
            })
            .collect();
        assert_eq!(there, started);
    }
}
