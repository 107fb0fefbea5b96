//! Unsupported features: a header that requests encryption, locks or ACLs is refused, never
//! ignored.

use s3s::S3Result;
use s3s::dto::{
    CopyObjectInput, CreateBucketInput, CreateMultipartUploadInput, ObjectCannedACL,
    ObjectOwnership, PutObjectInput,
};

use crate::errors::{custom, invalid_argument, not_implemented};

/// Refuses every set field of an input.
macro_rules! refuse {
    ($input:expr, $($field:ident => $what:literal),* $(,)?) => {
        $(if $input.$field.is_some() {
            return Err(not_implemented($what));
        })*
    };
}

/// Refuses headers that all object-creating requests share.
macro_rules! refuse_for_objects {
    ($input:expr) => {
        refuse!($input,
            server_side_encryption => "x-amz-server-side-encryption",
            ssekms_key_id => "x-amz-server-side-encryption-aws-kms-key-id",
            ssekms_encryption_context => "x-amz-server-side-encryption-context",
            sse_customer_algorithm => "x-amz-server-side-encryption-customer-algorithm",
            sse_customer_key => "x-amz-server-side-encryption-customer-key",
            object_lock_mode => "x-amz-object-lock-mode",
            object_lock_legal_hold_status => "x-amz-object-lock-legal-hold",
            object_lock_retain_until_date => "x-amz-object-lock-retain-until-date",
            website_redirect_location => "x-amz-website-redirect-location",
            grant_full_control => "x-amz-grant-full-control",
            grant_read => "x-amz-grant-read",
            grant_read_acp => "x-amz-grant-read-acp",
            grant_write_acp => "x-amz-grant-write-acp",
        );
        if $input.bucket_key_enabled == Some(true) {
            return Err(not_implemented("x-amz-server-side-encryption-bucket-key-enabled"));
        }
        canned_acl($input.acl.as_ref())?;
    };
}

pub(crate) fn put_object(input: &PutObjectInput) -> S3Result<()> {
    refuse_for_objects!(input);
    refuse!(input, write_offset_bytes => "x-amz-write-offset-bytes");
    Ok(())
}

pub(crate) fn copy_object(input: &CopyObjectInput) -> S3Result<()> {
    refuse_for_objects!(input);
    refuse!(input,
        copy_source_sse_customer_algorithm =>
            "x-amz-copy-source-server-side-encryption-customer-algorithm",
        copy_source_sse_customer_key => "x-amz-copy-source-server-side-encryption-customer-key",
    );
    Ok(())
}

pub(crate) fn create_upload(input: &CreateMultipartUploadInput) -> S3Result<()> {
    refuse_for_objects!(input);
    Ok(())
}

/// Refuses encryption with customer keys on inputs without other such headers.
macro_rules! refuse_customer_keys {
    ($input:expr) => {
        if $input.sse_customer_algorithm.is_some() || $input.sse_customer_key.is_some() {
            return Err($crate::errors::not_implemented(
                "x-amz-server-side-encryption-customer-algorithm",
            ));
        }
    };
}
pub(crate) use refuse_customer_keys;

pub(crate) fn create_bucket(input: &CreateBucketInput) -> S3Result<()> {
    refuse!(input,
        grant_full_control => "x-amz-grant-full-control",
        grant_read => "x-amz-grant-read",
        grant_read_acp => "x-amz-grant-read-acp",
        grant_write => "x-amz-grant-write",
        grant_write_acp => "x-amz-grant-write-acp",
    );
    if let Some(configuration) = &input.create_bucket_configuration {
        refuse!(configuration,
            bucket => "Bucket of CreateBucketConfiguration: directory buckets",
            location => "Location of CreateBucketConfiguration: directory buckets",
        );
    }
    if input.object_lock_enabled_for_bucket == Some(true) {
        return Err(not_implemented("x-amz-bucket-object-lock-enabled"));
    }
    if let Some(acl) = input.acl.as_ref().map(|acl| acl.as_str())
        && acl != "private"
    {
        return Err(not_implemented(&format!("x-amz-acl: {acl}")));
    }
    // An object belongs to the owner of its bucket, and S3 ACLs are not supported.
    if let Some(ownership) = input.object_ownership.as_ref().map(ObjectOwnership::as_str)
        && ownership != ObjectOwnership::BUCKET_OWNER_ENFORCED
    {
        return Err(not_implemented(&format!("x-amz-object-ownership: {ownership}")));
    }
    Ok(())
}

/// Accepts ACLs that describe the actual permissions.
fn canned_acl(acl: Option<&ObjectCannedACL>) -> S3Result<()> {
    match acl.map(ObjectCannedACL::as_str) {
        None | Some("private" | "bucket-owner-full-control" | "bucket-owner-read") => Ok(()),
        Some(acl) => Err(not_implemented(&format!("x-amz-acl: {acl}"))),
    }
}

/// Checks a version id: the only version of an object is `null`.
pub(crate) fn version(id: Option<&str>) -> S3Result<()> {
    match id {
        None | Some("null") => Ok(()),
        Some(_) => Err(invalid_argument("Invalid version id specified")),
    }
}

