//! `o3 version`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use crate::print;

/// Options of the version command.
#[derive(Debug, Args)]
pub struct VersionArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The release of Apache Ozone whose protocols and layouts are supported.
const OZONE: &str = "2.2.0";

pub fn run(args: &VersionArgs) -> anyhow::Result<ExitCode> {
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    if args.json {
        print::json(&json!({ "version": VERSION, "ozone": OZONE, "os": os, "arch": arch }))
    } else {
        print::out(&format!(
            "Trioxide {VERSION} ({os} {arch}), protocols of Apache Ozone {OZONE}\n"
        ))
    }
}
