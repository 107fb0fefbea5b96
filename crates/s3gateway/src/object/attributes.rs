//! GetObjectAttributes.

use client::KeyPath;
use s3s::dto::{
    Checksum as ChecksumDto, GetObjectAttributesInput, GetObjectAttributesOutput,
    GetObjectAttributesParts, ObjectAttributes, StorageClass,
};
use s3s::{S3Request, S3Result};

use super::get::checksum_type;
use crate::checksum_fields::set_checksum;
use crate::errors::{Subject, s3_error};
use crate::gateway::Gateway;
use crate::metadata::ObjectMetadata;
use crate::refuse::{self, refuse_customer_keys};
use crate::storage_class;
use crate::time::timestamp;

pub(crate) async fn attributes(
    gateway: &Gateway,
    request: S3Request<GetObjectAttributesInput>,
) -> S3Result<GetObjectAttributesOutput> {
    let client = gateway.client_of(request.credentials.as_ref());
    let input = request.input;
    refuse::version(input.version_id.as_deref())?;
    refuse_customer_keys!(input);
    let path = KeyPath::new(gateway.volume(), input.bucket, input.key);
    let info = client.key_info(&path).await.map_err(|e| s3_error(Subject::Object, e))?;
    let metadata = ObjectMetadata::of_key(&info.metadata);
    let mut output = GetObjectAttributesOutput {
        last_modified: Some(timestamp(info.modification_time)),
        ..Default::default()
    };
    // Clients send one header with commas, or several headers.
    let wanted = input.object_attributes.iter().flat_map(|a| a.as_str().split(','));
    for attribute in wanted.map(str::trim) {
        match attribute {
            ObjectAttributes::ETAG => {
                output.e_tag = Some(metadata.etag_or(info.object_id(), info.update_id()));
            }
            ObjectAttributes::OBJECT_SIZE => {
                output.object_size = i64::try_from(info.data_size).ok();
            }
            ObjectAttributes::STORAGE_CLASS => {
                output.storage_class = Some(StorageClass::from_static(storage_class::of_wire(
                    Some(info.r#type),
                    info.factor,
                    info.ec_replication_config.as_ref(),
                    metadata.policy.as_deref(),
                )));
            }
            ObjectAttributes::CHECKSUM => {
                output.checksum = metadata.checksum.as_ref().map(|checksum| {
                    let mut dto = ChecksumDto::default();
                    set_checksum!(dto, checksum);
                    dto.checksum_type = Some(checksum_type(&checksum.value));
                    dto
                });
            }
            ObjectAttributes::OBJECT_PARTS => output.object_parts = parts(&info),
            other => {
                return Err(crate::errors::invalid_argument(format!(
                    "Invalid attribute name specified: {other}"
                )));
            }
        }
    }
    Ok(output)
}

/// Number of parts of a multipart object; `None` for an object of one piece.
fn parts(info: &proto::ozone::KeyInfo) -> Option<GetObjectAttributesParts> {
    let version = info.key_location_list.last().filter(|v| v.is_multipart_key())?;
    let mut numbers: Vec<_> = version.key_locations.iter().map(|l| l.part_number()).collect();
    numbers.dedup();
    Some(GetObjectAttributesParts {
        total_parts_count: i32::try_from(numbers.len()).ok(),
        ..Default::default()
    })
}
