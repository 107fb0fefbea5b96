//! `o3 admin safemode status`.

use clap::Args;
use config::Configuration;
use serde_json::{Value, json};

use crate::admin::ScmArgs;
use crate::{ShellError, output};

/// Whether SCM is in safe mode; with --verbose also what each rule waits for.
#[derive(Debug, Clone, Args)]
pub struct Status {
    /// As JSON, rules included.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scm: ScmArgs,
}

/// Runs it.
pub(crate) async fn run(
    args: Status,
    verbose: bool,
    conf: &Configuration,
) -> Result<(), ShellError> {
    let scm = args.scm.client(conf);
    let inside = scm.in_safe_mode().await?;
    let rules = if verbose || args.json { scm.safe_mode_rules().await? } else { Vec::new() };
    if args.json {
        let rules: Vec<Value> = rules
            .iter()
            .map(|r| {
                json!({
                    "ruleName": r.rule_name,
                    "validated": r.validate,
                    "statusText": r.status_text,
                })
            })
            .collect();
        return output::value(&json!({ "inSafeMode": inside, "rules": rules }));
    }
    output::line(if inside { "SCM is in safe mode." } else { "SCM is out of safe mode." })?;
    rules.iter().try_for_each(|r| {
        output::line(format!("validated:{}, {}, {}", r.validate, r.rule_name, r.status_text))
    })
}
