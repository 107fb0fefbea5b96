//! CompleteMultipartUpload.
//!
//! A client that lost the response retries: if the upload has already become an object of the
//! listed parts, the response is the same as the first time. The object stores the upload's id,
//! which identifies it.

use client::{Client, CompletedPart, ErrorKind, KeyPath};
use md5::{Digest as _, Md5};
use s3s::dto::{
    ChecksumType, CompleteMultipartUploadInput, CompleteMultipartUploadOutput,
    CompletedPart as NamedPart, ETag, ETagCondition,
};
use s3s::{S3Error, S3ErrorCode, S3Request, S3Result};

use super::checksum::Upload;
use crate::checksum_fields::set_checksum;
use crate::digest::{Algorithm, Checksum};
use crate::errors::{Subject, invalid_request, not_implemented, s3_error};
use crate::gateway::Gateway;
use crate::metadata::{ObjectMetadata, checksum_pair, value_of};
use crate::object::checksum_type;
use crate::refuse::{self, refuse_customer_keys};

/// Object metadata: the id of the upload that created it.
const UPLOAD_ID: &str = "s3:upload-id";

/// The object that an upload became.
struct Completed {
    etag: String,
    checksum: Option<Checksum>,
}

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
    let named = input.multipart_upload.as_ref().and_then(|upload| upload.parts.as_deref());
    let named = named.unwrap_or_default();
    let parts = parts(named)?;
    let claimed = claimed(&input)?;
    let path = KeyPath::new(gateway.volume(), &input.bucket, &input.key);
    let asked = Asked {
        client: &client,
        path: &path,
        upload_id: &input.upload_id,
        named,
        parts: &parts,
        claimed: claimed.as_ref(),
        kind: input.checksum_type.as_ref(),
        size: input.mpu_object_size,
        only_if_absent,
    };
    let done = match asked.complete().await {
        Err(error) if *error.code() == S3ErrorCode::NoSuchUpload => {
            asked.completed_before().await?.ok_or(error)?
        }
        done => done?,
    };
    let mut output = CompleteMultipartUploadOutput {
        location: Some(format!("/{}/{}", input.bucket, input.key)),
        bucket: Some(input.bucket),
        key: Some(input.key),
        e_tag: Some(ETag::Strong(done.etag)),
        ..Default::default()
    };
    if let Some(checksum) = &done.checksum {
        set_checksum!(output, checksum);
        output.checksum_type = Some(checksum_type(&checksum.value));
    }
    Ok(output)
}

/// A parsed request.
struct Asked<'a> {
    client: &'a Client,
    path: &'a KeyPath,
    upload_id: &'a str,
    named: &'a [NamedPart],
    parts: &'a [CompletedPart],
    claimed: Option<&'a Checksum>,
    kind: Option<&'a ChecksumType>,
    size: Option<i64>,
    only_if_absent: bool,
}

impl Asked<'_> {
    async fn complete(&self) -> S3Result<Completed> {
        let upload = Upload::load(self.client, self.path, self.upload_id).await?;
        let checksum = upload.whole(self.named, self.claimed, self.kind)?;
        if let Some(expected) = self.size {
            let parts = self.parts.iter().filter_map(|part| upload.parts.get(&part.part_number));
            let size = parts.fold(0u64, |sum, part| sum.saturating_add(part.size));
            if u64::try_from(expected) != Ok(size) {
                return Err(invalid_request(format!(
                    "The provided 'x-amz-mp-object-size' header value {expected} does not match what was computed: \
                     {size}"
                )));
            }
        }
        let mut metadata = vec![(UPLOAD_ID.to_owned(), self.upload_id.to_owned())];
        metadata.extend(checksum.as_ref().map(checksum_pair));
        let (path, id) = (self.path, self.upload_id);
        let done = self.client.complete_upload(path, id, self.parts, metadata, self.only_if_absent);
        let done = done.await.map_err(|e| s3_error(Subject::Upload, e))?;
        Ok(Completed { etag: done.etag, checksum })
    }

    /// The object that this upload became, if it matches the request and still exists.
    ///
    /// # Errors
    /// If OM cannot tell: a client that receives NoSuchUpload gives up the object.
    async fn completed_before(&self) -> S3Result<Option<Completed>> {
        let info = match self.client.key_info(self.path).await {
            Ok(info) => info,
            // A user without access to the object gets an error about the upload, which no longer
            // exists.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Denied) => {
                return Ok(None);
            }
            Err(error) => return Err(s3_error(Subject::Object, error)),
        };
        let metadata = ObjectMetadata::of_key(&info.metadata);
        let (Some(etag), checksum) = (metadata.etag, metadata.checksum) else { return Ok(None) };
        let is_of_upload = value_of(&info.metadata, UPLOAD_ID) == Some(self.upload_id);
        let is_of_parts = e_tag_of(self.parts).is_some_and(|expected| expected == etag);
        let is_of_size = self.size.is_none_or(|size| u64::try_from(size) == Ok(info.data_size));
        let kind = checksum.as_ref().map(|checksum| checksum_type(&checksum.value));
        let is_of_kind = self.kind.is_none_or(|said| kind.as_ref() == Some(said));
        let is_claimed = self.claimed.is_none_or(|claimed| {
            checksum.as_ref().is_some_and(|checksum| checksum.is_claimed_as(claimed))
        });
        let is_same = is_of_upload && is_of_parts && is_of_size && is_of_kind && is_claimed;
        Ok(is_same.then_some(Completed { etag, checksum }))
    }
}

