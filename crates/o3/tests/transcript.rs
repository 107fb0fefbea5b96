//! Transcripts of commands with their output, errors and exit status, compared with a reviewed text
//! (`insta`).

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::process::{Daemon, o3, server, stderr, stdout};

/// The user of all commands, so that their output does not depend on the account that runs the
/// tests.
const USER: &str = "ann";

/// Values that differ between runs, and their placeholders.
const REDACTED: &[(&str, &str)] = &[
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "[UUID]"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+\d{4})?", "[TIME]"),
    (r"127\.0\.0\.1:\d{4,5}", "127.0.0.1:[PORT]"),
    (r"\b(STANDALONE|RATIS|CLIENT_RPC|HTTP)=\d+", "$1=[PORT]"),
    (r#""value" : \d{4,5}"#, r#""value" : [PORT]"#),
    (r"\d+ B \([0-9.]+ [KMGTP]?B\)", "[SIZE]"),
    (r": \d+\.\d\d% \(", ": [PERCENT] ("),
    (r"\d\d:\d\d:\d\d,\d{3}", "[DURATION]"),
    (r"\d+\.\d\d ms", "[MILLIS] ms"),
    (r"\b\d+ ms", "[MILLIS] ms"),
    (r"found \d+", "found [NUMBER]"),
    (r"Container \d+ is created", "Container [NUMBER] is created"),
    (r"(?m)^(SequenceId|Replicas): .*", "$1: [REPORTED]"),
    (r"(?ms)^History: \[.*?\]$", "History: [REPORTED]"),
    (r"with prefix [a-z0-9]{10}\b", "with prefix [RANDOM]"),
    (r#""reportTimeStamp" : \d+"#, r#""reportTimeStamp" : [MILLIS]"#),
    (
        r#""((?:filesystem|ozone)\w+|reserved|freeSpaceToSpare|committed)" : [\d.]+"#,
        r#""$1" : [NUMBER]"#,
    ),
    (
        r#""(containerID|localID|blockID|objectID|updateID|generation|metadataGeneration|blockCommitSequenceId|applied|term|sequenceId)" : \d+"#,
        r#""$1" : [NUMBER]"#,
    ),
];

/// Commands and their output.
#[derive(Default)]
pub struct Transcript {
    text: String,
    /// Definitions by which `o3` finds the cluster; not shown.
    definitions: Vec<String>,
    dir: Option<TempDir>,
    /// Dropped, and thereby killed, with the transcript.
    server: Option<Daemon>,
}

impl Transcript {
    /// Commands that need no cluster.
    pub fn without_cluster() -> Self {
        Self::default()
    }

    /// Commands for a cluster of one DataNode.
    pub fn of_cluster() -> Self {
        Self::of_datanodes(1)
    }

    /// Commands for a cluster with this number of DataNodes.
    pub fn of_datanodes(count: usize) -> Self {
        Self::of_settings(count, &[])
    }

    /// Commands for a cluster with this number of DataNodes and these settings of its servers.
    pub fn of_settings(count: usize, settings: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let count = count.to_string();
        let mut arguments = vec!["--datanodes", &count];
        settings.iter().for_each(|setting| arguments.extend(["-D", *setting]));
        let mut command = server(&dir.path().join("data"), &arguments);
        command.env_remove("HADOOP_USER_NAME").env("USER", USER).env("LOGNAME", USER);
        let daemon = Daemon::start(command);
        let definitions = vec![
            format!("ozone.om.address={}", daemon.text("om")),
            format!("ozone.scm.client.address={}", daemon.text("scm")),
        ];
        Self { definitions, dir: Some(dir), server: Some(daemon), ..Self::default() }
    }

    /// A directory for files of this test.
    pub fn dir(&self) -> &Path {
        self.dir.as_ref().unwrap().path()
    }

    /// A value of the ready line of the cluster.
    pub fn ready(&self, name: &str) -> String {
        self.server.as_ref().unwrap().text(name)
    }

    /// Runs a command, whose arguments are separated by spaces; `[DIR]` is the directory.
    pub fn output(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// The command of such a line, not yet started.
    pub fn command(&self, line: &str) -> Command {
        let dir = self.dir.as_ref().map(|dir| dir.path().display().to_string());
        let line = line.replace("[DIR]", dir.as_deref().unwrap_or_default());
        let mut words: Vec<&str> = line.split(' ').collect();
        // Options of the command itself follow its name.
        let definitions = self.definitions.iter().flat_map(|d| ["-D", d.as_str()]);
        let at = usize::from(!self.definitions.is_empty());
        words.splice(at..at, definitions);
        let mut command = o3(&words);
        command.env_remove("HADOOP_USER_NAME").env("USER", USER).env("LOGNAME", USER);
        command.env_remove("COLUMNS");
        command
    }

    /// Runs a command and records its output.
    pub fn run(&mut self, line: &str) -> &mut Self {
        let output = self.output(line);
        self.text += &format!("$ o3 {line}\n{}", stdout(&output));
        if !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        for line in stderr(&output).lines() {
            self.text += &format!("stderr: {line}\n");
        }
        match output.status.code() {
            Some(0) => {}
            Some(code) => self.text += &format!("exit {code}\n"),
            None => panic!("{line}: {}", output.status),
        }
        self.text.push('\n');
        self
    }

    /// Runs commands and records their output.
    pub fn run_all(&mut self, lines: &str) -> &mut Self {
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            self.run(line);
        }
        self
    }

    /// Compares the transcript with the snapshot of this name.
    pub fn check(&self, name: &str) {
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        if let Some(dir) = &self.dir {
            settings.add_filter(&dir.path().display().to_string().replace('.', r"\."), "[DIR]");
        }
        for (pattern, instead) in REDACTED {
            settings.add_filter(pattern, *instead);
        }
        settings.bind(|| insta::assert_snapshot!(name, self.text));
    }
}
