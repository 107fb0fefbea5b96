//! CompleteMultipartUpload.
//!
//! The checksum of the whole is made of what the client says of the parts: each part was verified
//! against the same value when it came, and OM compares the parts' ETags.

use std::collections::HashMap;

use client::{Client, CompletedPart, KeyPath};
use s3s::dto::{
    ChecksumType, CompleteMultipartUploadInput, CompleteMultipartUploadOutput,
    CompletedPart as NamedPart, ETag, ETagCondition,
};
use s3s::{S3Error, S3ErrorCode, S3Request, S3Result};

use crate::checksum_fields::set_checksum;
use crate::digest::{Algorithm, Checksum, combined, composite};
use crate::errors::{Subject, invalid_request, not_implemented, s3_error};
use crate::gateway::Gateway;
use crate::metadata::checksum_pair;
use crate::refuse::{self, refuse_customer_keys};

pub(crate) async fn complete(
    gateway: &Gateway,
    request: S3Request<CompleteMultipartUploadInput>,
) -> S3Result<CompleteMultipartUploadOutput> {
    let client = gateway.client_of(request.credentials.as_ref());
    let input = request.input;
    refuse_customer_keys!(input);
    let only_if_absent = match (&input.if_none_match, &input.if_match) {
        (None, None) => false,
        (Some(ETagCondition::Any), None) => true,
        _ => return Err(not_implemented("If-Match of CompleteMultipartUpload")),
    };
    let named = input.multipart_upload.and_then(|upload| upload.parts).unwrap_or_default();
    let parts = parts(&named)?;
    let path = KeyPath::new(gateway.volume(), &input.bucket, &input.key);
    let failed = |e| s3_error(Subject::Upload, e);

    let claimed = [
        (Algorithm::Crc32, &input.checksum_crc32),
        (Algorithm::Crc32c, &input.checksum_crc32c),
        (Algorithm::Crc64Nvme, &input.checksum_crc64nvme),
        (Algorithm::Sha1, &input.checksum_sha1),
        (Algorithm::Sha256, &input.checksum_sha256),
    ];
    let claimed = claimed
        .into_iter()
        .find_map(|(algorithm, value)| value.clone().map(|value| Checksum { algorithm, value }));
    let sizes = match needs_sizes(
        &named,
        claimed.as_ref(),
        input.checksum_type.as_ref(),
        input.mpu_object_size,
    ) {
        true => sizes(&client, &path, &input.upload_id).await?,
        false => HashMap::new(),
    };
    let checksum = whole_checksum(&named, claimed, input.checksum_type.as_ref(), &sizes)?;
    if let Some(expected) = input.mpu_object_size {
        let size: u64 = parts.iter().filter_map(|p| sizes.get(&p.part_number)).sum();
        if u64::try_from(expected) != Ok(size) {
            return Err(invalid_request(format!(
                "The provided 'x-amz-mp-object-size' header value {expected} does not match what was computed: {size}"
            )));
        }
    }
    let metadata = checksum.as_ref().map(checksum_pair).into_iter().collect();
    let done = client
        .complete_upload(&path, &input.upload_id, &parts, metadata, only_if_absent)
        .await
        .map_err(failed)?;
    let mut output = CompleteMultipartUploadOutput {
        location: Some(format!("/{}/{}", input.bucket, input.key)),
        bucket: Some(input.bucket),
        key: Some(input.key),
        e_tag: Some(ETag::Strong(done.etag)),
        ..Default::default()
    };
    if let Some(checksum) = &checksum {
        set_checksum!(output, checksum);
        output.checksum_type = Some(crate::object::checksum_type(&checksum.value));
    }
    Ok(output)
}

fn parts(named: &[NamedPart]) -> S3Result<Vec<CompletedPart>> {
    let malformed = || {
        S3Error::with_message(
            S3ErrorCode::MalformedXML,
            "The XML you provided was not well-formed or did not validate against our published schema",
        )
    };
    if named.is_empty() {
        return Err(malformed());
    }
    named
        .iter()
        .map(|part| {
            let number = part.part_number.ok_or_else(malformed)?;
            let etag = part.e_tag.as_ref().ok_or_else(malformed)?;
            Ok(CompletedPart {
                part_number: refuse::part_number(number)?,
                etag: etag.value().to_owned(),
            })
        })
        .collect()
}

/// The checksum that a client says a part has.
fn of_part(part: &NamedPart) -> Option<(Algorithm, &str)> {
    let values = [
        (Algorithm::Crc32, &part.checksum_crc32),
        (Algorithm::Crc32c, &part.checksum_crc32c),
        (Algorithm::Crc64Nvme, &part.checksum_crc64nvme),
        (Algorithm::Sha1, &part.checksum_sha1),
        (Algorithm::Sha256, &part.checksum_sha256),
    ];
    values.into_iter().find_map(|(algorithm, value)| Some((algorithm, value.as_deref()?)))
}

