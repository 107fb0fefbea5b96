//! `o3 sh bucket delete`.

use std::io::stdin;

use clap::Args;
use client::{Client, ListKeys};
use config::Configuration;
use proto::ozone::Status;

use crate::address::Address;
use crate::{ShellError, output};

/// Number of keys deleted in one request.
const BATCH: u32 = 1_000;

/// Delete an empty bucket; -r deletes its keys first.
#[derive(Debug, Clone, Args)]
pub struct Delete {
    /// The bucket: /vol1/bucket1
    address: String,
    /// Delete all keys of the bucket, too.
    #[arg(short = 'r', long)]
    recursive: bool,
    /// Do not ask for confirmation.
    #[arg(short = 'y', long)]
    yes: bool,
}

/// Asks for confirmation unless `yes` is set; returns `true` to continue.
pub(crate) fn confirm(yes: bool, what: &str) -> Result<bool, ShellError> {
    if yes {
        return Ok(true);
    }
    eprint!(
        "{what}\nThere is no recovery option after using this command.\nEnter 'yes' to proceed: "
    );
    let mut answer = String::new();
    if stdin().read_line(&mut answer).map_err(ShellError::local("standard input"))? == 0 {
        return Err(ShellError::Refused("There is no terminal to confirm on: pass --yes.".into()));
    }
    let agreed = answer.trim().eq_ignore_ascii_case("yes");
    if !agreed {
        output::line("Operation cancelled.")?;
    }
    Ok(agreed)
}

/// Deletes every key of a bucket. A link has no keys; those of its source bucket remain.
pub(crate) async fn empty(client: &Client, volume: &str, bucket: &str) -> Result<(), ShellError> {
    match client.bucket_info(volume, bucket).await {
        Ok(info) if info.source_bucket.is_some() => return Ok(()),
        // Only links can form a loop.
        Err(error) if error.is_status(Status::DetectedLoopInBucketLinks) => return Ok(()),
        info => drop(info?),
    }
    loop {
        let (page, _) = client.list_keys_page(&ListKeys::new(volume, bucket), BATCH).await?;
        if page.is_empty() {
            return Ok(());
        }
        let keys = page.iter().map(|k| k.key_name().to_owned()).collect();
        let left = client.delete_keys(volume, bucket, keys).await?;
        if let Some((key, code, message)) =
            left.into_iter().find(|(_, code, _)| code != "KEY_NOT_FOUND")
        {
            return Err(ShellError::Refused(format!("{code} {key}: {message}")));
        }
    }
}

/// Runs the command.
pub(crate) async fn run(args: Delete, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let (volume, bucket) = address.bucket()?;
    let client = address.client(conf)?;
    if args.recursive {
        if !confirm(args.yes, "This command will delete bucket recursively.")? {
            return Ok(());
        }
        empty(&client, volume, bucket).await?;
    }
    client.delete_bucket(volume, bucket).await?;
    output::line(format!("Bucket {bucket} is deleted"))
}
