//! `ome`, `om-echo`: echo requests to OM.

use std::time::Instant;

use bytes::Bytes;
use clap::Args;
use config::Configuration;
use proto::ozone::{EchoRpcRequest, OmRequest, Type};

use crate::FreonError;
use crate::args::RunArgs;
use crate::report::Report;
use crate::runner::{Generator, Tally, prefix, run_generator};
use crate::target::Target;

/// Maximum KB of a payload, as in Ozone.
const MAX_PAYLOAD_KB: i64 = 2_097_151;

/// Send echo requests to OM: the cost of a call without work. OM returns at most 2,097,151 bytes.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    o3 freon om-echo -n 100000 -t 64\n  \
    o3 freon om-echo -n 10000 -t 64 --payload-req 4 --ratis      through OM's Raft log")]
pub struct Ome {
    #[command(flatten)]
    run: RunArgs,
    /// Payload of a request in KB.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..=MAX_PAYLOAD_KB), value_name = "KB")]
    payload_req: i64,
    /// Payload of a response in KB.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..=MAX_PAYLOAD_KB), value_name = "KB")]
    payload_resp: i64,
    /// Write each request to OM's Raft log.
    #[arg(long)]
    ratis: bool,
}

struct Echo {
    target: Target,
    payload: Bytes,
    payload_resp: i32,
    ratis: bool,
}

/// Runs the generator.
pub(crate) async fn run(args: Ome, conf: &Configuration) -> Result<Report, FreonError> {
    let target = Target::named(args.run.clients, "", "", None, conf)?;
    let bytes = |kb: i64| usize::try_from(kb.saturating_mul(1024)).unwrap_or(0);
    let echo = Echo {
        target,
        payload: Bytes::from(vec![b'o'; bytes(args.payload_req)]),
        payload_resp: i32::try_from(bytes(args.payload_resp)).unwrap_or(i32::MAX),
        ratis: args.ratis,
    };
    run_generator(&args.run, &prefix(&args.run.prefix), echo).await
}

impl Generator for Echo {
    async fn test(&self, number: u64, _: usize, tally: &mut Tally) -> Result<(), FreonError> {
        let began = Instant::now();
        let request = OmRequest {
            cmd_type: Type::EchoRpc as i32,
            echo_rpc_request: Some(Box::new(EchoRpcRequest {
                payload_req: Some(self.payload.clone()),
                payload_size_resp: Some(self.payload_resp),
                read_only: Some(!self.ratis),
            })),
            ..Default::default()
        };
        let answer = self.target.submit(number, request).await?;
        tally.timed("rpc-payload", began);
        let answered = answer.echo_rpc_response.and_then(|echo| echo.payload);
        tally.bytes += (self.payload.len() + answered.map_or(0, |payload| payload.len())) as u64;
        Ok(())
    }
}