fn is_full_object(
    algorithm: Algorithm,
    claimed: Option<&Checksum>,
    kind: Option<&ChecksumType>,
) -> bool {
    match kind.map(ChecksumType::as_str) {
        Some(kind) => kind == ChecksumType::FULL_OBJECT,
        None => {
            algorithm == Algorithm::Crc64Nvme
                || claimed.is_some_and(|claimed| !claimed.value.contains('-'))
        }
    }
}

fn needs_sizes(
    named: &[NamedPart],
    claimed: Option<&Checksum>,
    kind: Option<&ChecksumType>,
    object_size: Option<i64>,
) -> bool {
    let full = named
        .first()
        .and_then(of_part)
        .is_some_and(|(algorithm, _)| is_full_object(algorithm, claimed, kind));
    full || object_size.is_some()
}

async fn sizes(client: &Client, path: &KeyPath, upload_id: &str) -> S3Result<HashMap<u32, u64>> {
    let mut sizes = HashMap::new();
    let mut after = 0;
    loop {
        let page = client
            .list_parts(path, upload_id, after, 1000)
            .await
            .map_err(|e| s3_error(Subject::Upload, e))?;
        sizes.extend(page.parts.iter().map(|part| (part.part_number, part.size)));
        match page.next {
            Some(next) => after = next,
            None => return Ok(sizes),
        }
    }
}

/// The checksum of the whole from those of its parts; none when the client names none.
fn whole_checksum(
    named: &[NamedPart],
    claimed: Option<Checksum>,
    kind: Option<&ChecksumType>,
    sizes: &HashMap<u32, u64>,
) -> S3Result<Option<Checksum>> {
    let Some((algorithm, _)) = named.first().and_then(of_part) else {
        // Nothing to make it of, and nothing to verify the client's value with.
        return match claimed {
            None => Ok(None),
            Some(_) => Err(invalid_request(
                "One or more of the specified parts lacks the checksum that the checksum of the object is made of.",
            )),
        };
    };
    let mut values = Vec::with_capacity(named.len());
    for part in named {
        match of_part(part) {
            Some((other, value)) if other == algorithm => {
                let number = part.part_number.and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
                values.push((value, sizes.get(&number).copied().unwrap_or(0)));
            }
            _ => {
                return Err(invalid_request(format!(
                    "The upload was created using a {} checksum. The complete request must include the checksum for \
                     each part. It was missing for part {} in the request.",
                    algorithm.name().to_ascii_lowercase(),
                    part.part_number.unwrap_or(0)
                )));
            }
        }
    }
    let whole = match is_full_object(algorithm, claimed.as_ref(), kind) {
        true => combined(algorithm, &values)?,
        false => {
            let values: Vec<&str> = values.iter().map(|(value, _)| *value).collect();
            composite(algorithm, &values)?
        }
    };
    if let Some(claimed) = claimed {
        // The count behind a composite value may be left out.
        let same = claimed.algorithm == algorithm
            && (claimed.value == whole.value
                || whole.value.split_once('-').is_some_and(|(value, _)| value == claimed.value));
        if !same {
            return Err(S3Error::with_message(
                S3ErrorCode::BadDigest,
                format!(
                    "The {} you specified did not match the calculated checksum.",
                    claimed.algorithm.name()
                ),
            ));
        }
    }
    Ok(Some(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(number: i32, crc32: Option<&str>) -> NamedPart {
        NamedPart {
            part_number: Some(number),
            e_tag: Some(ETag::Strong(format!("e{number}"))),
            checksum_crc32: crc32.map(str::to_owned),
            ..Default::default()
        }
    }

    #[test]
    fn the_whole_gets_a_composite_checksum_of_its_parts() {
        let named = [part(1, Some("y/Q5Jg==")), part(2, Some("y/Q5Jg=="))];
        let whole = whole_checksum(&named, None, None, &HashMap::new()).unwrap().unwrap();
        assert!(whole.value.ends_with("-2"));
        let claimed = Checksum { algorithm: Algorithm::Crc32, value: whole.value.clone() };
        assert!(whole_checksum(&named, Some(claimed), None, &HashMap::new()).is_ok());
        let wrong = Checksum { algorithm: Algorithm::Crc32, value: "AAAAAA==-2".into() };
        let error = whole_checksum(&named, Some(wrong), None, &HashMap::new()).unwrap_err();
        assert_eq!(error.code().as_str(), "BadDigest");
    }

    #[test]
    fn a_part_without_checksum_among_others_is_refused() {
        let named = [part(1, Some("y/Q5Jg==")), part(2, None)];
        assert!(whole_checksum(&named, None, None, &HashMap::new()).is_err());
        let none = [part(1, None), part(2, None)];
        assert_eq!(whole_checksum(&none, None, None, &HashMap::new()).unwrap(), None);
    }

    #[test]
    fn parts_need_numbers_and_etags() {
        assert!(parts(&[]).is_err());
        assert!(parts(&[NamedPart::default()]).is_err());
        assert!(parts(&[part(0, None)]).is_err());
        assert_eq!(parts(&[part(3, None)]).unwrap()[0].etag, "e3");
    }
}
