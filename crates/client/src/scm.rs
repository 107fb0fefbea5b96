//! Administration through SCM: nodes, pipelines, containers, safe mode.

use bytes::Bytes;
use config::Configuration;
use futures::future::BoxFuture;
use prost::Message;
use proto::container_location as cl;
use proto::container_location::scm_container_location_response::Status;
use proto::container_location::{ScmContainerLocationRequest, ScmContainerLocationResponse, Type};
use proto::hdds;
use types::{ContainerId, DatanodeId, PipelineId, ReplicationConfig};

use crate::om::transport::Transport;
use crate::{ClientOptions, Error, ErrorKind, Result};

/// A client of SCM's client endpoint. Clones share connections.
#[derive(Clone)]
pub struct ScmClient {
    transport: Transport,
    user: String,
}

/// Filter of a listing of containers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListContainers {
    /// First container id.
    pub start: ContainerId,
    /// Maximum number of containers.
    pub count: u32,
    /// Only containers in this state.
    pub state: Option<hdds::LifeCycleState>,
    /// Only containers with this replication.
    pub replication: Option<ReplicationConfig>,
}

impl ScmClient {
    /// A client of the cluster in `conf`.
    pub fn connect(conf: &Configuration) -> Self {
        Self::new(&ClientOptions::from_configuration(conf))
    }

    /// A client with these options.
    pub fn new(options: &ClientOptions) -> Self {
        let transport = Transport::scm(&options.scm_addresses, options.retry_policy());
        Self { transport, user: options.user.clone() }
    }

