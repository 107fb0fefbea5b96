//! `o3 admin pipeline create`.

use clap::Args;
use config::Configuration;
use proto::container_location::{PipelineRequestProto, ScmContainerLocationRequest, Type};
use types::{Pipeline, ReplicationConfig};

use crate::admin::scm_client::{ScmArgs, nonsense};
use crate::{ShellError, output};

/// Create a pipeline in addition to those that SCM creates.
#[derive(Debug, Clone, Args)]
pub struct Create {
    /// Replication type: RATIS.
    #[arg(
        short = 't',
        long = "type",
        visible_aliases = ["replication-type", "replicationType"],
        default_value = "RATIS",
        value_name = "TYPE"
    )]
    kind: String,
    /// Replication: ONE, THREE.
    #[arg(
        short = 'f',
        long = "factor",
        visible_aliases = ["replication-factor", "replicationFactor"],
        default_value = "ONE",
        value_name = "FACTOR"
    )]
    factor: String,
    #[command(flatten)]
    scm: ScmArgs,
}

/// Runs the command.
pub(crate) async fn run(args: Create, conf: &Configuration) -> Result<(), ShellError> {
    let config = ReplicationConfig::parse(&args.kind, &args.factor)
        .map_err(|e| ShellError::Usage(e.to_string()))?;
    let factor = config
        .wire_factor()
        .ok_or_else(|| ShellError::Usage("pipelines of this type are created on demand".into()))?;
    let mut request = ScmContainerLocationRequest {
        cmd_type: Type::AllocatePipeline as i32,
        ..Default::default()
    };
    request.pipeline_request = Some(PipelineRequestProto {
        replication_type: config.wire_type() as i32,
        replication_factor: factor as i32,
        node_pool: Some(Default::default()),
        ..Default::default()
    });
    let response = args.scm.client(conf).submit(&request).await?.pipeline_response;
    let made = response.and_then(|r| r.pipeline).ok_or_else(|| {
        nonsense(types::WireError::Missing { message: "PipelineResponseProto", field: "pipeline" })
    })?;
    let pipeline = Pipeline::from_wire(&made).map_err(nonsense)?;
    output::line(format!("{} is created.", crate::render::pipeline::line(&pipeline)))
}
