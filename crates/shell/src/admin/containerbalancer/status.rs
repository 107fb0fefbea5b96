//! `o3 admin containerbalancer status`.

use clap::Args;
use config::Configuration;
use proto::container_location::{
    ContainerBalancerStatusInfoProto, ContainerBalancerTaskIterationStatusInfoProto as Iteration,
    NodeTransferInfoProto,
};
use proto::hdds::ContainerBalancerConfigurationProto;
use serde_json::{Value, json};

use crate::admin::scm_client::ScmArgs;
use crate::{ShellError, output};

/// Show whether the container balancer runs; with -v also its settings and the current iteration,
/// with -H also the previous iterations.
#[derive(Debug, Clone, Args)]
pub struct Status {
    /// Show the completed iterations of this run, too.
    #[arg(short = 'H', long)]
    history: bool,
    /// Print all information as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scm: ScmArgs,
}

/// Runs the command.
pub(super) async fn run(
    args: Status,
    verbose: bool,
    conf: &Configuration,
) -> Result<(), ShellError> {
    let answer = args.scm.client(conf).container_balancer_status().await?;
    let (runs, info) = (answer.is_running(), answer.container_balancer_status_info);
    if args.json {
        let shown = match &info {
            Some(info) => as_json(info),
            None => json!({ "running": false }),
        };
        return output::value(&shown);
    }
    let Some(info) = info.filter(|_| runs) else {
        return output::line("ContainerBalancer is Not Running.");
    };
    output::line("ContainerBalancer is Running.")?;
    if !verbose && !args.history {
        return Ok(());
    }
    if let Some(configuration) = &info.configuration {
        for (name, value) in limits(configuration) {
            output::line(format!("{name:<50} {value}"))?;
        }
    }
    let (ended, current): (Vec<&Iteration>, Vec<&Iteration>) =
        info.iterations_status_info.iter().partition(|i| !i.iteration_result().is_empty());
    output::line("\nCurrent iteration info:")?;
    match current.first() {
        Some(iteration) => output::line(text(iteration))?,
        None => output::line("-")?,
    }
    if args.history {
        output::line("\nIteration history list:")?;
        for iteration in ended {
            output::line(text(iteration))?;
        }
    }
    Ok(())
}

fn limits(c: &ContainerBalancerConfigurationProto) -> Vec<(&'static str, String)> {
    let gb = |bytes: i64| format!("{} GB", bytes >> 30);
    let minutes = |ms: i64| format!("{} min", ms / 60_000);
    let list = |list: &str| if list.is_empty() { "None".to_owned() } else { list.to_owned() };
    vec![
        ("Threshold (percent)", c.utilization_threshold().to_owned()),
        (
            "Max Datanodes to Involve per Iteration (percent)",
            c.datanodes_involved_max_percentage_per_iteration().to_string(),
        ),
        ("Max Size to Move per Iteration", gb(c.size_moved_max_per_iteration())),
        ("Max Size Entering Target per Iteration", gb(c.size_entering_target_max())),
        ("Max Size Leaving Source per Iteration", gb(c.size_leaving_source_max())),
        ("Number of Iterations", c.iterations().to_string()),
        ("Time Limit for Single Container's Movement", minutes(c.move_timeout())),
        ("Time Limit for Single Container's Replication", minutes(c.move_replication_timeout())),
        ("Interval between each Iteration", minutes(c.balancing_iteration_interval())),
        ("Whether to Enable Network Topology", c.move_network_topology_enable().to_string()),
        ("Container IDs to Include in Balancing", list(c.include_containers())),
        ("Container IDs to Exclude from Balancing", list(c.exclude_containers())),
        ("Datanodes Specified to be Balanced", list(c.include_datanodes())),
        ("Datanodes Excluded from Balancing", list(c.exclude_datanodes())),
    ]
}

fn text(i: &Iteration) -> String {
    let nodes = |nodes: &[NodeTransferInfoProto]| {
        let one = |n: &NodeTransferInfoProto| format!("{} {} bytes", n.uuid(), n.data_volume());
        nodes.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    let result = if i.iteration_result().is_empty() { "-" } else { i.iteration_result() };
    let lines = [
        ("Iteration number", i.iteration_number().to_string()),
        ("Iteration duration", format!("{} s", i.iteration_duration())),
        ("Iteration result", result.to_owned()),
        ("Size scheduled to move", format!("{} bytes", i.size_scheduled_for_move())),
        ("Moved data size", format!("{} bytes", i.data_size_moved())),
        ("Scheduled to move containers", i.container_moves_scheduled().to_string()),
        ("Already moved containers", i.container_moves_completed().to_string()),
        ("Failed to move containers", i.container_moves_failed().to_string()),
        ("Failed to move containers by timeout", i.container_moves_timeout().to_string()),
        ("Entered data to nodes", nodes(&i.size_entering_nodes)),
        ("Exited data from nodes", nodes(&i.size_leaving_nodes)),
    ];
    let lines = lines.map(|(name, value)| format!("{name:<50} {value}"));
    lines.join("\n")
}

fn as_json(info: &ContainerBalancerStatusInfoProto) -> Value {
    let nodes = |nodes: &[NodeTransferInfoProto]| {
        let one = |n: &NodeTransferInfoProto| (n.uuid().to_owned(), json!(n.data_volume()));
        Value::Object(nodes.iter().map(one).collect())
    };
    let iteration = |i: &Iteration| {
        json!({
            "number": i.iteration_number(),
            "result": i.iteration_result(),
            "seconds": i.iteration_duration(),
            "scheduledBytes": i.size_scheduled_for_move(),
            "movedBytes": i.data_size_moved(),
            "scheduled": i.container_moves_scheduled(),
            "completed": i.container_moves_completed(),
            "failed": i.container_moves_failed(),
            "timedOut": i.container_moves_timeout(),
            "entered": nodes(&i.size_entering_nodes),
            "left": nodes(&i.size_leaving_nodes),
        })
    };
    let configuration = info.configuration.clone().unwrap_or_default();
    let limits: serde_json::Map<String, Value> = limits(&configuration)
        .into_iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    json!({
        "running": true,
        "startedAt": info.started_at(),
        "configuration": limits,
        "iterations": info.iterations_status_info.iter().map(iteration).collect::<Vec<_>>(),
    })
}
