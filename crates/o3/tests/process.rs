//! Processes of the binary under test, with bounded waits, killed at the end of the test.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use testkit::until_blocking;

/// Bound on every wait: generous, for machines that do other things too.
pub const TIMEOUT: Duration = testkit::LIMIT;

/// Number of the last log lines of a daemon shown if its test fails.
const LAST_LINES: usize = 60;

/// The binary with a clean environment.
pub fn o3(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_o3"));
    command.args(args).stdin(Stdio::null());
    for variable in ["OZONE_CONF_DIR", "O3_ACCESS_KEY", "O3_SECRET_KEY", "RUST_LOG"] {
        command.env_remove(variable);
    }
    command
}

/// Runs a command to its end.
pub fn run(args: &[&str]) -> Output {
    o3(args).output().unwrap()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A role that runs until it is stopped; killed when the test drops it.
pub struct Daemon {
    child: Child,
    log: Arc<Mutex<String>>,
    /// The line it printed when it was ready.
    pub ready: Value,
}

impl Daemon {
    /// Starts a role and waits for its ready line.
    pub fn start(mut command: Command) -> Daemon {
        let role = command.get_args().next().unwrap_or_default().display().to_string();
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (send, lines) = mpsc::channel();
        let stdout = child.stdout.take().unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = send.send(line);
            }
        });
        // Read continuously, so that the child never blocks on its log output.
        let stderr = child.stderr.take().unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let text = Arc::clone(&log);
        let reader = std::thread::spawn(move || {
            // `O3_TEST_LOGS=1` with `--nocapture` shows the daemons' logs.
            let shown = std::env::var_os("O3_TEST_LOGS").is_some();
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if shown {
                    eprintln!("{role}: {line}");
                }
                let mut text = text.lock();
                text.push_str(&line);
                text.push('\n');
            }
        });
        match lines.recv_timeout(TIMEOUT) {
            Ok(line) => {
                let ready = serde_json::from_str(&line)
                    .unwrap_or_else(|e| panic!("not a ready line: {line}: {e}"));
                Daemon { child, log, ready }
            }
            Err(_) => {
                let _ = child.kill();
                let status = child.wait();
                reader.join().unwrap();
                panic!("not ready: {status:?}\n{}", log.lock());
            }
        }
    }

    /// A value of the ready line.
    pub fn text(&self, name: &str) -> String {
        self.ready[name]
            .as_str()
            .unwrap_or_else(|| panic!("no {name} in {}", self.ready))
            .to_string()
    }

    /// Waits until the daemon has logged a line with all of these texts; returns the line.
    pub fn logged(&self, texts: &[&str]) -> String {
        until_blocking(format!("a line with {texts:?}"), || {
            let log = self.log.lock();
            let mut lines = log.lines();
            let found = lines.find(|line| texts.iter().all(|text| line.contains(text)));
            found.map(str::to_owned).ok_or_else(|| log.clone())
        })
    }

    /// Number of logged lines so far with this text.
    pub fn lines_with(&self, text: &str) -> usize {
        self.log.lock().lines().filter(|line| line.contains(text)).count()
    }

    /// An address of a role's ready line.
    pub fn address(&self, name: &str) -> String {
        let address = self.ready["addresses"][name].as_str();
        address.unwrap_or_else(|| panic!("no {name} in {}", self.ready)).to_string()
    }

    /// Process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Resident memory in bytes.
    pub fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
    }

    /// Sends SIGTERM, and waits until it has stopped.
    pub fn terminate(self) -> ExitStatus {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        self.ended()
    }

    /// Waits until it has stopped.
    pub fn ended(mut self) -> ExitStatus {
        until_blocking("the process to stop", || self.child.try_wait().unwrap())
    }

    /// Kills it with SIGKILL, as in a power failure.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("{}, its last lines:\n{}\n", self.ready, last_lines(&self.log.lock()));
        }
    }
}

/// A process that is killed when the test drops it, also if the test fails.
pub struct KillOnDrop(pub Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A role that the test kills by dropping it, ready or not.
pub struct Killed {
    child: KillOnDrop,
    ready: Arc<AtomicBool>,
    log: Arc<Mutex<String>>,
}

impl Killed {
    /// Starts a role without waiting.
    pub fn start(mut command: Command) -> Killed {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (ready, log) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(String::new())));
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (is_ready, text) = (Arc::clone(&ready), Arc::clone(&log));
        std::thread::spawn(move || {
            for _ in BufReader::new(stdout).lines().map_while(Result::ok) {
                is_ready.store(true, Ordering::Release);
            }
        });
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let mut text = text.lock();
                text.push_str(&line);
                text.push('\n');
            }
        });
        Killed { child: KillOnDrop(child), ready, log }
    }

    /// Returns `true` if it has printed its ready line.
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Its exit status, if it has exited by itself.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.0.try_wait().unwrap()
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("what it logged last:\n{}\n", last_lines(&self.log.lock()));
        }
    }
}

/// The end of a log.
fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

/// `o3 server` on free ports in a directory.
pub fn server(dir: &Path, more: &[&str]) -> Command {
    let dir = dir.to_str().unwrap();
    let mut args = vec!["server", "--dir", dir, "--json", "-D", "trioxide.server.ports=free"];
    // Tests that wait for free space do not wait for readers.
    args.extend(["-D", "trioxide.om.deleted.blocks.kept=0s"]);
    args.extend(more);
    o3(&args)
}
