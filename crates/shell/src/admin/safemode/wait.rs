//! `o3 admin safemode wait`.

use std::time::Duration;

use clap::Args;
use config::Configuration;
use tokio::time::{Instant, sleep};

use crate::admin::ScmArgs;
use crate::{ShellError, output};

/// Pause between two questions.
const PAUSE: Duration = Duration::from_millis(200);

/// Wait until SCM has left safe mode.
#[derive(Debug, Clone, Args)]
pub struct Wait {
    /// Give up after so many seconds.
    #[arg(short = 't', long, default_value_t = 30, value_name = "SECONDS")]
    timeout: u64,
    #[command(flatten)]
    scm: ScmArgs,
}

/// Runs it.
pub(crate) async fn run(args: Wait, conf: &Configuration) -> Result<(), ShellError> {
    let scm = args.scm.client(conf);
    let end = Instant::now() + Duration::from_secs(args.timeout);
    loop {
        // An SCM that cannot be reached yet may still be starting.
        let asked = scm.in_safe_mode().await;
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
        sleep(PAUSE).await;
    }
}
