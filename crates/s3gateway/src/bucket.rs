//! Buckets: list, create, head, location, delete.

use client::{BucketSpec, ErrorKind};
use futures::TryStreamExt;
use proto::ozone::{BucketInfo, Status};
use s3s::dto::{
    Bucket, BucketLocationConstraint, CreateBucketInput, CreateBucketOutput, DeleteBucketInput,
    DeleteBucketOutput, GetBucketLocationInput, GetBucketLocationOutput, HeadBucketInput,
    HeadBucketOutput, ListBucketsInput, ListBucketsOutput,
};
use s3s::{S3Error, S3ErrorCode, S3Request, S3Result};

use crate::errors::{Subject, invalid_argument, s3_error};
use crate::gateway::Gateway;
use crate::listing_owner;
use crate::refuse;
use crate::time::timestamp;

/// The region that GetBucketLocation reports as an empty constraint.
const CLASSIC_REGION: &str = "us-east-1";

/// Default and maximum number of buckets on a page.
const MOST_BUCKETS: i32 = 10_000;

pub(crate) async fn list(
    gateway: &Gateway,
    request: S3Request<ListBucketsInput>,
) -> S3Result<ListBucketsOutput> {
    let client = gateway.client_of(request.credentials.as_ref());
    let input = request.input;
    let most = input.max_buckets.unwrap_or(MOST_BUCKETS);
    let most = usize::try_from(most)
        .ok()
        .filter(|most| (1..=MOST_BUCKETS as usize).contains(most))
        .ok_or_else(|| {
            invalid_argument("Argument max-buckets must be an integer between 1 and 10000")
        })?;
    let prefix = input.prefix.clone().unwrap_or_default();
    let after = input.continuation_token.as_deref().unwrap_or_default();
    let mut found: Vec<BucketInfo> = Vec::new();
    let mut buckets = Box::pin(client.list_buckets(gateway.volume(), &prefix, after));
    let mut more = false;
    while let Some(bucket) = buckets.try_next().await.map_err(|e| s3_error(Subject::Bucket, e))? {
        if found.len() == most {
            more = true;
            break;
        }
        found.push(bucket);
    }
    let next = found.last().filter(|_| more).map(|bucket| bucket.bucket_name.clone());
    let region = gateway.region();
    let bucket = |bucket: BucketInfo| Bucket {
        bucket_region: Some(region.to_owned()),
        creation_date: Some(timestamp(bucket.creation_time())),
        name: Some(bucket.bucket_name),
    };
    Ok(ListBucketsOutput {
        buckets: Some(found.into_iter().map(bucket).collect()),
        continuation_token: next,
        owner: Some(listing_owner(client.user())),
        prefix: input.prefix,
    })
}

pub(crate) async fn create(
    gateway: &Gateway,
    request: S3Request<CreateBucketInput>,
) -> S3Result<CreateBucketOutput> {
    let client = gateway.client_of(request.credentials.as_ref());
    let input = request.input;
    refuse::create_bucket(&input)?;
    let wanted = input.create_bucket_configuration.and_then(|c| c.location_constraint);
    if let Some(wanted) = wanted
        && !wanted.as_str().is_empty()
        && wanted.as_str() != gateway.region()
    {
        return Err(S3Error::with_message(
            S3ErrorCode::InvalidLocationConstraint,
            "The specified location-constraint is not valid",
        ));
    }
    let spec = BucketSpec { layout: Some(gateway.bucket_layout()), ..BucketSpec::default() };
    match client.create_bucket(gateway.volume(), &input.bucket, spec).await {
        Ok(()) => Ok(CreateBucketOutput { location: Some(format!("/{}", input.bucket)) }),
        Err(error) if error.is_status(Status::BucketAlreadyExists) => {
            let info = client.bucket_info(gateway.volume(), &input.bucket).await;
            if info.is_ok_and(|info| info.owner() == client.user()) {
                return Err(S3Error::with_message(
                    S3ErrorCode::BucketAlreadyOwnedByYou,
                    "Your previous request to create the named bucket succeeded and you already own it.",
                ));
            }
            Err(s3_error(Subject::Bucket, error))
        }
        Err(error) => Err(s3_error(Subject::Bucket, error)),
    }
}

pub(crate) async fn head(
    gateway: &Gateway,
    request: S3Request<HeadBucketInput>,
) -> S3Result<HeadBucketOutput> {
    exists(gateway, request.credentials.as_ref(), &request.input.bucket).await?;
    Ok(HeadBucketOutput { bucket_region: Some(gateway.region().to_owned()), ..Default::default() })
}

pub(crate) async fn location(
    gateway: &Gateway,
    request: S3Request<GetBucketLocationInput>,
) -> S3Result<GetBucketLocationOutput> {
    exists(gateway, request.credentials.as_ref(), &request.input.bucket).await?;
    let region = gateway.region();
    let location_constraint =
        (region != CLASSIC_REGION).then(|| BucketLocationConstraint::from(region.to_owned()));
    Ok(GetBucketLocationOutput { location_constraint })
}

pub(crate) async fn delete(
    gateway: &Gateway,
    request: S3Request<DeleteBucketInput>,
) -> S3Result<DeleteBucketOutput> {
    let client = gateway.client_of(request.credentials.as_ref());
    let bucket = &request.input.bucket;
    let deleted = client.delete_bucket(gateway.volume(), bucket).await;
    deleted.map_err(|e| s3_error(Subject::Bucket, e))?;
    Ok(DeleteBucketOutput {})
}

/// Fails if the bucket does not exist.
pub(crate) async fn exists(
    gateway: &Gateway,
    credentials: Option<&s3s::auth::Credentials>,
    bucket: &str,
) -> S3Result<BucketInfo> {
    let client = gateway.client_of(credentials);
    let info = client.bucket_info(gateway.volume(), bucket).await;
    info.map_err(|error| match error.kind() {
        // No bucket can have an invalid name, so the bucket does not exist.
        ErrorKind::Invalid => {
            S3Error::with_message(S3ErrorCode::NoSuchBucket, "The specified bucket does not exist")
        }
        _ => s3_error(Subject::Bucket, error),
    })
}
