//! `o3 sh bucket delete`.

use std::io::stdin;

use clap::Args;
use client::{Client, ListKeys};
use config::Configuration;
use proto::ozone::Status;

use crate::address::Address;
use crate::{ShellError, output};

/// Keys deleted in one request.
const BATCH: u32 = 1_000;

/// Delete a bucket. It must be empty, or -r empties it first.
#[derive(Debug, Clone, Args)]
pub struct Delete {
    /// The bucket: /vol1/bucket1
    address: String,
    /// Delete all its keys as well.
    #[arg(short = 'r', long)]
    recursive: bool,
    /// Do not ask.
    #[arg(short = 'y', long)]
    yes: bool,
}

/// Asks for a yes, unless `yes` says it; whether to go on.
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

/// Deletes every key of a bucket. A link has none of its own: those of the bucket that it stands
/// for stay.
pub(crate) async fn empty(client: &Client, volume: &str, bucket: &str) -> Result<(), ShellError> {
    match client.bucket_info(volume, bucket).await {
        Ok(info) if info.source_bucket.is_some() => return Ok(()),
        // Only links make a loop.
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
