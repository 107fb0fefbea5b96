//! `o3 admin om prepare` and `cancelprepare`: preparation for an upgrade, and its cancellation.

use std::time::{Duration, Instant};

use clap::Args;
use config::Configuration;
use proto::ozone::prepare_status_response::PrepareStatus;
use proto::ozone::{OmRequest, PrepareRequest, PrepareRequestArgs, Type};

use super::{OmArgs, request, submit};
use crate::{ShellError, output};

/// Interval at which the OMs are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Prepare all OMs for an upgrade.
#[derive(Debug, Clone, Args)]
pub struct Prepare {
    /// Seconds to wait for all OMs.
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    timeout: u64,
    #[command(flatten)]
    om: OmArgs,
}

/// Cancel the preparation and accept writes again.
#[derive(Debug, Clone, Args)]
pub struct CancelPrepare {
    #[command(flatten)]
    om: OmArgs,
}

/// Prepares the service, and waits for every OM.
pub(super) async fn prepare(args: Prepare, conf: &Configuration) -> Result<(), ShellError> {
    let client = args.om.client(conf)?;
    let wanted = PrepareRequestArgs {
        txn_apply_wait_timeout_seconds: Some(args.timeout),
        ..PrepareRequestArgs::default()
    };
    let prepare = PrepareRequest { args: wanted };
    let prepare = OmRequest { prepare_request: Some(Box::new(prepare)), ..request(Type::Prepare) };
    let answer = submit(&client, prepare).await?;
    let index = answer.prepare_response.map_or(0, |r| r.txn_id);
    output::line(format!(
        "Ozone Manager Prepare Request successfully returned with Transaction Id: [{index}]."
    ))?;
    let until = Instant::now() + Duration::from_secs(args.timeout);
    loop {
        let states = client.om_prepare_states(index).await;
        let done = |s: &client::Result<proto::ozone::PrepareStatusResponse>| {
            s.as_ref().is_ok_and(|s| s.status() == PrepareStatus::PrepareCompleted)
        };
        if states.iter().all(|(_, state)| done(state)) {
            for (address, _) in &states {
                output::line(format!("{address} : PREPARE_COMPLETED"))?;
            }
            return output::line("Prepare Ozone Manager(s) completed.");
        }
        if Instant::now() >= until {
            let left: Vec<String> = states
                .iter()
                .filter(|(_, state)| !done(state))
                .map(|(address, state)| match state {
                    Ok(state) => format!("{address} ({})", state.status().as_str_name()),
                    Err(error) => format!("{address} ({error})"),
                })
                .collect();
            return Err(ShellError::Refused(format!("not prepared yet: {}", left.join(", "))));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Cancels the preparation.
pub(super) async fn cancel(args: CancelPrepare, conf: &Configuration) -> Result<(), ShellError> {
    let cancel =
        OmRequest { cancel_prepare_request: Some(Box::default()), ..request(Type::CancelPrepare) };
    submit(&args.om.client(conf)?, cancel).await?;
    output::line("Cancel prepare succeeded, cluster can now accept write requests.")
}
