//! `o3 admin container info`.

use clap::Args;
use client::ErrorKind;
use config::Configuration;
use types::ContainerId;

use crate::admin::{ScmArgs, nonsense};
use crate::{ShellError, output, render};

/// Show containers with their pipelines and replicas.
#[derive(Debug, Clone, Args)]
pub struct Info {
    /// Ids of containers.
    #[arg(required = true)]
    ids: Vec<ContainerId>,
    /// As JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scm: ScmArgs,
}

/// Runs it.
pub(crate) async fn run(args: Info, conf: &Configuration) -> Result<(), ShellError> {
    let scm = args.scm.client(conf);
    let mut shown = Vec::new();
    for id in &args.ids {
        let container = match scm.container(*id).await {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                return Err(ShellError::Refused(format!("Container #{id} not found")));
            }
            other => other?,
        };
        let replicas = scm.replicas(*id).await?;
        if args.json {
            shown.push(render::container::info(&container, &replicas).map_err(nonsense)?);
        } else {
            output::line(render::container::text(&container, &replicas).map_err(nonsense)?)?;
        }
    }
    match (args.json, shown.len()) {
        (false, _) => Ok(()),
        (true, 1) => output::value(&shown.remove(0)),
        (true, _) => output::value(&shown.into()),
    }
}
