//! Safe mode ends when nodes and containers have reported.

use placement::{Change, Cluster, ReplicaState, Settings};

use proto::hdds::LifeCycleState;

use crate::fixture::*;

fn rule(cluster: &Cluster, name: &str) -> placement::RuleStatus {
    cluster.safe_mode_rules().into_iter().find(|r| r.name == name).unwrap()
}

/// A cluster as it is loaded after a restart: one RATIS/THREE pipeline, container 1 closed with
/// keys.
fn restarted() -> Cluster {
    let (mut before, p) = trio();
    let c = open_container(&mut before, 1, p);
    close(&mut before, c, 5, START);
    open_container(&mut before, 2, p);
    let mut settings =
        Settings { pipeline_limit: 1, create_factor_one: false, ..Settings::default() };
    settings.safe_mode.min_datanodes = 3;
    let mut cluster = Cluster::new(settings);
    for container in before.containers.from(container(0)) {
        cluster.containers.insert(container.clone());
    }
    for entry in before.pipelines.iter() {
        cluster.pipelines.insert((*entry.record).clone());
    }
    cluster.begin_safe_mode();
    cluster.note_state_machine_ready();
    cluster
}

#[test]
fn a_restarted_scm_waits_for_nodes_pipelines_and_containers() {
    let mut cluster = restarted();
    let p = cluster.pipelines.iter().next().unwrap().record.id;
    let texts: Vec<_> =
        cluster.safe_mode_rules().into_iter().map(|r| (r.name, r.holds, r.text)).collect();
    let expected = [
        ("DataNodeSafeModeRule", false, "registered datanodes (=0) >= required datanodes (=3)"),
        (
            "RatisContainerSafeModeRule",
            false,
            "0.00% of [RATIS] Containers(0 / 1) with at least N reported replica (=0.00) >= safeModeCutoff (=0.99)",
        ),
        (
            "ECContainerSafeModeRule",
            true,
            "100.00% of [EC] Containers(0 / 0) with at least N reported replica (=1.00) >= safeModeCutoff (=0.99)",
        ),
        (
            "HealthyPipelineSafeModeRule",
            false,
            "healthy Ratis/THREE pipelines (=0) >= healthyPipelineThresholdCount (=1)",
        ),
        (
            "OneReplicaPipelineSafeModeRule",
            false,
            "reported Ratis/THREE pipelines with at least one datanode (=0) >= threshold (=1)",
        ),
        ("StateMachineReadyRule", true, "Refreshed SCM State Machine after leader ready: true"),
    ];
    assert_eq!(texts, expected.map(|(n, h, t)| (n, h, t.to_owned())));

    for n in 1..=3 {
        assert!(!cluster.try_leave_safe_mode());
        register(&mut cluster, n, &[p], START);
        cluster.report_pipelines(node(n), &[(p, n == 1)]);
    }
    assert!(!cluster.try_leave_safe_mode(), "no replica of container 1 yet");
    report(&mut cluster, container(1), replica(2, ReplicaState::Closed, 5, 5), START);
    assert!(cluster.try_leave_safe_mode());
    assert!(!cluster.try_leave_safe_mode(), "told once");
    assert!(!cluster.safe_mode.is_on());
}

#[test]
fn a_fresh_cluster_waits_for_its_first_node_only() {
    let mut cluster = Cluster::new(Settings::default());
    cluster.begin_safe_mode();
    cluster.note_state_machine_ready();
    assert!(!cluster.try_leave_safe_mode());
    register(&mut cluster, 1, &[], START);
    assert!(cluster.try_leave_safe_mode());
}

#[test]
fn it_is_never_entered_again() {
    let mut cluster = Cluster::new(Settings::default());
    cluster.begin_safe_mode();
    cluster.note_state_machine_ready();
    register(&mut cluster, 1, &[], START);
    assert!(cluster.try_leave_safe_mode());
    cluster.watch_nodes(START + cluster.settings.dead_after);
    assert!(!cluster.safe_mode.is_on());
}

#[test]
fn an_operator_may_leave_it_early() {
    let mut cluster = restarted();
    assert!(cluster.force_leave_safe_mode());
    assert!(!cluster.safe_mode.is_on());
    assert!(!cluster.force_leave_safe_mode());
    assert!(!rule(&cluster, "DataNodeSafeModeRule").holds);
}

#[test]
fn a_pipeline_closed_meanwhile_is_not_waited_for() {
    let mut cluster = restarted();
    let id = cluster.pipelines.iter().next().unwrap().record.id;
    cluster.apply(&Change::ClosePipeline { id, now: START }).unwrap();
    cluster.apply(&Change::RemovePipeline(id)).unwrap();
    assert!(rule(&cluster, "OneReplicaPipelineSafeModeRule").holds);
}

#[test]
fn what_is_waited_for_is_counted_anew_when_another_scm_leads() {
    let mut cluster = restarted();
    let ratis = |cluster: &Cluster| rule(cluster, "RatisContainerSafeModeRule").text;
    assert!(ratis(&cluster).contains("Containers(0 / 1)"), "{}", ratis(&cluster));
    // Closed, and reported, while this SCM followed.
    let pipeline = cluster.pipelines.iter().next().unwrap().record.id;
    let later = open_container(&mut cluster, 3, pipeline);
    close(&mut cluster, later, 5, START);
    assert!(ratis(&cluster).contains("Containers(0 / 1)"), "{}", ratis(&cluster));
    cluster.note_state_machine_ready();
    assert!(ratis(&cluster).contains("Containers(1 / 2)"), "{}", ratis(&cluster));
    assert!(!rule(&cluster, "RatisContainerSafeModeRule").holds);
    assert!(rule(&cluster, "StateMachineReadyRule").holds);
}

#[test]
fn an_erasure_coded_container_needs_as_many_replicas_as_it_has_data_parts() {
    let mut cluster = Cluster::new(Settings::default());
    let config = types::ReplicationConfig::Ec(types::EcConfig {
        data: 3,
        parity: 2,
        codec: types::EcCodec::Rs,
        chunk_size: 1 << 20,
    });
    let (id, state) = (container(1), LifeCycleState::Closed);
    cluster.containers.insert(placement::Container {
        id,
        state,
        pipeline: None,
        config,
        storage_type: types::StorageType::default(),
        owner: OWNER.into(),
        used_bytes: 1,
        keys: 1,
        state_enter_ms: START,
        sequence_id: 0,
        delete_transaction: 0,
        suppressed: false,
        evidence: Default::default(),
    });
    cluster.begin_safe_mode();
    let part = |n: u128, index: u32| placement::Replica {
        replica_index: index,
        ..replica(n, ReplicaState::Closed, 1, 0)
    };
    // The third has a known index, the others have invalid ones.
    for (n, index) in [(1, 1), (2, 2), (3, 2), (6, 0), (7, 6)] {
        report(&mut cluster, id, part(n, index), START);
        assert!(!rule(&cluster, "ECContainerSafeModeRule").holds);
    }
    report(&mut cluster, id, part(4, 5), START);
    let rule = rule(&cluster, "ECContainerSafeModeRule");
    assert!(rule.holds);
    assert!(rule.text.starts_with("100.00% of [EC] Containers(1 / 1) "), "{}", rule.text);
}
