//! The figures that criterion leaves: a directory for each benchmark, with its name and its
//! estimates as JSON.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::results::Figure;

/// Nanoseconds of an iteration, the median, of every benchmark below `directory`.
///
/// # Errors
/// When a file cannot be read, or is not as criterion writes it.
pub fn figures(directory: &Path) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    collect(directory, &mut figures)?;
    figures.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(figures)
}

fn collect(directory: &Path, figures: &mut Vec<Figure>) -> Result<()> {
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        if !path.is_dir() {
            continue;
        }
        match path.file_name().is_some_and(|name| name == "new") {
            true => figures.push(figure(&path)?),
            false => collect(&path, figures)?,
        }
    }
    Ok(())
}

fn figure(run: &Path) -> Result<Figure> {
    let read = |name: &str| -> Result<Value> {
        let path = run.join(name);
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        serde_json::from_str(&text).with_context(|| path.display().to_string())
    };
    let (benchmark, estimates) = (read("benchmark.json")?, read("estimates.json")?);
    let name = benchmark["full_id"].as_str();
    let value = estimates["median"]["point_estimate"].as_f64();
    let (name, value) = name.zip(value).with_context(|| run.display().to_string())?;
    Ok(Figure { name: name.to_owned(), value, unit: "ns".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_last_run() {
        let dir = std::env::temp_dir().join(format!("xtask-criterion-{}", std::process::id()));
        for (run, median) in [("base", 1.0), ("new", 2.5)] {
            let run = dir.join("group").join("case").join(run);
            fs::create_dir_all(&run).unwrap();
            fs::write(run.join("benchmark.json"), r#"{"full_id":"group/case"}"#).unwrap();
            let estimates = format!(r#"{{"median":{{"point_estimate":{median}}}}}"#);
            fs::write(run.join("estimates.json"), estimates).unwrap();
        }
        let found = figures(&dir).unwrap();
        fs::remove_dir_all(&dir).unwrap();
        let expected = Figure { name: "group/case".into(), value: 2.5, unit: "ns".into() };
        assert_eq!(found, [expected]);
    }
}
