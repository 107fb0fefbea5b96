//! Script that prints the rack of each host in its arguments.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use types::topology;

/// Timeout of the script.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of cached hosts; the script runs again for others.
const REMEMBERED: usize = 100_000;

#[derive(Debug)]
pub struct Script {
    path: PathBuf,
    known: Mutex<FxHashMap<String, String>>,
}

impl Script {
    pub fn new(path: PathBuf) -> Self {
        Self { path, known: Mutex::default() }
    }

    /// The script's earlier result for a host.
    pub fn known(&self, name: &str) -> Option<String> {
        self.known.lock().get(name).cloned()
    }

    /// The location of a host with these names. The script returns a rack for every name, so it is
    /// called with the first one; if the result is the default rack, with the next.
    pub async fn location(&self, names: &[&str]) -> Option<String> {
        let mut found = None;
        for name in names {
            let rack = match self.known(name) {
                Some(rack) => Some(rack),
                None => self.run(name).await,
            };
            match rack {
                Some(rack) if rack == topology::DEFAULT_RACK => found = Some(rack),
                Some(rack) => return Some(rack),
                None => {}
            }
        }
        found
    }

    async fn run(&self, name: &str) -> Option<String> {
        let script = self.path.display();
        let running = tokio::process::Command::new(&self.path)
            .arg(name)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = match tokio::time::timeout(TIMEOUT, running).await {
            Ok(Ok(output)) if output.status.success() => output.stdout,
            Ok(Ok(output)) => {
                let said = String::from_utf8_lossy(&output.stderr);
                let said = said.trim();
                tracing::warn!(%script, name, status = %output.status, said, "topology script failed");
                return None;
            }
            Ok(Err(error)) => {
                tracing::warn!(%script, %error, "cannot run topology script");
                return None;
            }
            Err(_) => {
                tracing::warn!(%script, name, "topology script timed out");
                return None;
            }
        };
        let text = String::from_utf8_lossy(&output);
        let Some(rack) = text.split_whitespace().next().map(topology::normal) else {
            tracing::warn!(%script, name, "topology script printed no rack");
            return None;
        };
        let mut known = self.known.lock();
        if known.len() < REMEMBERED {
            known.insert(name.to_owned(), rack.clone());
        }
        Some(rack)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[tokio::test]
    async fn a_script_is_asked_once_for_each_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("racks.sh");
        let asked = dir.path().join("asked");
        let text = format!(
            "#!/bin/sh\necho \"$1\" >> {}\ncase $1 in a) echo /r1;; b) exit 3;; *) echo /default-rack;; esac\n",
            asked.display()
        );
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let script = Script::new(path);
        for _ in 0..2 {
            assert_eq!(script.location(&["x", "a"]).await.as_deref(), Some("/r1"));
        }
        assert_eq!(script.location(&["b"]).await, None);
        assert_eq!(script.location(&["x"]).await.as_deref(), Some("/default-rack"));
        assert_eq!(fs::read_to_string(asked).unwrap(), "x\na\nb\n");
    }

    #[tokio::test]
    async fn a_script_that_is_not_there_knows_nothing() {
        assert_eq!(Script::new("/nonexistent/racks".into()).location(&["a"]).await, None);
    }
}
