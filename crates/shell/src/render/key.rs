//! Keys.

use proto::ozone::{BasicKeyInfo, KeyInfo};
use serde_json::{Value, json};

use super::{pairs, replication, time::millis};

/// A row of a listing.
pub(crate) fn listed(volume: &str, bucket: &str, k: &BasicKeyInfo) -> Value {
    json!({
        "volumeName": volume,
        "bucketName": bucket,
        "name": k.key_name(),
        "owner": k.owner_name(),
        "dataSize": k.data_size(),
        "creationTime": millis(k.creation_time()),
        "modificationTime": millis(k.modification_time()),
        "replicationConfig":
            replication::wire(k.r#type.unwrap_or(0), k.factor, k.ec_replication_config.as_ref()),
        "metadata": {},
        "tags": {},
        "file": k.is_file.unwrap_or(true),
    })
}

/// All information about a key, including the locations of its blocks.
pub(crate) fn key(k: &KeyInfo) -> Value {
    let mut offset = 0;
    let locations: Vec<Value> = k
        .key_location_list
        .last()
        .map(|version| version.key_locations.as_slice())
        .unwrap_or_default()
        .iter()
        .map(|l| {
            let location = json!({
                "containerID": l.block_id.container_block_id.container_id,
                "localID": l.block_id.container_block_id.local_id,
                "length": l.length,
                "offset": l.offset,
                "keyOffset": offset,
            });
            offset += l.length;
            location
        })
        .collect();
    json!({
        "volumeName": k.volume_name,
        "bucketName": k.bucket_name,
        "name": k.key_name,
        "owner": k.owner_name(),
        "dataSize": k.data_size,
        "creationTime": millis(k.creation_time),
        "modificationTime": millis(k.modification_time),
        "replicationConfig":
            replication::wire(k.r#type, k.factor, k.ec_replication_config.as_ref()),
        "metadata": pairs(&k.metadata),
        "tags": pairs(&k.tags),
        "ozoneKeyLocations": locations,
        "generation": k.update_id(),
        "file": k.is_file.unwrap_or(true),
    })
}

#[cfg(test)]
mod tests {
    use proto::ozone::{KeyLocation, KeyLocationList};

    use super::*;

    fn fields(value: &Value) -> String {
        let fields: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        fields.join(" ")
    }

    #[test]
    fn a_listed_key_looks_like_ozones() {
        let wanted = "volumeName bucketName name owner dataSize creationTime modificationTime \
                      replicationConfig metadata tags file";
        assert_eq!(fields(&listed("vol1", "bucket1", &BasicKeyInfo::default())), wanted);
    }

    #[test]
    fn a_key_shows_where_its_blocks_are() {
        let block = |length| KeyLocation { length, ..KeyLocation::default() };
        let versions = KeyLocationList {
            key_locations: vec![block(4), block(3)],
            ..KeyLocationList::default()
        };
        let value = key(&KeyInfo {
            data_size: 7,
            key_location_list: vec![versions],
            update_id: Some(15),
            ..KeyInfo::default()
        });
        let wanted = "volumeName bucketName name owner dataSize creationTime modificationTime \
                      replicationConfig metadata tags ozoneKeyLocations generation file";
        assert_eq!(fields(&value), wanted);
        assert_eq!(value["generation"], 15);
        let second = &value["ozoneKeyLocations"][1];
        assert_eq!(fields(second), "containerID localID length offset keyOffset");
        assert_eq!((&second["keyOffset"], &second["length"]), (&4.into(), &3.into()));
    }
}
