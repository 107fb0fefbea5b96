//! `o3 admin datanode diskbalancer start|stop|update`.

use clap::Args;
use config::Configuration;
use prost::Message;
use proto::disk_balancer::{
    DiskBalancerConfigurationProto, StartDiskBalancerRequestProto, StartDiskBalancerResponseProto,
    StopDiskBalancerRequestProto, StopDiskBalancerResponseProto,
    UpdateDiskBalancerConfigurationRequestProto, UpdateDiskBalancerConfigurationResponseProto,
};
use serde_json::{Map, Value, json};

use super::targets::{Outcome, Targets, conclude, failure, warn_of_failures};
use crate::{ShellError, output};

/// Parameters of the disk balancer.
#[derive(Debug, Clone, Args)]
struct Parameters {
    /// Maximum difference between the utilization of a disk and that of all disks of its DataNode,
    /// in percent: more than 0, less than 100.
    #[arg(short = 't', long, value_name = "PERCENT")]
    threshold_percentage: Option<f64>,
    /// Maximum MB per second to move.
    #[arg(short = 'b', long, value_name = "MB")]
    bandwidth_in_mb: Option<u64>,
    /// Number of containers to move in parallel.
    #[arg(short = 'p', long, value_name = "N")]
    parallel_thread: Option<i32>,
    /// Stop when the disks are even: true or false.
    #[arg(short = 's', long, value_name = "BOOL")]
    stop_after_disk_even: Option<bool>,
    /// States of containers to move: CLOSED, QUASI_CLOSED or both, separated by a comma.
    #[arg(short = 'c', long, value_name = "STATES")]
    container_states: Option<String>,
}

impl Parameters {
    fn named(&self) -> DiskBalancerConfigurationProto {
        DiskBalancerConfigurationProto {
            threshold: self.threshold_percentage,
            disk_bandwidth_in_mb: self.bandwidth_in_mb,
            parallel_thread: self.parallel_thread,
            stop_after_disk_even: self.stop_after_disk_even,
            container_states: self.container_states.clone(),
        }
    }

    /// The given parameters, under Ozone's names.
    fn json(&self) -> Map<String, Value> {
        let mut named = Map::new();
        let mut put = |name: &str, value: Option<Value>| {
            named.extend(value.map(|value| (name.to_owned(), value)));
        };
        put("threshold", self.threshold_percentage.map(Value::from));
        put("bandwidthInMB", self.bandwidth_in_mb.map(Value::from));
        put("parallelThread", self.parallel_thread.map(Value::from));
        put("stopAfterDiskEven", self.stop_after_disk_even.map(Value::from));
        put("containerStates", self.container_states.clone().map(Value::from));
        named
    }
}

/// Start the disk balancers of DataNodes, which move closed containers from full to emptier disks
/// of the same DataNode. Parameters that are not given are unchanged.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 admin datanode diskbalancer start dn1 -t 5 -b 20\n  \
    o3 admin datanode diskbalancer start --in-service-datanodes")]
pub struct Start {
    #[command(flatten)]
    targets: Targets,
    #[command(flatten)]
    parameters: Parameters,
}

/// Stop the disk balancers of DataNodes. Moves in progress are cancelled.
#[derive(Debug, Clone, Args)]
pub struct Stop {
    #[command(flatten)]
    targets: Targets,
}

/// Change the parameters of the disk balancers of DataNodes.
#[derive(Debug, Clone, Args)]
pub struct Update {
    #[command(flatten)]
    targets: Targets,
    #[command(flatten)]
    parameters: Parameters,
}

/// Runs `start`.
pub(super) async fn start(args: Start, conf: &Configuration) -> Result<(), ShellError> {
    let named = args.parameters.json();
    let config = (!named.is_empty()).then(|| args.parameters.named());
    let request = StartDiskBalancerRequestProto { config };
    let done: Vec<Outcome<StartDiskBalancerResponseProto>> =
        args.targets.call(conf, "startDiskBalancer", &request).await?;
    let words = Words { action: "start", done: "Started DiskBalancer", what: "start DiskBalancer" };
    words.print(&args.targets, &named, &done)
}

/// Runs `stop`.
pub(super) async fn stop(args: Stop, conf: &Configuration) -> Result<(), ShellError> {
    let done: Vec<Outcome<StopDiskBalancerResponseProto>> =
        args.targets.call(conf, "stopDiskBalancer", &StopDiskBalancerRequestProto {}).await?;
    let words = Words { action: "stop", done: "Stopped DiskBalancer", what: "stop DiskBalancer" };
    words.print(&args.targets, &Map::new(), &done)
}

/// Runs `update`.
pub(super) async fn update(args: Update, conf: &Configuration) -> Result<(), ShellError> {
    let named = args.parameters.json();
    if named.is_empty() {
        return Err(ShellError::Usage("nothing to change is named: -t, -b, -p, -s or -c".into()));
    }
    let request = UpdateDiskBalancerConfigurationRequestProto { config: args.parameters.named() };
    let method = "updateDiskBalancerConfiguration";
    let done: Vec<Outcome<UpdateDiskBalancerConfigurationResponseProto>> =
        args.targets.call(conf, method, &request).await?;
    let words = Words {
        action: "update",
        done: "Updated DiskBalancer configuration",
        what: "update DiskBalancer configuration",
    };
    words.print(&args.targets, &named, &done)
}

/// The texts of a verb.
struct Words {
    action: &'static str,
    done: &'static str,
    what: &'static str,
}

impl Words {
    fn print<A: Message>(
        &self,
        targets: &Targets,
        named: &Map<String, Value>,
        outcomes: &[Outcome<A>],
    ) -> Result<(), ShellError> {
        if targets.json {
            let list: Vec<Value> = outcomes.iter().map(|one| self.json(named, one)).collect();
            output::value(&list.into())?;
            return conclude(outcomes, &format!("{} on", self.what));
        }
        warn_of_failures(outcomes);
        let done: Vec<_> = outcomes.iter().filter(|outcome| outcome.result.is_ok()).collect();
        if targets.are_all() && done.len() == outcomes.len() {
            output::line(format!("{} on all IN_SERVICE and HEALTHY nodes.", self.done))?;
        } else if !done.is_empty() {
            let names: Vec<_> = done.iter().map(|outcome| &*outcome.target.name).collect();
            output::line(format!("{} on nodes: [{}]", self.done, names.join(", ")))?;
        }
        conclude(outcomes, &format!("{} on", self.what))
    }

    fn json<A>(&self, named: &Map<String, Value>, outcome: &Outcome<A>) -> Value {
        let Outcome { target, result } = outcome;
        let mut value = match result {
            Ok(_) => {
                json!({ "datanode": target.name, "action": self.action, "status": "success" })
            }
            Err(error) => failure(target, self.action, error),
        };
        if !named.is_empty() {
            value["configuration"] = named.clone().into();
        }
        value
    }
}
