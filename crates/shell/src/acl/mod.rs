//! `o3 sh volume|bucket|key addacl`, `removeacl`, `setacl` and `getacl`.

mod text;

use clap::{Args, Subcommand};
use client::{Client, Error};
use config::Configuration;
use proto::ozone::ozone_obj::{ObjectType, StoreType};
use proto::ozone::{
    AddAclRequest, GetAclRequest, OmRequest, OmResponse, OzoneAclInfo, OzoneObj, RemoveAclRequest,
    SetAclRequest, Status, Type,
};

use crate::address::Address;
use crate::{ShellError, output, render};

/// ACL commands of volumes, buckets and keys.
#[derive(Debug, Clone, Subcommand)]
pub enum AclCommand {
    /// Add one or more new ACLs.
    Addacl(Change),
    /// Remove one or more existing ACLs.
    Removeacl(Change),
    /// Set one or more ACLs, replacing the existing ones.
    Setacl(Change),
    /// List all ACLs.
    Getacl(Get),
}

/// Arguments of a change.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Example:\n  o3 sh bucket addacl -a user:ann:rw,group:staff:l /vol1/bucket1"
)]
pub struct Change {
    /// The volume, bucket or key.
    address: String,
    /// Entries, with commas between them: user:ann:rw or group:staff:a[DEFAULT].
    /// r = READ, w = WRITE, c = CREATE, d = DELETE, l = LIST, a = ALL, n = NONE, x = READ_ACL,
    /// y = WRITE_ACL.
    #[arg(
        short = 'a',
        long = "acls",
        visible_alias = "acl",
        required = true,
        value_delimiter = ',',
        value_parser = text::parse,
        value_name = "ACL"
    )]
    acls: Vec<OzoneAclInfo>,
}

/// Arguments of getacl.
#[derive(Debug, Clone, Args)]
pub struct Get {
    /// The volume, bucket or key.
    address: String,
    /// Show the ACL of the source bucket if the bucket is a link.
    #[arg(long)]
    source: bool,
}

/// The level of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// A volume.
    Volume,
    /// A bucket.
    Bucket,
    /// A key.
    Key,
}

fn object(address: &Address, level: Level) -> Result<OzoneObj, ShellError> {
    let (kind, path) = match level {
        Level::Volume => (ObjectType::Volume, format!("/{}", address.volume()?)),
        Level::Bucket => {
            let (volume, bucket) = address.bucket()?;
            (ObjectType::Bucket, format!("/{volume}/{bucket}"))
        }
        Level::Key => {
            let key = address.key()?;
            (ObjectType::Key, format!("/{}/{}/{}", key.volume, key.bucket, key.key))
        }
    };
    Ok(OzoneObj { res_type: kind as i32, store_type: StoreType::Ozone as i32, path })
}

async fn send(client: &Client, request: OmRequest) -> Result<OmResponse, ShellError> {
    let answer = client.submit(request).await?;
    match answer.status() {
        Status::Ok => Ok(answer),
        status => {
            let message = answer.message.unwrap_or_default();
            Err(Error::Om { status, message }.into())
        }
    }
}

fn request(command: Type) -> OmRequest {
    OmRequest { cmd_type: command as i32, ..OmRequest::default() }
}

/// Runs a command.
pub(crate) async fn run(
    command: AclCommand,
    level: Level,
    conf: &Configuration,
) -> Result<(), ShellError> {
    let (AclCommand::Addacl(Change { address, .. })
    | AclCommand::Removeacl(Change { address, .. })
    | AclCommand::Setacl(Change { address, .. })
    | AclCommand::Getacl(Get { address, .. })) = &command;
    let address = Address::parse(address)?;
    let obj = object(&address, level)?;
    let client = address.client(conf)?;
    match command {
        AclCommand::Addacl(change) => {
            for acl in change.acls {
                let added = add(&client, obj.clone(), acl.clone()).await?;
                let outcome = if added { "added successfully" } else { "already exists" };
                output::line(format!("ACL {} {outcome}.", text::show(&acl)))?;
            }
            Ok(())
        }
        AclCommand::Removeacl(change) => {
            for acl in change.acls {
                let removed = remove(&client, obj.clone(), acl.clone()).await?;
                let outcome = if removed { "removed successfully" } else { "doesn't exist" };
                output::line(format!("ACL {} {outcome}.", text::show(&acl)))?;
            }
            Ok(())
        }
        AclCommand::Setacl(change) => {
            let set = SetAclRequest { obj, acl: change.acls, modification_time: None };
            let set = OmRequest { set_acl_request: Some(Box::new(set)), ..request(Type::SetAcl) };
            send(&client, set).await?;
            output::line("ACLs set successfully.")
        }
        AclCommand::Getacl(Get { source, .. }) => {
            let obj = if source { source_of(&client, &address, level).await? } else { obj };
            let get = GetAclRequest { obj };
            let get = OmRequest { get_acl_request: Some(Box::new(get)), ..request(Type::GetAcl) };
            let answer = send(&client, get).await?.get_acl_response.unwrap_or_default();
            let acls: Vec<_> = answer.acls.iter().map(render::acl::acl).collect();
            output::value(&acls.into())
        }
    }
}

/// The source bucket of a link, or the bucket itself if it is no link.
async fn source_of(
    client: &Client,
    address: &Address,
    level: Level,
) -> Result<OzoneObj, ShellError> {
    if level != Level::Bucket {
        return Err(ShellError::Usage("--source is for buckets".into()));
    }
    let (volume, bucket) = address.bucket()?;
    let info = client.bucket_info(volume, bucket).await?;
    let (volume, bucket) = match (&info.source_volume, &info.source_bucket) {
        (Some(source_volume), Some(source_bucket)) => {
            (source_volume.as_str(), source_bucket.as_str())
        }
        _ => (volume, bucket),
    };
    let path = format!("/{volume}/{bucket}");
    let (res_type, store_type) = (ObjectType::Bucket as i32, StoreType::Ozone as i32);
    Ok(OzoneObj { res_type, store_type, path })
}

/// Returns `false` if the ACL existed already.
async fn add(client: &Client, obj: OzoneObj, acl: OzoneAclInfo) -> Result<bool, ShellError> {
    let add = AddAclRequest { obj, acl, modification_time: None };
    let add = OmRequest { add_acl_request: Some(Box::new(add)), ..request(Type::AddAcl) };
    Ok(send(client, add).await?.add_acl_response.is_some_and(|r| r.response))
}

/// Returns `false` if the ACL did not exist.
async fn remove(client: &Client, obj: OzoneObj, acl: OzoneAclInfo) -> Result<bool, ShellError> {
    let remove = RemoveAclRequest { obj, acl, modification_time: None };
    let remove =
        OmRequest { remove_acl_request: Some(Box::new(remove)), ..request(Type::RemoveAcl) };
    Ok(send(client, remove).await?.remove_acl_response.is_some_and(|r| r.response))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_what_the_noun_says() {
        let key = Address::parse("o3:///vol1/bucket1/dir/key1").unwrap();
        let obj = object(&key, Level::Key).unwrap();
        assert_eq!(
            (obj.res_type(), obj.path.as_str()),
            (ObjectType::Key, "/vol1/bucket1/dir/key1")
        );
        assert!(object(&key, Level::Bucket).is_err());
        let volume = Address::parse("vol1").unwrap();
        assert_eq!(object(&volume, Level::Volume).unwrap().path, "/vol1");
        assert!(object(&volume, Level::Key).is_err());
    }
}
