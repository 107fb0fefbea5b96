//! `o3 admin container info`.

use clap::Args;
use client::{ErrorKind, ScmClient};
use config::Configuration;
use types::{ContainerId, PipelineId, PipelineState};

use crate::admin::scm_client::{ScmArgs, nonsense};
use crate::{ShellError, output, render};

/// Show containers with their pipelines, replicas and recent events.
#[derive(Debug, Clone, Args)]
pub struct Info {
    /// Container ids.
    #[arg(required = true)]
    ids: Vec<ContainerId>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scm: ScmArgs,
}

/// Runs the command. A missing container is reported and is no failure: the others are shown.
pub(crate) async fn run(args: Info, conf: &Configuration) -> Result<(), ShellError> {
    let scm = args.scm.client(conf);
    let mut shown = Vec::new();
    for (number, id) in args.ids.iter().enumerate() {
        if number > 0 && !args.json {
            output::line("")?;
        }
        let container = match scm.container(*id).await {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                eprintln!("Container #{id} not found");
                continue;
            }
            other => other?,
        };
        let replicas = scm.replicas(*id).await?;
        let history = scm.container_history(*id).await?;
        if args.json {
            let mut value = render::container::info(&container, &replicas).map_err(nonsense)?;
            value["history"] = render::container_history::json(&history);
            value["underWay"] = history.under_way.into();
            shown.push(value);
            continue;
        }
        let write = match &container.container_info.pipeline_id {
            Some(id) => state(&scm, PipelineId::from_wire(id).map_err(nonsense)?).await?,
            None => None,
        };
        output::line(render::container::text(&container, &replicas, write).map_err(nonsense)?)?;
        for (title, lines) in [
            ("Under way", &history.under_way),
            ("History", &render::container_history::lines(&history)),
        ] {
            if !lines.is_empty() {
                output::line(format!("{title}: [{}]", lines.join(",\n")))?;
            }
        }
    }
    match (args.json, args.ids.len()) {
        (false, _) => Ok(()),
        (true, 1) => shown.first().map_or(Ok(()), output::value),
        (true, _) => output::value(&shown.into()),
    }
}

/// State of a pipeline; `None` if it does not exist any more.
async fn state(scm: &ScmClient, id: PipelineId) -> Result<Option<PipelineState>, ShellError> {
    match scm.pipeline(id).await {
        Ok(p) => PipelineState::from_wire(p.state() as i32).map(Some).map_err(nonsense),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e.into()),
    }
}
