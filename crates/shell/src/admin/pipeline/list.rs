//! `o3 admin pipeline list`.

use clap::Args;
use config::Configuration;
use serde_json::Value;
use types::Pipeline;

use crate::admin::scm_client::{ScmArgs, nonsense};
use crate::{ShellError, output, render};

/// List pipelines.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Example:\n  o3 admin pipeline list --state OPEN --type RATIS --replication THREE --json"
)]
pub struct List {
    /// Only pipelines in this state.
    #[arg(
        short = 's',
        long,
        visible_alias = "filterByState",
        value_name = "STATE",
        value_parser = ["ALLOCATED", "OPEN", "DORMANT", "CLOSED"],
        ignore_case = true
    )]
    state: Option<String>,
    /// Only pipelines of this replication type.
    #[arg(
        short = 't',
        long = "type",
        value_name = "TYPE",
        value_parser = ["RATIS", "STAND_ALONE", "EC"],
        ignore_case = true
    )]
    kind: Option<String>,
    /// Only pipelines of this replication: ONE, THREE.
    #[arg(short = 'r', long, visible_alias = "filterByFactor", value_name = "REPLICATION")]
    replication: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scm: ScmArgs,
}

impl List {
    fn wants(&self, p: &Pipeline) -> bool {
        let config = p.config.to_string();
        let (kind, replication) = config.split_once('/').unwrap_or((&config, ""));
        let state = p.state.to_wire().as_str_name().trim_start_matches("PIPELINE_");
        [(&self.state, state), (&self.kind, kind), (&self.replication, replication)]
            .into_iter()
            .all(|(wanted, value)| wanted.as_ref().is_none_or(|w| w.eq_ignore_ascii_case(value)))
    }
}

/// Runs the command.
pub(crate) async fn run(args: List, conf: &Configuration) -> Result<(), ShellError> {
    let mut pipelines = Vec::new();
    for wire in args.scm.client(conf).pipelines().await? {
        let pipeline = Pipeline::from_wire(&wire).map_err(nonsense)?;
        if args.wants(&pipeline) {
            pipelines.push(pipeline);
        }
    }
    if args.json {
        let list: Vec<Value> = pipelines.iter().map(render::pipeline::pipeline).collect();
        return output::value(&list.into());
    }
    pipelines.iter().try_for_each(|p| output::line(render::pipeline::line(p)))
}