/// The ETag of an object made of parts with these ETags: the MD5 over their MD5s, and their number.
fn e_tag_of(parts: &[CompletedPart]) -> Option<String> {
    let mut md5 = Md5::new();
    for part in parts {
        let mut digest = [0; 16];
        hex::decode_to_slice(&part.etag, &mut digest).ok()?;
        md5.update(digest);
    }
    Some(format!("{}-{}", hex::encode(md5.finalize()), parts.len()))
}

/// The checksum that a request claims for the object.
fn claimed(input: &CompleteMultipartUploadInput) -> S3Result<Option<Checksum>> {
    let claimed = [
        (Algorithm::Crc32, &input.checksum_crc32),
        (Algorithm::Crc32c, &input.checksum_crc32c),
        (Algorithm::Crc64Nvme, &input.checksum_crc64nvme),
        (Algorithm::Sha1, &input.checksum_sha1),
        (Algorithm::Sha256, &input.checksum_sha256),
    ];
    let mut claimed = claimed
        .into_iter()
        .filter_map(|(algorithm, value)| value.clone().map(|value| Checksum { algorithm, value }));
    match (claimed.next(), claimed.next()) {
        (_, Some(_)) => Err(invalid_request("Expecting a single x-amz-checksum- header")),
        (one, None) => Ok(one),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn part(number: i32) -> NamedPart {
        NamedPart {
            part_number: Some(number),
            e_tag: Some(ETag::Strong(format!("e{number}"))),
            ..Default::default()
        }
    }

    #[test]
    fn parts_need_numbers_and_etags() {
        assert!(parts(&[]).is_err());
        assert!(parts(&[NamedPart::default()]).is_err());
        assert!(parts(&[part(0)]).is_err());
        assert_eq!(parts(&[part(3)]).unwrap()[0].etag, "e3");
    }

    #[test]
    fn the_etag_of_the_whole_is_that_of_om() {
        // MD5 of `a` and `b`.
        let etags = ["0cc175b9c0f1b6a831c399e269772661", "92eb5ffee6ae2fec3ad71c777531578f"];
        let part = |(part_number, etag): (u32, &&str)| CompletedPart {
            part_number,
            etag: (*etag).to_owned(),
        };
        let parts: Vec<_> = (1..).zip(&etags).map(part).collect();
        assert_eq!(e_tag_of(&parts).as_deref(), Some("96e024ba2074fe77e8e965ba43a704be-2"));
        let text = CompletedPart { part_number: 1, etag: "etag1".to_owned() };
        assert_eq!(e_tag_of(&[text]), None);
    }

    #[test]
    fn one_checksum_is_claimed_at_most() {
        let mut input = CompleteMultipartUploadInput {
            checksum_crc32: Some("y/Q5Jg==".to_owned()),
            ..Default::default()
        };
        assert!(claimed(&input).unwrap().is_some());
        input.checksum_sha1 = Some("98O8HYCOBHMq32eZZczDTKeuNEE=".to_owned());
        assert!(claimed(&input).is_err());
    }
}
