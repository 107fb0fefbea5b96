//! SCM's log of slow requests.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use framed::{Client, ClientOptions};
use parking_lot::Mutex;
use proto::method;
use proto::scm_datanode::{
    ContainerReportsProto, NodeReportProto, PipelineReportsProto, ScmDatanodeRequest,
    ScmDatanodeResponse, ScmHeartbeatRequestProto, ScmRegisterRequestProto, StorageReportProto,
    Type,
};
use types::{DatanodeDetails, DatanodeId};

use crate::harness::Harness;

const TIMEOUT: Duration = testkit::LIMIT;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// The lines about slow requests of an operation.
    fn slow(&self, operation: &str) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().clone()).unwrap();
        let named = format!("operation=\"{operation}\"");
        let about = |line: &&str| line.contains("slow_request") && line.contains(&named);
        text.lines().filter(about).map(str::to_owned).collect()
    }
}

/// A node that SCM makes a pipeline for.
fn registration(details: &DatanodeDetails) -> ScmDatanodeRequest {
    let disk = StorageReportProto {
        storage_uuid: "DS-1".to_owned(),
        storage_location: "/data".to_owned(),
        capacity: Some(100 << 40),
        remaining: Some(100 << 40),
        ..Default::default()
    };
    let register = ScmRegisterRequestProto {
        datanode_details: details.to_wire(),
        node_report: NodeReportProto { storage_report: vec![disk], ..Default::default() },
        container_report: ContainerReportsProto::default(),
        pipeline_reports: PipelineReportsProto::default(),
        data_node_layout_version: None,
    };
    ScmDatanodeRequest {
        cmd_type: Type::Register as i32,
        register_request: Some(register),
        ..Default::default()
    }
}

// On one thread, so that all of SCM logs to this test.
#[tokio::test]
async fn a_heartbeat_that_waits_for_commands_is_not_slow() {
    let log = Log::default();
    let writer = log.clone();
    let lines =
        tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let _logging = tracing::subscriber::set_default(lines);
    let scm = Harness::start_with(|conf| {
        conf.with("trioxide.slow.request.threshold", "1us")
            .with("ozone.scm.pipeline.creation.auto.factor.one", "true")
            .with("hdds.scm.safemode.enabled", "false")
    })
    .await;
    let client = Client::new(scm.scm.addresses().datanode.to_string(), ClientOptions::default());
    let details = DatanodeDetails::new(DatanodeId::random(), "127.0.0.1", "node1");
    let call = async |request: ScmDatanodeRequest| -> ScmDatanodeResponse {
        framed::message::call(&client, method::SCM_DATANODE, &request, TIMEOUT).await.unwrap()
    };
    call(registration(&details)).await;
    loop {
        let beat =
            ScmHeartbeatRequestProto { datanode_details: details.to_wire(), ..Default::default() };
        let request = ScmDatanodeRequest {
            cmd_type: Type::SendHeartbeat as i32,
            send_heartbeat_request: Some(beat),
            ..Default::default()
        };
        let answer = call(request).await.send_heartbeat_response.unwrap();
        if answer.commands.iter().any(|command| command.create_pipeline_command_proto.is_some()) {
            break;
        }
    }
    assert_eq!(log.slow("Register").len(), 1, "every other request is slow here");
    assert_eq!(log.slow("SendHeartbeat"), Vec::<String>::new());
    scm.scm.shutdown().await;
}
