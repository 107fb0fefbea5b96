//! State that a new OM has before its first request: the volume of S3 and the root key pair.

use std::sync::Arc;

use md5::{Digest, Md5};
use metastore::Durability;
use namespace::tables::volume_key;
use namespace::{Table, View};
use proto::ozone::{OmRequest, S3Secret, SetS3SecretRequest, Type};
use rand::RngExt;

use crate::dispatch::Dispatcher;
use crate::error::Error;
use crate::ids::now_ms;
use crate::settings::RootCredentials;
use crate::state::Tables;
use crate::state::column_families::stored;

/// Row of the metaTable that names the root access key. Not replicated: it names the pair that this
/// server passes to its own S3 gateway.
const ROOT_ACCESS_KEY: &[u8] = b"#TRIOXIDE_ROOT_ACCESS_KEY";
/// Characters of access keys.
const CAPITALS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Creates missing initial state of a single OM.
pub(crate) async fn prepare(
    dispatcher: &Arc<Dispatcher>,
    given: Option<RootCredentials>,
) -> Result<(), Error> {
    let root = make(dispatcher, given).await?;
    // Set once: this is the only place that does.
    let _ = dispatcher.parts().root_access_key.set(root.access_key);
    Ok(())
}

/// Root access key of a service of several OMs without a configured one: all must name the same
/// one, and the cluster id is what they have in common.
pub(crate) fn shared_access_key(cluster_id: &str) -> String {
    let digest = Md5::digest(format!("root access key of {cluster_id}").as_bytes());
    let letters = digest.iter().cycle().map(|byte| CAPITALS[usize::from(byte % 32)]);
    // The digest has fewer bytes than the key letters: the last two repeat the first.
    format!("O3{}", letters.take(18).map(char::from).collect::<String>())
}

/// Creates missing initial state, on the leader of several OMs: the volume of S3, and the secret of
/// the root access key, which is replicated like any other.
pub(crate) async fn prepare_shared(
    dispatcher: &Arc<Dispatcher>,
    given: Option<&RootCredentials>,
    access_key: &str,
) -> Result<(), Error> {
    let tables = dispatcher.parts().current.get().ok_or(Error::Closed)?;
    make_volume(dispatcher, &tables).await?;
    let existing = secret_of(&tables, access_key)?;
    let wanted = match (given, &existing) {
        (None, Some(_)) => return Ok(()),
        (Some(given), Some(existing)) if given == existing => return Ok(()),
        (Some(given), _) => given.clone(),
        (None, None) => RootCredentials { access_key: access_key.to_owned(), ..generate() },
    };
    let request = set_secret(&wanted, existing.is_some());
    dispatcher.propose_own(request).await.map_err(Error::FirstStart)
}

/// An access key with its secret, when it has one.
pub(crate) fn secret_of(
    tables: &Tables,
    access_key: &str,
) -> Result<Option<RootCredentials>, Error> {
    let secret: Option<S3Secret> = tables.message(Table::S3SecretTable, access_key.as_bytes())?;
    let access_key = access_key.to_owned();
    Ok(secret.map(|s| RootCredentials { access_key, secret_key: s.aws_secret }))
}

async fn make_volume(dispatcher: &Arc<Dispatcher>, tables: &Tables) -> Result<(), Error> {
    let volume = dispatcher.parts().settings.s3_volume.clone();
    if tables.exists(Table::VolumeTable, &volume_key(&volume))? {
        return Ok(());
    }
    let owner = &dispatcher.parts().default_user;
    let groups = dispatcher.parts().groups.of(owner);
    let group = groups.first().map(String::as_str);
    let request = namespace::create_s3_volume_request(now_ms(), owner, group, &volume);
    dispatcher.propose_own(request).await.map_err(Error::FirstStart)
}

async fn make(
    dispatcher: &Arc<Dispatcher>,
    given: Option<RootCredentials>,
) -> Result<RootCredentials, Error> {
    let tables = dispatcher.parts().current.get().ok_or(Error::Closed)?;
    make_volume(dispatcher, &tables).await?;
    let known = tables.get(Table::MetaTable, ROOT_ACCESS_KEY)?;
    let known = known.map(|key| String::from_utf8_lossy(&key).into_owned());
    let existing = match known {
        Some(access_key) => secret_of(&tables, &access_key)?,
        None => None,
    };
    let wanted = match (given, existing) {
        (None, Some(existing)) => return Ok(existing),
        (Some(given), existing) if existing.as_ref() == Some(&given) => return Ok(given),
        (Some(given), _) => given,
        (None, None) => generate(),
    };
    let exists = tables.exists(Table::S3SecretTable, wanted.access_key.as_bytes())?;
    dispatcher.propose_own(set_secret(&wanted, exists)).await.map_err(Error::FirstStart)?;
    let mut batch = metastore::Batch::new();
    batch.put(stored(Table::MetaTable), ROOT_ACCESS_KEY, wanted.access_key.as_bytes());
    tables.store().write(batch, Durability::Sync)?;
    Ok(wanted)
}

/// A prepared request that sets the secret of an access key, new or not.
fn set_secret(pair: &RootCredentials, exists: bool) -> OmRequest {
    if !exists {
        return namespace::create_s3_secret_request(&pair.access_key, &pair.secret_key);
    }
    OmRequest {
        cmd_type: Type::SetS3Secret as i32,
        client_id: "om".to_owned(),
        set_s3_secret_request: Some(Box::new(SetS3SecretRequest {
            access_id: Some(pair.access_key.clone()),
            secret_key: Some(pair.secret_key.clone()),
        })),
        ..OmRequest::default()
    }
}

/// A random pair in the shape S3 clients expect: twenty capitals and digits, forty letters.
fn generate() -> RootCredentials {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut random = rand::rng();
    let mut text = |letters: &[u8], length: usize| -> String {
        (0..length).map(|_| char::from(letters[random.random_range(0..letters.len())])).collect()
    };
    RootCredentials {
        access_key: format!("O3{}", text(CAPITALS, 18)),
        secret_key: text(LETTERS, 40),
    }
}
