//! `o3 admin containerbalancer start`.

use clap::Args;
use config::Configuration;
use proto::container_location::StartContainerBalancerRequestProto;

use crate::admin::scm_client::ScmArgs;
use crate::{ShellError, output};

/// Start the container balancer, which moves containers from over-utilized to under-utilized
/// DataNodes. The defaults are the keys hdds.container.balancer.*.
#[derive(Debug, Clone, Args)]
pub struct Start {
    /// Maximum difference between a DataNode's utilization and the cluster's, in percent: [0, 100).
    #[arg(short, long, value_name = "PERCENT")]
    threshold: Option<f64>,
    /// Maximum number of iterations; -1 for no limit.
    #[arg(short, long, value_name = "N", allow_negative_numbers = true)]
    iterations: Option<i32>,
    /// Maximum share of the DataNodes in service that take part in one iteration, in percent.
    #[arg(
        short = 'd',
        long,
        alias = "maxDatanodesPercentageToInvolvePerIteration",
        value_name = "PERCENT"
    )]
    max_datanodes_percentage_to_involve_per_iteration: Option<i32>,
    /// Maximum GB to move in one iteration.
    #[arg(short = 's', long, alias = "maxSizeToMovePerIterationInGB", value_name = "GB")]
    max_size_to_move_per_iteration_in_gb: Option<i64>,
    /// Maximum GB that one DataNode receives in one iteration.
    #[arg(short = 'e', long, alias = "maxSizeEnteringTargetInGB", value_name = "GB")]
    max_size_entering_target_in_gb: Option<i64>,
    /// Maximum GB that one DataNode sends in one iteration.
    #[arg(short = 'l', long, alias = "maxSizeLeavingSourceInGB", value_name = "GB")]
    max_size_leaving_source_in_gb: Option<i64>,
    /// Pause between two iterations, in minutes.
    #[arg(long, value_name = "MINUTES")]
    balancing_iteration_interval_minutes: Option<i32>,
    /// Timeout of the move of a container, in minutes.
    #[arg(long, value_name = "MINUTES")]
    move_timeout_minutes: Option<i32>,
    /// Timeout of the copy as a part of the move, in minutes.
    #[arg(long, value_name = "MINUTES")]
    move_replication_timeout_minutes: Option<i32>,
    /// Prefer targets in the rack of the source: true or false.
    #[arg(long, value_name = "BOOL")]
    move_network_topology_enable: Option<bool>,
    /// Comma-separated host names or addresses of the only DataNodes to balance.
    #[arg(long, value_name = "HOSTS")]
    include_datanodes: Option<String>,
    /// Comma-separated host names or addresses of DataNodes not to balance.
    #[arg(long, value_name = "HOSTS")]
    exclude_datanodes: Option<String>,
    /// Comma-separated ids of containers not to move.
    #[arg(long, value_name = "IDS")]
    exclude_containers: Option<String>,
    /// Comma-separated ids of the only containers to move.
    #[arg(long, value_name = "IDS")]
    include_containers: Option<String>,
    #[command(flatten)]
    scm: ScmArgs,
}

/// Runs the command.
pub(super) async fn run(args: Start, conf: &Configuration) -> Result<(), ShellError> {
    let request = StartContainerBalancerRequestProto {
        threshold: args.threshold,
        iterations: args.iterations,
        max_datanodes_percentage_to_involve_per_iteration: args
            .max_datanodes_percentage_to_involve_per_iteration,
        max_size_to_move_per_iteration_in_gb: args.max_size_to_move_per_iteration_in_gb,
        max_size_entering_target_in_gb: args.max_size_entering_target_in_gb,
        max_size_leaving_source_in_gb: args.max_size_leaving_source_in_gb,
        balancing_interval: args.balancing_iteration_interval_minutes,
        move_timeout: args.move_timeout_minutes,
        move_replication_timeout: args.move_replication_timeout_minutes,
        network_topology_enable: args.move_network_topology_enable,
        include_nodes: args.include_datanodes,
        exclude_nodes: args.exclude_datanodes,
        exclude_containers: args.exclude_containers,
        include_containers: args.include_containers,
        ..StartContainerBalancerRequestProto::default()
    };
    let answer = args.scm.client(conf).start_container_balancer(request).await?;
    if !answer.start {
        let why = answer.message.unwrap_or_default();
        return Err(ShellError::Refused(format!("the container balancer was not started: {why}")));
    }
    output::line("Container Balancer started successfully.")
}