    /// Sends any request, as the client's user; a response that is not `OK` is an error.
    ///
    /// # Errors
    /// SCM's error, or a failure to reach it.
    pub fn submit<'a>(
        &'a self,
        request: &'a ScmContainerLocationRequest,
    ) -> BoxFuture<'a, Result<ScmContainerLocationResponse>> {
        Box::pin(async move {
            let user = Some(self.user.clone());
            let request = ScmContainerLocationRequest { user, ..request.clone() };
            let answer = self.transport.call(Bytes::from(request.encode_to_vec())).await?;
            let response = ScmContainerLocationResponse::decode(answer.bytes)
                .map_err(|e| Error::protocol("scm", e.to_string()))?;
            let kind = match Status::try_from(response.status) {
                Ok(Status::Ok) if response.success() => return Ok(response),
                Ok(Status::ContainerAlreadyExists) => ErrorKind::AlreadyExists,
                Ok(Status::ContainerIsMissing) => ErrorKind::NotFound,
                Ok(Status::ScmNotLeader) => ErrorKind::Unavailable,
                _ => ErrorKind::Internal,
            };
            Err(Error::Scm { kind, message: response.message.unwrap_or_default() })
        })
    }

    /// Cluster id, SCM id and the roles of the SCMs.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn scm_info(&self) -> BoxFuture<'_, Result<hdds::GetScmInfoResponseProto>> {
        Box::pin(async move {
            let mut request = request(Type::GetScmInfo);
            request.get_scm_info_request = Some(Default::default());
            part(self.submit(&request).await?.get_scm_info_response, "getScmInfoResponse")
        })
    }

    /// Transfers leadership to the SCM with this id, or to any follower if `None`.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn transfer_leadership<'a>(&'a self, to: Option<&'a str>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let mut request = request(Type::TransferLeadership);
            let new_leader_id = to.unwrap_or_default().to_owned();
            request.transfer_scm_leadership_request =
                Some(hdds::TransferLeadershipRequestProto { new_leader_id });
            self.submit(&request).await.map(drop)
        })
    }

    /// Removes an SCM from the service, by its id or node id; returns the reason if it was not
    /// removed.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn decommission_scm<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<String>>> {
        Box::pin(async move {
            let mut request = request(Type::DecommissionScm);
            request.decommission_scm_request =
                Some(cl::DecommissionScmRequestProto { scm_id: id.to_owned() });
            let answer = self.submit(&request).await?.decommission_scm_response.unwrap_or_default();
            Ok((!answer.success).then(|| answer.error_msg.unwrap_or_default()))
        })
    }

    /// The DataNodes in a state; all if `None`.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn nodes(
        &self,
        state: Option<hdds::NodeState>,
        op_state: Option<hdds::NodeOperationalState>,
    ) -> BoxFuture<'_, Result<Vec<hdds::Node>>> {
        Box::pin(async move {
            let mut request = request(Type::QueryNode);
            request.node_query_request = Some(cl::NodeQueryRequestProto {
                state: state.map(|s| s as i32),
                scope: hdds::QueryScope::Cluster as i32,
                op_state: op_state.map(|s| s as i32),
                ..Default::default()
            });
            let reply = self.submit(&request).await?.node_query_response;
            Ok(part(reply, "nodeQueryResponse")?.datanodes)
        })
    }

    /// One DataNode.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn node(&self, id: DatanodeId) -> BoxFuture<'_, Result<Option<hdds::Node>>> {
        Box::pin(async move {
            let mut request = request(Type::SingleNodeQuery);
            let uuid = types::ids::uuid_to_wire(id.0);
            request.single_node_query_request = Some(cl::SingleNodeQueryRequestProto { uuid });
            let reply = self.submit(&request).await?.single_node_query_response;
            Ok(part(reply, "singleNodeQueryResponse")?.datanode)
        })
    }

    /// Space and containers of the most or least used DataNodes.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn usage(
        &self,
        most_used: bool,
        count: u32,
    ) -> BoxFuture<'_, Result<Vec<hdds::DatanodeUsageInfoProto>>> {
        Box::pin(async move {
            self.usage_of(cl::DatanodeUsageInfoRequestProto {
                most_used: Some(most_used),
                count: Some(count),
                ..Default::default()
            })
            .await
        })
    }

    /// Space and containers of one DataNode.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn usage_of_node(
        &self,
        id: DatanodeId,
    ) -> BoxFuture<'_, Result<Vec<hdds::DatanodeUsageInfoProto>>> {
        Box::pin(async move {
            self.usage_of(cl::DatanodeUsageInfoRequestProto {
                uuid: Some(id.to_string()),
                ..Default::default()
            })
            .await
        })
    }

    async fn usage_of(
        &self,
        query: cl::DatanodeUsageInfoRequestProto,
    ) -> Result<Vec<hdds::DatanodeUsageInfoProto>> {
        let mut request = request(Type::DatanodeUsageInfo);
        request.datanode_usage_info_request = Some(query);
        let reply = self.submit(&request).await?.datanode_usage_info_response;
        Ok(part(reply, "DatanodeUsageInfoResponse")?.info)
    }

    /// All pipelines.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn pipelines(&self) -> BoxFuture<'_, Result<Vec<hdds::Pipeline>>> {
        Box::pin(async move {
            let mut request = request(Type::ListPipelines);
            request.list_pipeline_request = Some(Default::default());
            let reply = self.submit(&request).await?.list_pipeline_response;
            Ok(part(reply, "listPipelineResponse")?.pipelines)
        })
    }

    /// One pipeline.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn pipeline(&self, id: PipelineId) -> BoxFuture<'_, Result<hdds::Pipeline>> {
        Box::pin(async move {
            let mut request = request(Type::GetPipeline);
            request.get_pipeline_request =
                Some(cl::GetPipelineRequestProto { pipeline_id: id.to_wire(), trace_id: None });
            let reply = self.submit(&request).await?.get_pipeline_response;
            Ok(part(reply, "getPipelineResponse")?.pipeline)
        })
    }

    /// Starts decommissioning DataNodes; returns the rejected ones with the reasons. `force` skips
    /// the check that enough nodes remain. `to` is the destination of their replicas: a host,
    /// `auto` or `any`; by default as in SCM's configuration.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn decommission<'a>(
        &'a self,
        hosts: &'a [String],
        force: bool,
        to: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Vec<cl::DatanodeAdminErrorResponseProto>>> {
        Box::pin(async move {
            let mut request = request(Type::DecommissionNodes);
            let (hosts, to) = (hosts.to_vec(), to.map(str::to_owned));
            let body = cl::DecommissionNodesRequestProto { hosts, force: Some(force), to };
            request.decommission_nodes_request = Some(body);
            let reply = self.submit(&request).await?.decommission_nodes_response;
            Ok(part(reply, "decommissionNodesResponse")?.failed_hosts)
        })
    }

    /// Returns DataNodes to service; returns the rejected ones with the reasons.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn recommission<'a>(
        &'a self,
        hosts: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<cl::DatanodeAdminErrorResponseProto>>> {
        Box::pin(async move {
            let mut request = request(Type::RecommissionNodes);
            let body = cl::RecommissionNodesRequestProto { hosts: hosts.to_vec() };
            request.recommission_nodes_request = Some(body);
            let reply = self.submit(&request).await?.recommission_nodes_response;
            Ok(part(reply, "recommissionNodesResponse")?.failed_hosts)
        })
    }

    /// Puts DataNodes into maintenance mode, for this number of hours if not 0; returns the
    /// rejected ones with the reasons. `force` and `to` are as of [`ScmClient::decommission`].
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn start_maintenance<'a>(
        &'a self,
        hosts: &'a [String],
        hours: u32,
        force: bool,
        to: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Vec<cl::DatanodeAdminErrorResponseProto>>> {
        Box::pin(async move {
            let mut request = request(Type::StartMaintenanceNodes);
            request.start_maintenance_nodes_request = Some(cl::StartMaintenanceNodesRequestProto {
                hosts: hosts.to_vec(),
                end_in_hours: Some(hours.into()),
                force: Some(force),
                to: to.map(str::to_owned),
            });
            let reply = self.submit(&request).await?.start_maintenance_nodes_response;
            Ok(part(reply, "startMaintenanceNodesResponse")?.failed_hosts)
        })
    }

    /// Containers that block the decommissioning or maintenance of a DataNode, by reason.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn containers_of_leaving_node<'a>(
        &'a self,
        node: &'a types::DatanodeDetails,
    ) -> BoxFuture<'a, Result<Vec<(String, Vec<u64>)>>> {
        Box::pin(async move {
            let mut request = request(Type::GetContainersOnDecomNode);
            let body =
                cl::GetContainersOnDecomNodeRequestProto { datanode_details: node.to_wire() };
            request.get_containers_on_decom_node_request = Some(body);
            let reply = self.submit(&request).await?.get_containers_on_decom_node_response;
            let lists = part(reply, "getContainersOnDecomNodeResponse")?.containers_on_decom_node;
            let ids = |ids: Vec<hdds::ContainerId>| ids.iter().map(|id| id.id).collect();
            Ok(lists.into_iter().map(|list| (list.name, ids(list.id))).collect())
        })
    }

    /// SCM's metrics as JSON, in the format of Ozone's `/jmx`, including those of nodes that are
    /// leaving.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn metrics_json(&self) -> BoxFuture<'_, Result<String>> {
        Box::pin(async move {
            let mut request = request(Type::GetMetrics);
            request.get_metrics_request = Some(Default::default());
            let reply = self.submit(&request).await?.get_metrics_response;
            Ok(part(reply, "getMetricsResponse")?.metrics_json.unwrap_or_default())
        })
    }

    /// Starts SCM's replication manager.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn start_replication_manager(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let mut request = request(Type::StartReplicationManager);
            request.start_replication_manager_request = Some(Default::default());
            let reply = self.submit(&request).await?.start_replication_manager_response;
            part(reply, "startReplicationManagerResponse").map(drop)
        })
    }

    /// Stops SCM's replication manager.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn stop_replication_manager(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let mut request = request(Type::StopReplicationManager);
            request.stop_replication_manager_request = Some(Default::default());
            let reply = self.submit(&request).await?.stop_replication_manager_response;
            part(reply, "stopReplicationManagerResponse").map(drop)
        })
    }

    /// Returns `true` if SCM's replication manager runs.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn replication_manager_runs(&self) -> BoxFuture<'_, Result<bool>> {
        Box::pin(async move {
            let mut request = request(Type::GetReplicationManagerStatus);
            request.seplication_manager_status_request = Some(Default::default());
            let reply = self.submit(&request).await?.replication_manager_status_response;
            Ok(part(reply, "replicationManagerStatusResponse")?.is_running)
        })
    }

    /// The replication manager's report: number of containers by state and health, with samples.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn container_report(&self) -> BoxFuture<'_, Result<hdds::ReplicationManagerReportProto>> {
        Box::pin(async move {
            let mut request = request(Type::GetReplicationManagerReport);
            request.replication_manager_report_request = Some(Default::default());
            let reply = self.submit(&request).await?.get_replication_manager_report_response;
            Ok(part(reply, "getReplicationManagerReportResponse")?.report)
        })
    }

    /// Starts the container balancer; the defaults are SCM's configuration. The response states
    /// whether it was started, or the reason.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn start_container_balancer(
        &self,
        start: cl::StartContainerBalancerRequestProto,
    ) -> BoxFuture<'_, Result<cl::StartContainerBalancerResponseProto>> {
        Box::pin(async move {
            let mut request = request(Type::StartContainerBalancer);
            request.start_container_balancer_request = Some(start);
            let reply = self.submit(&request).await?.start_container_balancer_response;
            part(reply, "startContainerBalancerResponse")
        })
    }

    /// Stops the container balancer: no further moves are started.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn stop_container_balancer(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let mut request = request(Type::StopContainerBalancer);
            request.stop_container_balancer_request = Some(Default::default());
            self.submit(&request).await.map(drop)
        })
    }

    /// State of the container balancer, and its iterations.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn container_balancer_status(
        &self,
    ) -> BoxFuture<'_, Result<cl::ContainerBalancerStatusInfoResponseProto>> {
        Box::pin(async move {
            let mut request = request(Type::GetContainerBalancerStatusInfo);
            request.container_balancer_status_info_request = Some(Default::default());
            let reply = self.submit(&request).await?.container_balancer_status_info_response;
            part(reply, "containerBalancerStatusInfoResponse")
        })
    }

    /// Closes a pipeline; SCM creates another when possible.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn close_pipeline(&self, id: PipelineId) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let mut request = request(Type::ClosePipeline);
            request.close_pipeline_request =
                Some(cl::ClosePipelineRequestProto { pipeline_id: id.to_wire(), trace_id: None });
            self.submit(&request).await.map(drop)
        })
    }

    /// Containers in the order of their ids, and their total number if SCM returns it.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn list_containers<'a>(
        &'a self,
        list: &'a ListContainers,
    ) -> BoxFuture<'a, Result<(Vec<hdds::ContainerInfoProto>, Option<u64>)>> {
        Box::pin(async move {
            let mut request = request(Type::ListContainer);
            request.scm_list_container_request = Some(cl::ScmListContainerRequestProto {
                count: list.count,
                start_container_id: Some(list.start.0),
                state: list.state.map(|s| s as i32),
                factor: list.replication.as_ref().and_then(|r| r.wire_factor()).map(|f| f as i32),
                r#type: list.replication.as_ref().map(|r| r.wire_type() as i32),
                ec_replication_config: list.replication.as_ref().and_then(|r| r.wire_ec()),
                ..Default::default()
            });
            let reply = self.submit(&request).await?.scm_list_container_response;
            let reply = part(reply, "scmListContainerResponse")?;
            Ok((reply.containers, reply.container_count.and_then(|n| u64::try_from(n).ok())))
        })
    }

    /// A container and its pipeline.
    ///
    /// # Errors
    /// As [`ScmClient::submit`]; [`ErrorKind::NotFound`] if there is none.
    pub fn container(&self, id: ContainerId) -> BoxFuture<'_, Result<hdds::ContainerWithPipeline>> {
        Box::pin(async move {
            let mut request = request(Type::GetContainerWithPipeline);
            request.get_container_with_pipeline_request =
                Some(cl::GetContainerWithPipelineRequestProto {
                    container_id: id.to_wire(),
                    trace_id: None,
                });
            let reply = self.submit(&request).await?.get_container_with_pipeline_response;
            Ok(part(reply, "getContainerWithPipelineResponse")?.container_with_pipeline)
        })
    }

    /// The replicas of a container, as reported by their DataNodes.
    ///
    /// # Errors
    /// As [`ScmClient::submit`]; [`ErrorKind::NotFound`] if there is no such container.
    pub fn replicas(
        &self,
        id: ContainerId,
    ) -> BoxFuture<'_, Result<Vec<hdds::ScmContainerReplicaProto>>> {
        Box::pin(async move {
            let mut request = request(Type::GetContainerReplicas);
            request.get_container_replicas_request = Some(cl::GetContainerReplicasRequestProto {
                container_id: id.to_wire(),
                trace_id: None,
                with_history: None,
            });
            let reply = self.submit(&request).await?.get_container_replicas_response;
            Ok(part(reply, "getContainerReplicasResponse")?.container_replica)
        })
    }

    /// Creates an open container for `owner`.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn create_container<'a>(
        &'a self,
        config: ReplicationConfig,
        owner: &'a str,
    ) -> BoxFuture<'a, Result<ContainerId>> {
        Box::pin(async move {
            let mut request = request(Type::AllocateContainer);
            request.container_request = Some(cl::ContainerRequestProto {
                replication_type: config.wire_type() as i32,
                replication_factor: config.wire_factor().map(|factor| factor as i32),
                ec_replication_config: config.wire_ec(),
                owner: owner.to_owned(),
                trace_id: None,
            });
            let reply = self.submit(&request).await?.container_response;
            let made = part(reply, "containerResponse")?.container_with_pipeline;
            Ok(ContainerId::from_wire(made.container_info.container_id))
        })
    }

    /// Closes a container.
    ///
    /// # Errors
    /// As [`ScmClient::submit`]; [`ErrorKind::NotFound`] if there is none.
    pub fn close_container(
        &self,
        id: ContainerId,
    ) -> BoxFuture<'_, Result<cl::scm_close_container_response_proto::Status>> {
        Box::pin(async move {
            let mut request = request(Type::CloseContainer);
            request.scm_close_container_request = Some(cl::ScmCloseContainerRequestProto {
                container_id: id.to_wire(),
                trace_id: None,
            });
            let reply = self.submit(&request).await?.scm_close_container_response;
            Ok(part(reply, "scmCloseContainerResponse")?.status())
        })
    }

    /// Returns `true` if SCM is in safe mode.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn in_safe_mode(&self) -> BoxFuture<'_, Result<bool>> {
        Box::pin(async move {
            let mut request = request(Type::InSafeMode);
            request.in_safe_mode_request = Some(Default::default());
            let reply = self.submit(&request).await?.in_safe_mode_response;
            Ok(part(reply, "inSafeModeResponse")?.in_safe_mode)
        })
    }

    /// The rules of safe mode: name, whether it is met, and status text.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn safe_mode_rules(&self) -> BoxFuture<'_, Result<Vec<cl::SafeModeRuleStatusProto>>> {
        Box::pin(async move {
            let mut request = request(Type::GetSafeModeRuleStatuses);
            request.get_safe_mode_rule_statuses_request = Some(Default::default());
            let reply = self.submit(&request).await?.get_safe_mode_rule_statuses_response;
            Ok(part(reply, "getSafeModeRuleStatusesResponse")?.safe_mode_rule_statuses_proto)
        })
    }

    /// Forces SCM to leave safe mode, regardless of its rules.
    ///
    /// # Errors
    /// As [`ScmClient::submit`].
    pub fn exit_safe_mode(&self) -> BoxFuture<'_, Result<bool>> {
        Box::pin(async move {
            let mut request = request(Type::ForceExitSafeMode);
            request.force_exit_safe_mode_request = Some(Default::default());
            let reply = self.submit(&request).await?.force_exit_safe_mode_response;
            Ok(part(reply, "forceExitSafeModeResponse")?.exited_safe_mode)
        })
    }
}

pub(crate) fn request(kind: Type) -> ScmContainerLocationRequest {
    ScmContainerLocationRequest {
        cmd_type: kind as i32,
        trace_id: telemetry::current_trace_id(),
        ..Default::default()
    }
}

pub(crate) fn part<T>(part: Option<T>, name: &str) -> Result<T> {
    part.ok_or_else(|| Error::protocol("scm", format!("no {name}")))
}
