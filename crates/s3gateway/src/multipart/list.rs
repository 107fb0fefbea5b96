//! ListParts and ListMultipartUploads.

use std::collections::BTreeSet;

use client::KeyPath;
use s3s::dto::{
    ChecksumAlgorithm, CommonPrefix, ETag, Initiator, ListMultipartUploadsInput,
    ListMultipartUploadsOutput, ListPartsInput, ListPartsOutput, MultipartUpload, Owner, Part,
    StorageClass,
};
use s3s::{S3Request, S3Result};

use super::checksum::{Agreed, Told};
use crate::checksum_fields::set_checksum;
use crate::errors::{Subject, invalid_argument, s3_error};
use crate::gateway::Gateway;
use crate::listing::Encoding;
use crate::listing_owner;
use crate::refuse::refuse_customer_keys;
use crate::storage_class;
use crate::time::timestamp;

/// Maximum number of entries on a page; S3's limit.
const MOST: u32 = 1000;

fn initiator(user: &str) -> Initiator {
    let Owner { display_name, id } = listing_owner(user);
    Initiator { display_name, id }
}

pub(crate) async fn list_parts(
    gateway: &Gateway,
    request: S3Request<ListPartsInput>,
) -> S3Result<ListPartsOutput> {
    let client = gateway.client_of(request.credentials.as_ref());
    let input = request.input;
    refuse_customer_keys!(input);
    let limit = limit(input.max_parts, "max-parts")?;
    let after = input.part_number_marker.unwrap_or(0);
    let after = u32::try_from(after).map_err(|_| {
        invalid_argument("Argument part-number-marker must be an integer between 0 and 2147483647")
    })?;
    let path = KeyPath::new(gateway.volume(), &input.bucket, &input.key);
    let page = client
        .list_parts(&path, &input.upload_id, after, limit)
        .await
        .map_err(|e| s3_error(Subject::Upload, e))?;
    let parts: Vec<Part> = page
        .parts
        .into_iter()
        .map(|part| {
            let checksum = Told::of(&part);
            let mut listed = Part {
                e_tag: part.e_tag.map(ETag::Strong),
                last_modified: Some(timestamp(part.modification_time)),
                part_number: i32::try_from(part.part_number).ok(),
                size: i64::try_from(part.size).ok(),
                ..Default::default()
            };
            if let Told::Checksum(checksum) = &checksum {
                set_checksum!(listed, checksum);
            }
            listed
        })
        .collect();
    let agreed = page.checksum.as_deref().and_then(Agreed::parse);
    Ok(ListPartsOutput {
        checksum_algorithm: agreed
            .map(|agreed| ChecksumAlgorithm::from_static(agreed.algorithm.name())),
        checksum_type: agreed.map(Agreed::checksum_type),
        bucket: Some(input.bucket),
        key: Some(input.key),
        upload_id: Some(input.upload_id),
        initiator: Some(initiator(client.user())),
        owner: Some(listing_owner(client.user())),
        is_truncated: Some(page.next.is_some()),
        next_part_number_marker: page.next.and_then(|next| i32::try_from(next).ok()),
        part_number_marker: Some(after.cast_signed()),
        max_parts: Some(limit.cast_signed()),
        parts: (!parts.is_empty()).then_some(parts),
        storage_class: Some(StorageClass::from_static(storage_class::of(page.replication, None))),
        ..Default::default()
    })
}

pub(crate) async fn list_uploads(
    gateway: &Gateway,
    request: S3Request<ListMultipartUploadsInput>,
) -> S3Result<ListMultipartUploadsOutput> {
    let client = gateway.client_of(request.credentials.as_ref());
    let input = request.input;
    let encoding = Encoding::of(input.encoding_type.as_ref())?;
    let limit = limit(input.max_uploads, "max-uploads")? as usize;
    let prefix = input.prefix.clone().unwrap_or_default();
    let delimiter = input.delimiter.clone().filter(|d| !d.is_empty());
    // Without a key marker the upload id marker is ignored.
    let mut after = match &input.key_marker {
        Some(key) => (key.clone(), input.upload_id_marker.clone().unwrap_or_default()),
        None => Default::default(),
    };
    let (mut uploads, mut prefixes) = (Vec::new(), BTreeSet::new());
    let mut next = None;
    'pages: loop {
        let page = client
            .list_uploads(gateway.volume(), &input.bucket, &prefix, (&after.0, &after.1), MOST)
            .await
            .map_err(|e| s3_error(Subject::Upload, e))?;
        let more = page.next;
        for upload in page.uploads {
            let common = delimiter.as_deref().and_then(|delimiter| {
                let rest = upload.key_name.strip_prefix(&prefix)?;
                let end = prefix.len() + rest.find(delimiter)? + delimiter.len();
                upload.key_name.get(..end).map(str::to_owned)
            });
            let known = common.as_ref().is_some_and(|common| prefixes.contains(common));
            if !known && uploads.len() + prefixes.len() == limit {
                next = Some(after);
                break 'pages;
            }
            after = (upload.key_name.clone(), upload.upload_id.clone());
            match common {
                Some(common) => drop(prefixes.insert(common)),
                None => uploads.push(MultipartUpload {
                    initiated: Some(timestamp(upload.creation_time)),
                    initiator: Some(initiator(client.user())),
                    owner: Some(listing_owner(client.user())),
                    key: Some(upload.key_name),
                    upload_id: Some(upload.upload_id),
                    storage_class: Some(StorageClass::from_static(storage_class::of_wire(
                        Some(upload.r#type),
                        upload.factor,
                        upload.ec_replication_config.as_ref(),
                        None,
                    ))),
                    ..Default::default()
                }),
            }
        }
        match more {
            Some(more) => after = more,
            None => break,
        }
    }
    let (next_key, next_upload) = next.unzip();
    let asked = [input.prefix.as_deref(), delimiter.as_deref(), input.key_marker.as_deref()];
    let names = uploads.iter().filter_map(|upload| upload.key.as_deref());
    let names = names.chain(prefixes.iter().map(String::as_str));
    let encoding = encoding.carrying(names.chain(asked.into_iter().flatten()));
    for upload in &mut uploads {
        upload.key = upload.key.take().map(|name| encoding.name(name));
    }
    let common: Vec<CommonPrefix> = prefixes
        .into_iter()
        .map(|prefix| CommonPrefix { prefix: Some(encoding.name(prefix)) })
        .collect();
    Ok(ListMultipartUploadsOutput {
        bucket: Some(input.bucket),
        common_prefixes: (!common.is_empty()).then_some(common),
        delimiter: input.delimiter.map(|delimiter| encoding.name(delimiter)),
        encoding_type: encoding.dto(),
        is_truncated: Some(next_key.is_some()),
        key_marker: input.key_marker.map(|marker| encoding.name(marker)),
        max_uploads: i32::try_from(limit).ok(),
        next_key_marker: next_key.map(|marker| encoding.name(marker)),
        next_upload_id_marker: next_upload,
        prefix: input.prefix.map(|prefix| encoding.name(prefix)),
        upload_id_marker: input.upload_id_marker,
        uploads: (!uploads.is_empty()).then_some(uploads),
        ..Default::default()
    })
}

fn limit(wanted: Option<i32>, name: &str) -> S3Result<u32> {
    match wanted {
        None => Ok(MOST),
        Some(wanted) => u32::try_from(wanted).map(|wanted| wanted.clamp(1, MOST)).map_err(|_| {
            invalid_argument(format!("Argument {name} must be an integer between 0 and 2147483647"))
        }),
    }
}
