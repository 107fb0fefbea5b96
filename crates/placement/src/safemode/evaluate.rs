//! The rules, with Ozone's names and texts.

use super::{Awaited, SafeMode};
use crate::settings::{SafeModeSettings, whole};
use crate::state::nodes::Nodes;
use crate::state::pipeline::Pipelines;

/// Members of a RATIS/THREE pipeline.
const MEMBERS: u32 = 3;

/// A rule, and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleStatus {
    /// Ozone's name of the rule.
    pub name: &'static str,
    /// True if it is satisfied.
    pub holds: bool,
    /// The figures.
    pub text: String,
}

/// State that the rules read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules<'a> {
    pub settings: &'a SafeModeSettings,
    pub nodes: &'a Nodes,
    pub pipelines: &'a Pipelines,
    pub safe_mode: &'a SafeMode,
}

impl Rules<'_> {
    /// All rules. They are evaluated outside safe mode too, for callers that ask.
    pub fn all(&self) -> Vec<RuleStatus> {
        vec![
            self.datanode_rule(),
            self.container_rule("RatisContainerSafeModeRule", "RATIS", &self.safe_mode.containers),
            self.container_rule("ECContainerSafeModeRule", "EC", &self.safe_mode.ec_containers),
            self.healthy_pipeline_rule(),
            self.one_replica_pipeline_rule(),
            self.state_machine_rule(),
        ]
    }

    fn datanode_rule(&self) -> RuleStatus {
        let (registered, required) = (self.nodes.len(), self.settings.min_datanodes as usize);
        RuleStatus {
            name: "DataNodeSafeModeRule",
            holds: registered >= required,
            text: format!(
                "registered datanodes (={registered}) >= required datanodes (={required})"
            ),
        }
    }

    /// Returns `true` if safe mode still waits for DataNodes.
    pub fn more_nodes_are_coming(&self) -> bool {
        self.safe_mode.is_on() && !self.datanode_rule().holds
    }

    fn container_rule(&self, name: &'static str, kind: &str, awaited: &Awaited) -> RuleStatus {
        let cutoff = self.settings.container_share;
        let (total, reported, share) = (awaited.total, awaited.reported(), awaited.share());
        RuleStatus {
            name,
            holds: share >= cutoff,
            text: format!(
                "{:.2}% of [{kind}] Containers({reported} / {total}) with at least N reported replica (={share:.2}) \
                 >= safeModeCutoff (={cutoff:.2})",
                share * 100.0
            ),
        }
    }

    fn healthy_pipeline_rule(&self) -> RuleStatus {
        let loaded = &self.safe_mode.pipelines;
        let by_share = (self.settings.healthy_pipeline_share * loaded.len() as f64).ceil();
        // A fresh cluster has none to wait for but those that its DataNodes can form.
        let by_nodes = self.settings.min_datanodes / MEMBERS;
        let required = whole(by_share).max(by_nodes as usize);
        let config = types::ReplicationConfig::RATIS_THREE;
        let healthy = self.pipelines.open(config).filter(|id| {
            self.pipelines.get(*id).is_some_and(|e| {
                e.reported.len() >= e.record.members.len()
                    && e.record.members.iter().all(|m| self.nodes.is_healthy(m.id))
            })
        });
        let healthy = healthy.count();
        RuleStatus {
            name: "HealthyPipelineSafeModeRule",
            holds: healthy >= required,
            text: format!(
                "healthy Ratis/THREE pipelines (={healthy}) >= healthyPipelineThresholdCount (={required})"
            ),
        }
    }

    fn one_replica_pipeline_rule(&self) -> RuleStatus {
        let loaded = &self.safe_mode.pipelines;
        let share = self.settings.reported_pipeline_share;
        let required = whole((share * loaded.len() as f64).ceil());
        // A pipeline that was closed meanwhile is not required.
        let reported = loaded
            .iter()
            .filter(|id| self.pipelines.get(**id).is_none_or(|e| !e.reported.is_empty()));
        let reported = reported.count();
        RuleStatus {
            name: "OneReplicaPipelineSafeModeRule",
            holds: reported >= required,
            text: format!(
                "reported Ratis/THREE pipelines with at least one datanode (={reported}) >= threshold (={required})"
            ),
        }
    }

    fn state_machine_rule(&self) -> RuleStatus {
        let holds = self.safe_mode.ready;
        RuleStatus {
            name: "StateMachineReadyRule",
            holds,
            text: format!("Refreshed SCM State Machine after leader ready: {holds}"),
        }
    }
}
