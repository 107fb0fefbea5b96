//! Values as JSON, with the field names of the classes that Ozone's own tool prints. If that prints
//! the internals of a protobuf message, the fields have the message's names here.

mod datanode;
mod om;
mod scm;

use prost::Message;
use proto::hdds::KeyValue;
use serde_json::{Map, Value, json};

use super::tables::text;

/// Format of a table's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueForm {
    Volume,
    Bucket,
    UserVolumes,
    Key,
    Directory,
    DeletedKeys,
    Upload,
    Part,
    S3Secret,
    Prefix,
    Snapshot,
    Tenant,
    TenantAccessId,
    TenantPrincipal,
    Container,
    Pipeline,
    Deletion,
    Block,
    /// `term#index`.
    Transaction,
    Text,
    /// Eight bytes, big endian.
    Number,
    /// Anything else: text, or hexadecimal digits.
    Bytes,
}

impl ValueForm {
    /// Name of Ozone's class.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Volume => "OmVolumeArgs",
            Self::Bucket => "OmBucketInfo",
            Self::UserVolumes => "PersistedUserVolumeInfo",
            Self::Key => "OmKeyInfo",
            Self::Directory => "OmDirectoryInfo",
            Self::DeletedKeys => "RepeatedOmKeyInfo",
            Self::Upload => "OmMultipartKeyInfo",
            Self::Part => "OmMultipartPartInfo",
            Self::S3Secret => "S3SecretValue",
            Self::Prefix => "OmPrefixInfo",
            Self::Snapshot => "SnapshotInfo",
            Self::Tenant => "OmDBTenantState",
            Self::TenantAccessId => "OmDBAccessIdInfo",
            Self::TenantPrincipal => "OmDBUserPrincipalInfo",
            Self::Container => "ContainerInfo",
            Self::Pipeline => "Pipeline",
            Self::Deletion => "DeletedBlocksTransaction",
            Self::Block => "BlockData",
            Self::Transaction => "TransactionInfo",
            Self::Text => "String",
            Self::Number => "Long",
            Self::Bytes => "byte[]",
        }
    }

    /// Formats a value as JSON.
    ///
    /// # Errors
    /// If it does not decode.
    pub(super) fn show(self, _key: &[u8], value: &[u8]) -> Result<Value, NotDecoded> {
        match self {
            Self::Volume => shown(value, om::volume),
            Self::Bucket => shown(value, om::bucket),
            Self::UserVolumes => shown(value, om::user_volumes),
            Self::Key => shown(value, om::key),
            Self::Directory => shown(value, om::directory),
            Self::DeletedKeys => shown(value, om::deleted_keys),
            Self::Upload => shown(value, om::upload),
            Self::Part => shown(value, om::part),
            Self::S3Secret => shown(value, om::s3_secret),
            Self::Prefix => shown(value, om::prefix),
            Self::Snapshot => shown(value, om::snapshot),
            Self::Tenant => shown(value, om::tenant),
            Self::TenantAccessId => shown(value, om::tenant_access_id),
            Self::TenantPrincipal => shown(value, om::tenant_principal),
            Self::Container => shown(value, scm::container),
            Self::Pipeline => shown(value, scm::pipeline),
            Self::Deletion => shown(value, scm::deletion),
            Self::Block => shown(value, datanode::block),
            Self::Transaction => {
                Ok(json!({ "snapshotInfo": {}, "transactionInfoString": text(value) }))
            }
            Self::Text | Self::Bytes => Ok(text(value).into()),
            Self::Number => {
                let bytes = <[u8; 8]>::try_from(value);
                let bytes = bytes
                    .map_err(|_| NotDecoded(format!("{} bytes are no number", value.len())))?;
                Ok(i64::from_be_bytes(bytes).into())
            }
        }
    }

    /// A value with every possible field.
    pub(super) fn example(self) -> Value {
        match self {
            Self::Volume => om::volume(&om::example_volume()),
            Self::Bucket => om::bucket(&om::example_bucket()),
            Self::UserVolumes => om::user_volumes(&proto::ozone::PersistedUserVolumeInfo {
                volume_names: vec![String::new()],
                object_id: Some(0),
                update_id: Some(0),
            }),
            Self::Key => om::key(&om::example_key()),
            Self::Directory => om::directory(&om::example_directory()),
            Self::DeletedKeys => om::deleted_keys(&proto::ozone::RepeatedKeyInfo {
                key_info: vec![om::example_key()],
                bucket_id: Some(0),
            }),
            Self::Upload => om::upload(&om::example_upload()),
            Self::Part => om::part(&om::example_part()),
            Self::S3Secret => om::s3_secret(&Default::default()),
            Self::Prefix => om::prefix(&om::example_prefix()),
            Self::Snapshot => om::snapshot(&om::example_snapshot()),
            Self::Tenant => om::tenant(&Default::default()),
            Self::TenantAccessId => om::tenant_access_id(&Default::default()),
            Self::TenantPrincipal => om::tenant_principal(&proto::ozone::TenantUserPrincipalInfo {
                access_ids: vec![String::new()],
            }),
            Self::Container => scm::container(&scm::example_container()),
            Self::Pipeline => scm::pipeline(&scm::example_pipeline()),
            Self::Deletion => scm::deletion(&scm::example_deletion()),
            Self::Block => datanode::block(&datanode::example_block()),
            Self::Transaction => json!({ "snapshotInfo": {}, "transactionInfoString": "" }),
            Self::Text | Self::Bytes => "".into(),
            Self::Number => 0.into(),
        }
    }
}

