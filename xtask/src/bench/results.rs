//! The file of all figures: a line of JSON each, with name, value, unit, commit, time (seconds
//! since 1970) and machine.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// A figure of a benchmark.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The benchmark and the case.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
}

/// Commit, time and machine of a run.
pub struct Origin {
    commit: String,
    time: u64,
    machine: String,
}

/// A figure of the file.
#[derive(Debug, Clone)]
pub struct Row {
    /// The figure.
    pub figure: Figure,
    /// Its commit.
    pub commit: String,
    /// Its machine.
    pub machine: String,
}

impl Origin {
    /// A run of this tree, on this machine, now.
    ///
    /// # Errors
    /// When git or the kernel does not answer.
    pub fn of(root: &Path) -> Result<Self> {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock")?.as_secs();
        let git = |arguments: &[&str]| -> Result<String> {
            let output = Command::new("git").current_dir(root).args(arguments).output()?;
            if !output.status.success() {
                bail!("git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
            }
            Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let mut commit = git(&["rev-parse", "--short", "HEAD"])?;
        if !git(&["status", "--porcelain"])?.is_empty() {
            commit.push_str("-changed");
        }
        Ok(Self { commit, time, machine: machine()? })
    }
}

/// The cargo profile of the measured o3, as the Makefile sets it; the usual one without.
const PROFILE: (&str, &str) = ("BENCH_PROFILE", "dist");

/// This machine, as far as figures depend on it: its processor, how many there are, and how o3 was
/// built for it. A name would differ between containers on the same machine.
///
/// # Errors
/// When the kernel does not tell.
pub fn machine() -> Result<String> {
    let text = fs::read_to_string("/proc/cpuinfo").context("/proc/cpuinfo")?;
    let field = |line: &str| line.split_once(':').map(|(_, value)| value.trim().to_owned());
    let models = ["model name", "CPU part"];
    let model = text.lines().find(|line| models.iter().any(|name| line.starts_with(name)));
    let model = model.and_then(field).unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let cores = std::thread::available_parallelism().context("the number of processors")?;
    let profile = std::env::var(PROFILE.0).unwrap_or_else(|_| PROFILE.1.to_owned());
    Ok(format!("{model}, {cores} cores, o3 of profile {profile}"))
}

/// The figures that a benchmark has written into the file of `BENCH_RESULTS`.
///
/// # Errors
/// When a line is no figure.
pub fn recorded(path: &Path) -> Result<Vec<Figure>> {
    lines(path)?.iter().map(|line| figure(line).with_context(|| line.to_string())).collect()
}

/// Appends figures to the file of all.
///
/// # Errors
/// When it cannot be written.
pub fn append(path: &Path, origin: &Origin, figures: &[Figure]) -> Result<()> {
    let mut text = String::new();
    for Figure { name, value, unit } in figures {
        let row = json!({
            "name": name, "value": value, "unit": unit,
            "commit": origin.commit, "time": origin.time, "machine": origin.machine,
        });
        text.push_str(&format!("{row}\n"));
    }
    let file = OpenOptions::new().create(true).append(true).open(path);
    let mut file = file.with_context(|| path.display().to_string())?;
    file.write_all(text.as_bytes()).with_context(|| path.display().to_string())
}

/// All figures, the oldest first; none when nothing has been measured yet.
///
/// # Errors
/// When a line is no figure with its origin.
pub fn read(path: &Path) -> Result<Vec<Row>> {
    let row = |line: &Value| -> Option<Row> {
        Some(Row {
            figure: figure(line)?,
            commit: line["commit"].as_str()?.to_owned(),
            machine: line["machine"].as_str()?.to_owned(),
        })
    };
    lines(path)?.iter().map(|line| row(line).with_context(|| line.to_string())).collect()
}

fn figure(line: &Value) -> Option<Figure> {
    Some(Figure {
        name: line["name"].as_str()?.to_owned(),
        value: line["value"].as_f64()?,
        unit: line["unit"].as_str()?.to_owned(),
    })
}

fn lines(path: &Path) -> Result<Vec<Value>> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.with_context(|| path.display().to_string())?,
    };
    let parse = |line| serde_json::from_str(line).with_context(|| path.display().to_string());
    text.lines().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_as_they_were_written() {
        let path = std::env::temp_dir().join(format!("xtask-results-{}", std::process::id()));
        assert!(read(&path).unwrap().is_empty());
        let figure = Figure { name: "a/b".into(), value: 1.5, unit: "ns".into() };
        for (commit, time) in [("abc", 1), ("def-changed", 2)] {
            let origin = Origin { commit: commit.into(), time, machine: "m, 2 cores".into() };
            append(&path, &origin, std::slice::from_ref(&figure)).unwrap();
        }
        let rows = read(&path).unwrap();
        let recorded = recorded(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(recorded, [figure.clone(), figure.clone()]);
        assert!(rows.iter().all(|row| row.figure == figure && row.machine == "m, 2 cores"));
        let commits: Vec<_> = rows.iter().map(|row| row.commit.as_str()).collect();
        assert_eq!(commits, ["abc", "def-changed"]);
    }

    #[test]
    fn a_line_that_is_no_figure_is_an_error() {
        let path = std::env::temp_dir().join(format!("xtask-no-figure-{}", std::process::id()));
        fs::write(&path, "{\"name\":\"a\",\"unit\":\"ns\"}\n").unwrap();
        let outcome = recorded(&path);
        fs::remove_file(&path).unwrap();
        assert!(outcome.is_err());
    }
}
