//! The supported operations of S3, each one call into its module. All others answer NotImplemented.

use s3s::dto::*;
use s3s::{S3, S3Request, S3Response, S3Result};

use crate::gateway::Gateway;
use crate::{bucket, listing, multipart, object};

macro_rules! operations {
    ($($name:ident($input:ident) -> $output:ident = $call:path;)*) => {
        #[async_trait::async_trait]
        impl S3 for Gateway {
            $(async fn $name(&self, request: S3Request<$input>) -> S3Result<S3Response<$output>> {
                $call(self, request).await.map(S3Response::new)
            })*

            async fn get_object(
                &self,
                request: S3Request<GetObjectInput>,
            ) -> S3Result<S3Response<GetObjectOutput>> {
                object::get(self, request).await
            }

            async fn head_object(
                &self,
                request: S3Request<HeadObjectInput>,
            ) -> S3Result<S3Response<HeadObjectOutput>> {
                object::head(self, request).await
            }

            /// Buckets never had versioning: the response is neither Enabled nor Suspended.
            async fn get_bucket_versioning(
                &self,
                request: S3Request<GetBucketVersioningInput>,
            ) -> S3Result<S3Response<GetBucketVersioningOutput>> {
                bucket::exists(self, request.credentials.as_ref(), &request.input.bucket).await?;
                Ok(S3Response::new(GetBucketVersioningOutput::default()))
            }
        }
    };
}

operations! {
    list_buckets(ListBucketsInput) -> ListBucketsOutput = bucket::list;
    create_bucket(CreateBucketInput) -> CreateBucketOutput = bucket::create;
    head_bucket(HeadBucketInput) -> HeadBucketOutput = bucket::head;
    get_bucket_location(GetBucketLocationInput) -> GetBucketLocationOutput = bucket::location;
    delete_bucket(DeleteBucketInput) -> DeleteBucketOutput = bucket::delete;
    list_objects(ListObjectsInput) -> ListObjectsOutput = listing::list_v1;
    list_objects_v2(ListObjectsV2Input) -> ListObjectsV2Output = listing::list_v2;
    list_object_versions(ListObjectVersionsInput) -> ListObjectVersionsOutput = listing::list_versions;
    put_object(PutObjectInput) -> PutObjectOutput = object::put;
    copy_object(CopyObjectInput) -> CopyObjectOutput = object::copy;
    delete_object(DeleteObjectInput) -> DeleteObjectOutput = object::delete;
    delete_objects(DeleteObjectsInput) -> DeleteObjectsOutput = object::delete_many;
    get_object_attributes(GetObjectAttributesInput) -> GetObjectAttributesOutput = object::attributes;
    get_object_tagging(GetObjectTaggingInput) -> GetObjectTaggingOutput = object::get_tags;
    put_object_tagging(PutObjectTaggingInput) -> PutObjectTaggingOutput = object::put_tags;
    delete_object_tagging(DeleteObjectTaggingInput) -> DeleteObjectTaggingOutput = object::delete_tags;
    create_multipart_upload(CreateMultipartUploadInput) -> CreateMultipartUploadOutput = multipart::create;
    upload_part(UploadPartInput) -> UploadPartOutput = multipart::upload_part;
    upload_part_copy(UploadPartCopyInput) -> UploadPartCopyOutput = multipart::upload_part_copy;
    complete_multipart_upload(CompleteMultipartUploadInput) -> CompleteMultipartUploadOutput = multipart::complete;
    abort_multipart_upload(AbortMultipartUploadInput) -> AbortMultipartUploadOutput = multipart::abort;
    list_parts(ListPartsInput) -> ListPartsOutput = multipart::list_parts;
    list_multipart_uploads(ListMultipartUploadsInput) -> ListMultipartUploadsOutput = multipart::list_uploads;
}
