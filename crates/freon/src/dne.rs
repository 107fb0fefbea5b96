//! `dne`, `dn-echo`: echo requests to DataNodes.

use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::Args;
use client::{DatanodeClient, ScmClient};
use config::Configuration;
use proto::hdds::NodeState;
use types::{ContainerId, DatanodeDetails};

use crate::FreonError;
use crate::args::RunArgs;
use crate::chunks::Container;
use crate::report::Report;
use crate::runner::{Generator, Tally, prefix, run_generator};

/// Maximum KB of a payload: DataNodes return at most the size of a chunk.
const MAX_PAYLOAD_KB: i64 = 32 << 10;

/// Maximum pause of DataNodes.
const MAX_PAUSE_MS: i64 = 60_000;

/// Send echo requests to DataNodes: the cost of a call without work.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 freon dn-echo -n 100000 -t 64 --payload-req 4")]
pub struct Dne {
    #[command(flatten)]
    run: RunArgs,
    /// Payload of a request in KB.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..=MAX_PAYLOAD_KB), value_name = "KB")]
    payload_req: i64,
    /// Payload of a response in KB.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..=MAX_PAYLOAD_KB), value_name = "KB")]
    payload_resp: i64,
    /// Send to the DataNodes of this container; by default to all healthy ones.
    #[arg(long, value_name = "ID")]
    container_id: Option<u64>,
    /// Milliseconds that a DataNode waits before it responds.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..=MAX_PAUSE_MS), value_name = "MS")]
    sleep_time_ms: i64,
}

struct Echo {
    clients: Vec<DatanodeClient>,
    nodes: Vec<DatanodeDetails>,
    container: ContainerId,
    payload: Bytes,
    answer_kb: i32,
    pause: Duration,
}

/// The DataNodes of the requests, used in turn.
async fn nodes(args: &Dne, conf: &Configuration) -> Result<Vec<DatanodeDetails>, FreonError> {
    let scm = ScmClient::connect(conf);
    if let Some(id) = args.container_id {
        let container = Container::open(&scm, ContainerId(id), 1, conf).await?;
        return Ok(container.pipeline.members);
    }
    let found = scm.nodes(Some(NodeState::Healthy), None).await?;
    let nodes = found.iter().map(|node| DatanodeDetails::from_wire(&node.node_id));
    let nodes: Vec<_> =
        nodes.collect::<Result<_, _>>().map_err(|e| FreonError::Usage(e.to_string()))?;
    match nodes.is_empty() {
        true => Err(FreonError::Usage("SCM has no healthy DataNode".into())),
        false => Ok(nodes),
    }
}

/// Runs the generator.
pub(crate) async fn run(args: Dne, conf: &Configuration) -> Result<Report, FreonError> {
    let nodes = nodes(&args, conf).await?;
    let bytes = usize::try_from(args.payload_req.saturating_mul(1024)).unwrap_or(0);
    let echo = Echo {
        clients: (0..args.run.clients.max(1)).map(|_| DatanodeClient::connect(conf)).collect(),
        nodes,
        container: ContainerId(args.container_id.unwrap_or(0)),
        payload: Bytes::from(vec![b'o'; bytes]),
        answer_kb: i32::try_from(args.payload_resp).unwrap_or(i32::MAX),
        pause: Duration::from_millis(u64::try_from(args.sleep_time_ms).unwrap_or(0)),
    };
    run_generator(&args.run, &prefix(&args.run.prefix), echo).await
}

impl Generator for Echo {
    async fn test(&self, number: u64, _: usize, tally: &mut Tally) -> Result<(), FreonError> {
        let client = &self.clients[(number % self.clients.len() as u64) as usize];
        let node = &self.nodes[(number % self.nodes.len() as u64) as usize];
        let payload = self.payload.clone();
        let began = Instant::now();
        let answer = client.echo(node, self.container, payload, self.answer_kb, self.pause).await?;
        tally.timed("rpc-payload", began);
        tally.bytes += (self.payload.len() + answer.len()) as u64;
        Ok(())
    }
}
