//! `occ`: creates clients, each with a connection of its own.

use std::time::Instant;

use clap::Args;
use client::Client;
use config::Configuration;
use proto::ozone::{OmRequest, ServiceListRequest, Type};

use crate::FreonError;
use crate::args::RunArgs;
use crate::report::Report;
use crate::runner::{Generator, Tally, prefix, run_generator};
use crate::target::submit;

/// Create and close clients without other requests. Like Ozone's, a client requests the service
/// list from OM when it is created, so that each test opens a connection.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 freon occ -n 1000 -t 8")]
pub struct Occ {
    #[command(flatten)]
    run: RunArgs,
}

struct Creator {
    conf: Configuration,
}

/// Runs the generator.
pub(crate) async fn run(args: Occ, conf: &Configuration) -> Result<Report, FreonError> {
    args.run.without_clients()?;
    let creator = Creator { conf: conf.clone() };
    run_generator(&args.run, &prefix(&args.run.prefix), creator).await
}

impl Generator for Creator {
    async fn test(&self, _: u64, _: usize, tally: &mut Tally) -> Result<(), FreonError> {
        let began = Instant::now();
        let client = Client::connect(&self.conf)?;
        let request = OmRequest {
            cmd_type: Type::ServiceList as i32,
            service_list_request: Some(Box::new(ServiceListRequest::default())),
            ..Default::default()
        };
        submit(&client, request).await?;
        drop(client);
        tally.timed("client-create", began);
        Ok(())
    }
}