/// Checks a part number.
pub(crate) fn part_number(number: i32) -> S3Result<u32> {
    match u32::try_from(number) {
        Ok(number @ 1..=10_000) => Ok(number),
        _ => Err(invalid_argument("Part number must be an integer between 1 and 10000, inclusive")),
    }
}

/// Parses tags of the header form `k1=v1&k2=v2`.
pub(crate) fn tags_of_header(header: Option<&str>) -> S3Result<Vec<(String, String)>> {
    let decode = |text: &str| {
        let text = text.replace('+', " ");
        percent_encoding::percent_decode_str(&text)
            .decode_utf8()
            .map(|text| text.into_owned())
            .map_err(|_| invalid_argument("The header 'x-amz-tagging' shall be encoded as UTF-8"))
    };
    let Some(header) = header.filter(|header| !header.is_empty()) else { return Ok(Vec::new()) };
    let pairs = header
        .split('&')
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(key)?, decode(value)?))
        })
        .collect::<S3Result<Vec<_>>>()?;
    check_tags(&pairs)?;
    Ok(pairs)
}

/// Checks the rules of object tags.
pub(crate) fn check_tags(tags: &[(String, String)]) -> S3Result<()> {
    let invalid = |message: &str| {
        Err(s3s::S3Error::with_message(s3s::S3ErrorCode::InvalidTag, message.to_owned()))
    };
    if tags.len() > 10 {
        return Err(custom(
            "BadRequest",
            http::StatusCode::BAD_REQUEST,
            "Object tags cannot be greater than 10",
        ));
    }
    for (index, (key, value)) in tags.iter().enumerate() {
        if key.is_empty() || key.chars().count() > 128 {
            return invalid("The TagKey you have provided is invalid");
        }
        if value.chars().count() > 256 {
            return invalid("The TagValue you have provided is invalid");
        }
        if key.starts_with("aws:") {
            return invalid("System tags cannot be added/updated by requester");
        }
        if tags.iter().take(index).any(|(other, _)| other == key) {
            return invalid("Cannot provide multiple Tags with the same key");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use s3s::dto::{BucketInfo, CreateBucketConfiguration, LocationInfo};

    use super::*;

    #[test]
    fn who_owns_objects_is_not_chosen() {
        let create = |ownership: &'static str| {
            let object_ownership = Some(ObjectOwnership::from_static(ownership));
            create_bucket(&CreateBucketInput { object_ownership, ..Default::default() })
        };
        assert!(create(ObjectOwnership::BUCKET_OWNER_ENFORCED).is_ok());
        for ownership in [ObjectOwnership::OBJECT_WRITER, ObjectOwnership::BUCKET_OWNER_PREFERRED] {
            assert_eq!(create(ownership).unwrap_err().code().as_str(), "NotImplemented");
        }
    }

    #[test]
    fn a_directory_bucket_is_refused() {
        let create = |configuration| {
            let create_bucket_configuration = Some(configuration);
            let input = CreateBucketInput { create_bucket_configuration, ..Default::default() };
            create_bucket(&input).map_err(|error| error.code().as_str().to_owned())
        };
        let plain = CreateBucketConfiguration::default;
        assert_eq!(create(plain()), Ok(()));
        for asked in [
            CreateBucketConfiguration { bucket: Some(BucketInfo::default()), ..plain() },
            CreateBucketConfiguration { location: Some(LocationInfo::default()), ..plain() },
        ] {
            assert_eq!(create(asked), Err("NotImplemented".to_owned()));
        }
    }

    #[test]
    fn whatever_asks_for_encryption_is_refused() {
        let put =
            |input: PutObjectInput| put_object(&input).map_err(|e| e.code().as_str().to_owned());
        let key = |bucket_key_enabled| PutObjectInput { bucket_key_enabled, ..Default::default() };
        let context = Some("e30=".to_owned());
        let context = PutObjectInput { ssekms_encryption_context: context, ..Default::default() };
        assert_eq!(put(key(Some(false))), Ok(()));
        for asked in [key(Some(true)), context] {
            assert_eq!(put(asked), Err("NotImplemented".to_owned()));
        }
    }

    #[test]
    fn tags_are_read_from_their_header() {
        let tags = tags_of_header(Some("a=1&b=x%26y+z&c")).unwrap();
        let expected = [("a", "1"), ("b", "x&y z"), ("c", "")];
        assert_eq!(tags, expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
        assert!(tags_of_header(None).unwrap().is_empty());
    }

    #[test]
    fn bad_tags_are_refused() {
        let many = (0..11).map(|i| format!("k{i}=v")).collect::<Vec<_>>().join("&");
        let long_key = format!("{}=v", "k".repeat(129));
        let long_value = format!("k={}", "v".repeat(257));
        for header in [many.as_str(), &long_key, &long_value, "a=1&a=2", "=v", "aws:x=1", "a=%ff"] {
            assert!(tags_of_header(Some(header)).is_err(), "{header}");
        }
    }

    #[test]
    fn part_numbers_have_bounds() {
        assert_eq!(part_number(1).unwrap(), 1);
        assert_eq!(part_number(10_000).unwrap(), 10_000);
        for number in [0, -1, 10_001] {
            assert!(part_number(number).is_err());
        }
    }
}
