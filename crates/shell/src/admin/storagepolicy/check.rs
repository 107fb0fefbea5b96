//! `o3 admin storagepolicy check`.

use clap::Args;
use config::Configuration;
use futures::TryStreamExt;
use serde_json::json;

use super::keys::{keys, usual};
use crate::address::Address;
use crate::{ShellError, output};

/// Show keys that are not on disks that match their storage policy.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 admin storagepolicy check /vol1/bucket1/logs/")]
pub struct Check {
    /// A volume, a bucket, or a bucket and a key prefix: /vol1/bucket1/logs/
    address: String,
    /// Print JSON, one line per key.
    #[arg(long)]
    json: bool,
}

/// Runs the command. Keys that are elsewhere are no failure.
pub(crate) async fn run(args: Check, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let client = address.client(conf)?;
    let (mut all, mut elsewhere, mut bytes) = (0_u64, 0_u64, 0_u64);
    let mut found = std::pin::pin!(keys(&client, &address, usual(conf)?).await?);
    while let Some(key) = found.try_next().await? {
        let storage = key.storage?;
        all += 1;
        let misplaced = storage.misplaced();
        if misplaced == 0 {
            continue;
        }
        elsewhere += 1;
        bytes = bytes.saturating_add(misplaced);
        let policy = storage.policy.map(|policy| policy.name());
        let on: Vec<String> = storage.bytes.iter().map(|(of, n)| format!("{n} on {of}")).collect();
        if args.json {
            let on: serde_json::Map<_, _> =
                storage.bytes.iter().map(|(of, n)| (of.to_string(), json!(n))).collect();
            let value = json!({
                "key": key.path.to_string(), "storagePolicy": policy, "misplacedBytes": misplaced,
                "bytesByStorageType": on,
            });
            output::line(value.to_string())?;
        } else {
            output::line(format!("{} {}: {}", key.path, policy.unwrap_or(""), on.join(", ")))?;
        }
    }
    if !args.json {
        output::line(format!(
            "{elsewhere} of {all} keys, {bytes} bytes, are on disks of the wrong type"
        ))?;
    }
    Ok(())
}
