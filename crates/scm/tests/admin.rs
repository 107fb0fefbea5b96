//! The calls behind `o3 admin`.

use framed::Code;
use proto::container_location::*;
use proto::hdds::{EcReplicationConfig, LifeCycleState, ReplicationFactor, ReplicationType};
use testkit::until;
use types::{Pipeline, PipelineState};

use crate::harness::Harness;

#[tokio::test(flavor = "multi_thread")]
async fn nodes_and_their_usage_are_listed() {
    let h = Harness::start().await;
    let nodes = h.datanodes(3).await;
    let listed = h
        .location(Type::QueryNode, |r| r.node_query_request = Some(Default::default()))
        .await
        .node_query_response
        .unwrap()
        .datanodes;
    assert_eq!(listed.len(), 3);
    assert_eq!(listed[0].total_volume_count, Some(1));
    let ask = |uuid: Option<String>, count| {
        h.location(Type::DatanodeUsageInfo, move |r| {
            r.datanode_usage_info_request = Some(DatanodeUsageInfoRequestProto {
                uuid,
                most_used: Some(true),
                count: Some(count),
                ..Default::default()
            });
        })
    };
    let most = ask(None, 2).await.datanode_usage_info_response.unwrap().info;
    assert_eq!(most.len(), 2);
    let one = ask(Some(nodes[0].id.to_string()), 0).await.datanode_usage_info_response.unwrap();
    assert_eq!(one.info.len(), 1);
    assert_eq!(one.info[0].capacity, Some(1 << 40));
    let nobody = ask(Some(uuid::Uuid::nil().to_string()), 0).await;
    assert!(!nobody.success());
    assert!(nobody.message().starts_with("Could not find datanode"));
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pipelines_are_created_closed_and_deactivated() {
    let h = Harness::start().await;
    let _nodes = h.datanodes(3).await;
    let created = h
        .location(Type::AllocatePipeline, |r| {
            r.pipeline_request = Some(PipelineRequestProto {
                replication_type: ReplicationType::Ratis as i32,
                replication_factor: ReplicationFactor::One as i32,
                ..Default::default()
            });
        })
        .await
        .pipeline_response
        .unwrap();
    assert_eq!(created.error_code(), pipeline_response_proto::Error::Success);
    let id = Pipeline::from_wire(&created.pipeline.unwrap()).unwrap().id;
    let state = async || {
        let response = h
            .location(Type::GetPipeline, |r| {
                r.get_pipeline_request =
                    Some(GetPipelineRequestProto { pipeline_id: id.to_wire(), trace_id: None });
            })
            .await;
        let pipeline = response.get_pipeline_response?.pipeline;
        Some(Pipeline::from_wire(&pipeline).unwrap().state)
    };
    until("it is open", async || state().await == Some(PipelineState::Open)).await;
    h.location(Type::DeactivatePipeline, |r| {
        r.deactivate_pipeline_request =
            Some(DeactivatePipelineRequestProto { pipeline_id: id.to_wire(), trace_id: None });
    })
    .await;
    assert_eq!(state().await, Some(PipelineState::Dormant));
    h.location(Type::ActivatePipeline, |r| {
        r.activate_pipeline_request =
            Some(ActivatePipelineRequestProto { pipeline_id: id.to_wire(), trace_id: None });
    })
    .await;
    assert_eq!(state().await, Some(PipelineState::Open));
    h.location(Type::ClosePipeline, |r| {
        r.close_pipeline_request =
            Some(ClosePipelineRequestProto { pipeline_id: id.to_wire(), trace_id: None });
    })
    .await;
    until("it is gone", async || state().await.is_none()).await;
    let gone = h
        .location(Type::GetPipeline, |r| {
            r.get_pipeline_request =
                Some(GetPipelineRequestProto { pipeline_id: id.to_wire(), trace_id: None });
        })
        .await;
    // A client can distinguish it from a failure.
    assert_eq!(gone.status(), scm_container_location_response::Status::ContainerIsMissing);
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn erasure_coded_containers_are_created_each_on_a_pipeline_of_its_own() {
    let h = Harness::start().await;
    let create = async || {
        let request = h.location(Type::AllocateContainer, |r| {
            r.container_request = Some(ContainerRequestProto {
                replication_type: ReplicationType::Ec as i32,
                ec_replication_config: Some(EcReplicationConfig {
                    data: 3,
                    parity: 2,
                    codec: "rs".to_owned(),
                    ec_chunk_size: 1 << 20,
                }),
                owner: "OZONE".to_owned(),
                ..Default::default()
            });
        });
        request.await
    };
    let mut nodes = h.datanodes(4).await;
    let refused = create().await;
    assert!(!refused.success() && refused.message().contains("EC/rs-3-2-1024k"), "{refused:?}");

    nodes.extend(h.datanodes(1).await);
    until("there are enough nodes", async || create().await.success()).await;
    let mut pipelines = Vec::new();
    for _ in 0..2 {
        let created = create().await.container_response.unwrap().container_with_pipeline;
        assert_eq!(created.container_info.state(), LifeCycleState::Open);
        let pipeline = Pipeline::from_wire(&created.pipeline).unwrap();
        let mut indexes = pipeline.replica_indexes.clone();
        indexes.sort_unstable();
        assert_eq!(indexes, [1, 2, 3, 4, 5]);
        pipelines.push(pipeline.id);
    }
    assert_ne!(pipelines[0], pipelines[1]);
    drop(nodes);
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn containers_are_created_listed_and_closed() {
    let h = Harness::start().await;
    let nodes = h.datanodes(3).await;
    let created = h
        .location(Type::AllocateContainer, |r| {
            r.container_request = Some(ContainerRequestProto {
                replication_factor: Some(ReplicationFactor::Three as i32),
                replication_type: ReplicationType::Ratis as i32,
                owner: "OZONE".to_owned(),
                ..Default::default()
            });
        })
        .await
        .container_response
        .unwrap();
    let info = created.container_with_pipeline.container_info;
    assert_eq!((info.state(), info.owner.as_str()), (LifeCycleState::Open, "OZONE"));
    assert_eq!(created.container_with_pipeline.pipeline.members.len(), 3);

    let list = async |start, state: Option<LifeCycleState>| {
        h.location(Type::ListContainer, |r| {
            r.scm_list_container_request = Some(ScmListContainerRequestProto {
                count: 20,
                start_container_id: Some(start),
                state: state.map(|s| s as i32),
                ..Default::default()
            });
        })
        .await
        .scm_list_container_response
        .unwrap()
    };
    let all = list(0, None).await;
    assert_eq!((all.containers.len(), all.container_count), (1, Some(1)));
    assert_eq!(list(info.container_id as u64 + 1, None).await.containers, []);
    assert_eq!(list(0, Some(LifeCycleState::Closed)).await.container_count, Some(0));

    let id = types::ContainerId::from_wire(info.container_id);
    nodes.iter().for_each(|n| n.write(id, 4, 1_000));
    let close = async || {
        h.location(Type::CloseContainer, |r| {
            r.scm_close_container_request = Some(ScmCloseContainerRequestProto {
                container_id: info.container_id,
                trace_id: None,
            });
        })
        .await
        .scm_close_container_response
        .unwrap()
        .status()
    };
    use scm_close_container_response_proto::Status;
    assert_eq!(close().await, Status::Ok);
    until("it is closed", async || close().await == Status::ContainerAlreadyClosed).await;
    let replicas = async |with_history| {
        h.location(Type::GetContainerReplicas, |r| {
            r.get_container_replicas_request = Some(GetContainerReplicasRequestProto {
                container_id: info.container_id,
                trace_id: None,
                with_history,
            });
        })
        .await
        .get_container_replicas_response
        .unwrap()
    };
    let texts: Vec<String> =
        replicas(Some(true)).await.event.into_iter().map(|event| event.text).collect();
    assert!(texts.first().unwrap().starts_with("created in pipeline "), "{texts:?}");
    assert!(texts.iter().any(|text| text == "is CLOSED"), "{texts:?}");
    let ordered = |text: &String| text.ends_with(" to close its replica: CLOSING");
    assert!(texts.iter().any(ordered), "{texts:?}");
    let replicas = replicas(None).await;
    assert!(replicas.event.is_empty(), "nobody asked for it");
    let replicas = replicas.container_replica;
    assert_eq!(replicas.len(), 3);
    assert!(replicas.iter().all(|r| r.key_count == 4));
    let report = h
        .location(Type::GetReplicationManagerReport, |r| {
            r.replication_manager_report_request = Some(Default::default());
        })
        .await;
    let report = report.get_replication_manager_report_response.unwrap().report;
    let closed = report.stat.iter().find(|s| s.key == "CLOSED").unwrap();
    assert_eq!(closed.value, Some(1));
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_and_what_is_not_offered_are_told_apart() {
    let h = Harness::start().await;
    let missing = h
        .location(Type::GetContainer, |r| {
            r.get_container_request =
                Some(GetContainerRequestProto { container_id: 999, trace_id: None });
        })
        .await;
    assert!(!missing.success());
    assert_eq!(missing.message(), "Container #999 not found");
    assert_eq!(missing.status(), scm_container_location_response::Status::ContainerIsMissing);

    let request = ScmContainerLocationRequest {
        cmd_type: Type::GetContainerToken as i32,
        ..Default::default()
    };
    let refused = framed::message::call::<_, ScmContainerLocationResponse>(
        &h.client,
        proto::method::SCM_CONTAINER_LOCATION,
        &request,
        testkit::LIMIT,
    )
    .await
    .unwrap_err();
    assert_eq!(refused.code(), Some(Code::Unimplemented));
    assert!(refused.to_string().contains("GetContainerToken is not supported"), "{refused}");
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn safe_mode_is_told_rule_by_rule_and_can_be_left() {
    let h = Harness::start().await;
    let in_safe_mode = async || {
        let response = h
            .location(Type::InSafeMode, |r| r.in_safe_mode_request = Some(Default::default()))
            .await;
        response.in_safe_mode_response.unwrap().in_safe_mode
    };
    assert!(in_safe_mode().await);
    let rules = h
        .location(Type::GetSafeModeRuleStatuses, |r| {
            r.get_safe_mode_rule_statuses_request = Some(Default::default());
        })
        .await;
    let rules = rules.get_safe_mode_rule_statuses_response.unwrap().safe_mode_rule_statuses_proto;
    assert_eq!(rules.len(), 6);
    assert_eq!(rules[0].status_text, "registered datanodes (=0) >= required datanodes (=1)");
    h.location(Type::ForceExitSafeMode, |r| {
        r.force_exit_safe_mode_request = Some(Default::default());
    })
    .await;
    assert!(!in_safe_mode().await);
    let info = h
        .location(Type::GetScmInfo, |r| r.get_scm_info_request = Some(Default::default()))
        .await
        .get_scm_info_response
        .unwrap();
    assert_eq!(info.cluster_id, h.scm.cluster_id());
    assert!(info.peer_roles[0].contains(":LEADER:"), "{:?}", info.peer_roles);
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_page_and_metrics_are_served() {
    let h = Harness::start().await;
    let _nodes = h.datanodes(3).await;
    let page = h.http_get("/").await;
    assert!(page.contains("DataNodeSafeModeRule") && page.contains("RATIS/THREE"), "{page}");
    let metrics = h.http_get("/metrics").await;
    assert!(metrics.contains("scm_datanodes{health=\"healthy\"} 3"), "{metrics}");
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_replication_manager_can_be_stopped_and_started() {
    let h = Harness::start().await;
    let running = async || {
        let answer = h.location(Type::GetReplicationManagerStatus, |_| ()).await;
        answer.replication_manager_status_response.unwrap().is_running
    };
    assert!(running().await);
    h.location(Type::StopReplicationManager, |_| ()).await;
    assert!(!running().await);
    h.location(Type::StartReplicationManager, |_| ()).await;
    assert!(running().await);
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_host_is_refused_by_name() {
    let h = Harness::start().await;
    let _nodes = h.datanodes(1).await;
    let listed =
        h.location(Type::QueryNode, |r| r.node_query_request = Some(Default::default())).await;
    let known = listed.node_query_response.unwrap().datanodes[0].node_id.host_name.clone();
    let hosts = vec![known, "nowhere.example".to_owned()];
    let body = DecommissionNodesRequestProto { hosts, ..Default::default() };
    let fill = |r: &mut ScmContainerLocationRequest| r.decommission_nodes_request = Some(body);
    let refused = h.location(Type::DecommissionNodes, fill).await.decommission_nodes_response;
    let errors: Vec<_> =
        refused.unwrap().failed_hosts.into_iter().map(|f| (f.host, f.error)).collect();
    assert_eq!(errors.len(), 1, "the other one is taken");
    assert_eq!(errors[0].1, "nowhere.example: Name or service not known");
    h.scm.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_balancer_is_started_and_stopped_and_refuses_nodes_that_are_not_known() {
    let h = Harness::start().await;
    let _nodes = h.datanodes(1).await;
    let start = async |exclude: Option<&str>| {
        let body = StartContainerBalancerRequestProto {
            exclude_nodes: exclude.map(str::to_owned),
            ..Default::default()
        };
        let fill = |r: &mut ScmContainerLocationRequest| {
            r.start_container_balancer_request = Some(body);
        };
        let response = h.location(Type::StartContainerBalancer, fill).await;
        response.start_container_balancer_response.unwrap()
    };
    let running = async || {
        let status = h.location(Type::GetContainerBalancerStatus, |_| ()).await;
        status.container_balancer_status_response.unwrap().is_running
    };
    // Without it no iteration begins, and the run does not end.
    h.location(Type::StopReplicationManager, |_| ()).await;
    let refused = start(Some("nowhere.example")).await;
    assert!(!refused.start);
    assert!(refused.message().contains("'nowhere.example' does not exist"), "{refused:?}");
    assert!(!running().await);
    assert!(start(None).await.start);
    assert!(running().await);
    h.location(Type::StopContainerBalancer, |_| ()).await;
    assert!(!running().await);
    h.scm.shutdown().await;
}

/// As in Ozone, changes and some reads need an administrator, other reads a read-only
/// administrator; commands that clients need are open to all users.
#[tokio::test(flavor = "multi_thread")]
async fn users_have_the_rights_of_administrators_where_acls_are_on() {
    let h = Harness::start_with(|conf| {
        conf.with("ozone.acl.enabled", true)
            .with("ozone.administrators", "ann")
            .with("ozone.readonly.administrators", "reader")
    })
    .await;
    let ask = async |kind, user: Option<&str>| {
        let fill = |r: &mut ScmContainerLocationRequest| {
            r.user = user.map(str::to_owned);
            r.datanode_usage_info_request = Some(DatanodeUsageInfoRequestProto {
                most_used: Some(true),
                count: Some(1),
                ..Default::default()
            });
        };
        let response = h.location(kind, fill).await;
        if response.success() { Ok(()) } else { Err(response.message.unwrap()) }
    };
    for user in [None, Some(""), Some("bob"), Some("reader")] {
        assert!(ask(Type::InSafeMode, user).await.is_ok(), "{user:?}");
        assert!(ask(Type::ListPipelines, user).await.is_ok(), "{user:?}");
        for kind in [Type::ForceExitSafeMode, Type::StopReplicationManager] {
            let told = format!(
                "Access denied for user {}. SCM superuser privilege is required.",
                user.unwrap_or_default()
            );
            assert_eq!(ask(kind, user).await, Err(told), "{kind:?}");
        }
        assert_eq!(ask(Type::DatanodeUsageInfo, user).await.is_ok(), user == Some("reader"));
    }
    let status = async || h.location(Type::InSafeMode, |_| ()).await.in_safe_mode_response.unwrap();
    assert!(status().await.in_safe_mode, "nobody made it leave");
    assert_eq!(ask(Type::DatanodeUsageInfo, Some("ann")).await, Ok(()));
    assert_eq!(ask(Type::ForceExitSafeMode, Some("ann")).await, Ok(()));
    assert!(!status().await.in_safe_mode);
    h.scm.shutdown().await;
}
