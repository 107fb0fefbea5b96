//! `o3 sh key rewrite`.

use clap::Args;
use client::{CreateKey, Precondition};
use config::Configuration;
use types::ReplicationConfig;

use super::cp::copy;
use crate::ShellError;
use crate::address::Address;
use crate::replication::ReplicationArgs;
use crate::storage_policy::KeyPolicyArgs;

/// Rewrite a key with another replication or storage policy. If the key is changed concurrently,
/// the change is kept and the command fails.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 sh key rewrite -t RATIS -r ONE /vol1/bucket1/key1")]
pub struct Rewrite {
    /// The key: /vol1/bucket1/key1
    address: String,
    #[command(flatten)]
    replication: ReplicationArgs,
    #[command(flatten)]
    storage: KeyPolicyArgs,
}

/// Runs the command.
pub(crate) async fn run(args: Rewrite, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let path = address.key()?;
    let replication = args.replication.config()?;
    if replication.is_none() && args.storage.is_empty() {
        return Err(ShellError::Usage(
            "--type and --replication, or --storagepolicy, are required".into(),
        ));
    }
    let client = address.client(conf)?;
    let info = client.key_info(&path).await?;
    let replication = match replication {
        Some(replication) => replication,
        None => {
            let (kind, coding) = (info.r#type, info.ec_replication_config.as_ref());
            ReplicationConfig::from_wire(kind, info.factor, coding)
                .map_err(|e| ShellError::Refused(format!("OM sent an invalid answer: {e}")))?
        }
    };
    let to = CreateKey::new(path.clone())
        .replication(replication)
        .only_if(Precondition::Generation(info.update_id()));
    copy(&client, &path, to, &args.storage).await
}
