//! `o3 admin safemode wait`.

use std::time::Duration;

use clap::Args;
use config::Configuration;
use tokio::time::{Instant, sleep};

use super::leader;
use crate::admin::scm_client::ScmArgs;
use crate::{ShellError, output};

/// Delay between two requests.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Wait until SCM has left safe mode.
#[derive(Debug, Clone, Args)]
pub struct Wait {
    /// Timeout in seconds.
    #[arg(short = 't', long, default_value_t = 30, value_name = "SECONDS")]
    timeout: u64,
    #[command(flatten)]
    scm: ScmArgs,
}

/// Runs the command.
pub(crate) async fn run(args: Wait, conf: &Configuration) -> Result<(), ShellError> {
    let end = Instant::now() + Duration::from_secs(args.timeout);
    loop {
        // An unreachable SCM may still be starting.
        let asked = match leader::or_named(&args.scm, conf).await {
            Ok(scm) => scm.in_safe_mode().await.map_err(ShellError::from),
            Err(error) => Err(error),
        };
        if let Ok(false) = asked {
            return output::line("SCM is out of safe mode.");
        }
        if Instant::now() >= end {
            asked?;
            return Err(ShellError::Refused(format!(
                "Safe mode is not ended within the timeout period of {} s.",
                args.timeout
            )));
        }
        sleep(POLL_INTERVAL).await;
    }
}