/// Error of a value that does not decode.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NotDecoded(String);

fn shown<M: Message + Default>(value: &[u8], show: fn(&M) -> Value) -> Result<Value, NotDecoded> {
    M::decode(value).map(|message| show(&message)).map_err(|e| NotDecoded(e.to_string()))
}

/// A map with user-defined names. Ozone keeps them unordered.
fn map(entries: &[KeyValue]) -> Value {
    let entries = entries.iter().map(|kv| (kv.key.clone(), kv.value().into()));
    entries.collect::<Map<_, _>>().into()
}

/// An id as Java prints a `long`.
fn id(number: Option<u64>) -> Value {
    number.unwrap_or_default().cast_signed().into()
}

/// Bytes as hexadecimal digits.
fn hex(bytes: &[u8]) -> Value {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()
}

/// Adds an optional field.
fn add(value: &mut Value, name: &str, field: Option<Value>) {
    if let (Some(fields), Some(field)) = (value.as_object_mut(), field) {
        fields.insert(name.to_owned(), field);
    }
}

/// The replication, with the fields of Ozone's classes.
fn replication(
    kind: i32,
    factor: Option<i32>,
    ec: Option<&proto::hdds::EcReplicationConfig>,
) -> Value {
    let Some(ec) = ec else {
        let factor = factor.and_then(|f| proto::hdds::ReplicationFactor::try_from(f).ok());
        let kind = proto::hdds::ReplicationType::try_from(kind).ok();
        return json!({
            "replicationFactor": factor.map_or("UNKNOWN", |f| f.as_str_name()),
            "replicationType": kind.map_or("UNKNOWN", |k| k.as_str_name()),
        });
    };
    json!({
        "data": ec.data,
        "parity": ec.parity,
        "ecChunkSize": ec.ec_chunk_size,
        "codec": ec.codec.to_ascii_uppercase(),
        "replicationType": "EC",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_do_not_decode_are_refused_or_shown() {
        let forms = [
            ValueForm::Volume,
            ValueForm::Bucket,
            ValueForm::Key,
            ValueForm::Directory,
            ValueForm::DeletedKeys,
            ValueForm::Upload,
            ValueForm::Part,
            ValueForm::Snapshot,
            ValueForm::Container,
            ValueForm::Pipeline,
            ValueForm::Deletion,
            ValueForm::Block,
            ValueForm::Number,
        ];
        for form in forms {
            assert!(form.show(b"", b"\xff\xff\xff").is_err(), "{form:?}");
        }
        assert_eq!(ValueForm::Bytes.show(b"", b"\xff\0").unwrap(), "ff00");
        assert_eq!(ValueForm::Number.show(b"", &[0xff; 8]).unwrap(), -1);
        let position = ValueForm::Transaction.show(b"", b"1#47").unwrap();
        assert_eq!(position["transactionInfoString"], "1#47");
    }
}
