//! The check of states: of the replica on its DataNode, of the container in SCM, and of the replica
//! count.

use std::collections::BTreeMap;

use client::{Error, ReplicatedBlock, ScmClient};
use futures::future::join_all;
use proto::datanode::Result as ResultCode;
use proto::datanode::container_data_proto::State;
use proto::hdds::{LifeCycleState, ScmContainerReplicaProto};
use types::{ContainerId, ReplicationConfig};

use super::outcome::Outcome;

/// State of containers in SCM, cached after one request each.
pub(super) struct ContainerStates {
    scm: ScmClient,
    /// Maximum number of cached containers.
    most: usize,
    known: BTreeMap<ContainerId, Known>,
}

/// State of a container in SCM.
#[derive(Debug, Clone)]
struct Known {
    state: LifeCycleState,
    /// Actual and expected number of replicas, in the format of Ozone's tool.
    replication: Replication,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Replication {
    Healthy,
    Otherwise(String),
}

impl ContainerStates {
    pub(super) fn new(scm: ScmClient, most: usize) -> Self {
        Self { scm, most, known: BTreeMap::new() }
    }

    /// Checks all replicas of a block.
    pub(super) async fn check(&mut self, block: &ReplicatedBlock) -> Vec<Outcome> {
        let known = match self.look_up(block.id.container, block.config).await {
            Ok(known) => known,
            Err(e) => return vec![Outcome::incomplete(e.to_string()); block.replicas.len()],
        };
        let answers = join_all(block.replicas.iter().map(|replica| replica.container())).await;
        answers
            .into_iter()
            .map(|answer| match answer {
                Ok(data) => known.judge(data.state()),
                Err(e @ Error::Container { result: ResultCode::ContainerNotFound, .. }) => {
                    Outcome::failed(e.to_string())
                }
                Err(e) => Outcome::incomplete(e.to_string()),
            })
            .collect()
    }

    async fn look_up(
        &mut self,
        id: ContainerId,
        config: ReplicationConfig,
    ) -> Result<Known, Error> {
        if let Some(known) = self.known.get(&id) {
            return Ok(known.clone());
        }
        let state = self.scm.container(id).await?.container_info.state();
        let replicas = self.scm.replicas(id).await?;
        let known = Known { state, replication: replication(config, &replicas) };
        // Keys are listed in the order of their names, which is not that of their containers: any
        // entry may be evicted.
        if self.known.len() >= self.most {
            self.known.pop_first();
        }
        self.known.insert(id, known.clone());
        Ok(known)
    }
}

/// Compares the number of replicas with the replication; of a block group, one of each index.
fn replication(config: ReplicationConfig, replicas: &[ScmContainerReplicaProto]) -> Replication {
    let required = config.required_nodes() as usize;
    let healthy: Vec<_> = replicas.iter().filter(|r| r.state != "UNHEALTHY").collect();
    let mut indexes: Vec<i64> = healthy.iter().map(|r| r.replica_index()).collect();
    indexes.sort_unstable();
    indexes.dedup();
    let distinct = if config.is_ec() { indexes.len() } else { healthy.len() };
    let status = match (distinct, healthy.len()) {
        (_, 0) => return Replication::Otherwise("UNDER_REPLICATED: no replicas found".to_owned()),
        (distinct, _) if distinct < required => "UNDER_REPLICATED",
        (_, all) if all > required => "OVER_REPLICATED",
        _ => return Replication::Healthy,
    };
    let counted = if distinct < required { distinct } else { healthy.len() };
    Replication::Otherwise(format!("{status}: {counted}/{required} healthy replicas"))
}

impl Known {
    fn judge(&self, replica: State) -> Outcome {
        let replica_is_good =
            matches!(replica, State::Open | State::Closing | State::QuasiClosed | State::Closed);
        let container_is_good = matches!(
            self.state,
            LifeCycleState::Open
                | LifeCycleState::Closing
                | LifeCycleState::QuasiClosed
                | LifeCycleState::Closed
        );
        let (good, replication) = match &self.replication {
            Replication::Healthy => (true, "HEALTHY"),
            Replication::Otherwise(words) => (false, words.as_str()),
        };
        if good && replica_is_good && container_is_good {
            return Outcome::passed();
        }
        Outcome::failed(format!(
            "Replica state is {}, Container state in SCM is {}, {replication}",
            replica.as_str_name(),
            self.state.as_str_name(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use types::replication::{EcCodec, EcConfig};

    use super::*;

    fn replicas(indexes: &[i64]) -> Vec<ScmContainerReplicaProto> {
        let one = |index: &i64| ScmContainerReplicaProto {
            storage_type: None,
            state: "CLOSED".to_owned(),
            replica_index: Some(*index),
            ..ScmContainerReplicaProto::default()
        };
        indexes.iter().map(one).collect()
    }

    #[test]
    fn replicas_are_counted_and_those_of_block_groups_by_their_indexes() {
        let three = ReplicationConfig::RATIS_THREE;
        let config = EcConfig { data: 3, parity: 2, codec: EcCodec::Rs, chunk_size: 1 << 20 };
        let ec = ReplicationConfig::Ec(config);
        for (config, indexes, words) in [
            (three, &[0, 0, 0][..], ""),
            (three, &[0, 0], "UNDER_REPLICATED: 2/3 healthy replicas"),
            (three, &[0; 4], "OVER_REPLICATED: 4/3 healthy replicas"),
            (three, &[], "UNDER_REPLICATED: no replicas found"),
            (ec, &[5, 4, 3, 2, 1], ""),
            (ec, &[1, 2, 3, 4], "UNDER_REPLICATED: 4/5 healthy replicas"),
            (ec, &[1, 2, 3, 4, 4], "UNDER_REPLICATED: 4/5 healthy replicas"),
            (ec, &[1, 2, 3, 4, 5, 5], "OVER_REPLICATED: 6/5 healthy replicas"),
        ] {
            let expected = match words {
                "" => Replication::Healthy,
                words => Replication::Otherwise(words.to_owned()),
            };
            assert_eq!(replication(config, &replicas(indexes)), expected, "{config} {indexes:?}");
        }
        let mut two = replicas(&[0, 0, 0]);
        two[1].state = "UNHEALTHY".to_owned();
        let expected = Replication::Otherwise("UNDER_REPLICATED: 2/3 healthy replicas".to_owned());
        assert_eq!(replication(three, &two), expected);
    }

    #[test]
    fn only_good_states_of_both_pass() {
        let known = |state| Known { state, replication: Replication::Healthy };
        assert_eq!(known(LifeCycleState::Closed).judge(State::Closed), Outcome::passed());
        let expected =
            "Replica state is UNHEALTHY, Container state in SCM is QUASI_CLOSED, HEALTHY";
        let judged = known(LifeCycleState::QuasiClosed).judge(State::Unhealthy);
        assert_eq!(judged, Outcome::failed(expected));
        let judged = known(LifeCycleState::Deleted).judge(State::Open);
        assert!(!judged.failures.is_empty());
    }
}
