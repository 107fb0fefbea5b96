//! The configuration as its users see it.
#![allow(clippy::unwrap_used, missing_docs)]

mod declarations;
mod derived;
mod precedence;
mod published;
mod refusals;
mod renamed;
mod safety;
mod substitution;
mod toml;
mod values;
mod xml;

use std::path::PathBuf;

use config::{Builder, Configuration};

/// A file with this content, and its temporary directory.
fn file(name: &str, content: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, content).unwrap();
    (dir, path)
}

/// An `ozone-site.xml` with these properties, one per line from line 2 on.
fn site(properties: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
    let mut text = String::from("<configuration>\n");
    for (name, value) in properties {
        text.push_str(&format!("<property><name>{name}</name><value>{value}</value></property>\n"));
    }
    file("ozone-site.xml", &(text + "</configuration>\n"))
}

fn with_site(properties: &[(&str, &str)]) -> (tempfile::TempDir, Builder) {
    let (dir, path) = site(properties);
    let builder = Configuration::builder().file(path).unwrap();
    (dir, builder)
}

fn variables(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect()
}
