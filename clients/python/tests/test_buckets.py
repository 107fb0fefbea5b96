import datetime

import pytest
from botocore.exceptions import ClientError

from conftest import code_of


def test_a_bucket_is_made_listed_headed_located_and_deleted(s3):
    s3.create_bucket(Bucket="life-of-a-bucket")
    buckets = {b["Name"]: b for b in s3.list_buckets()["Buckets"]}
    created = buckets["life-of-a-bucket"]["CreationDate"]
    assert abs(datetime.datetime.now(datetime.timezone.utc) - created) < datetime.timedelta(minutes=5)
    assert s3.head_bucket(Bucket="life-of-a-bucket")["BucketRegion"] == "us-east-1"
    assert s3.get_bucket_location(Bucket="life-of-a-bucket")["LocationConstraint"] is None
    s3.delete_bucket(Bucket="life-of-a-bucket")
    with pytest.raises(ClientError) as error:
        s3.head_bucket(Bucket="life-of-a-bucket")
    assert code_of(error)[1] == 404


def test_buckets_are_listed_in_pages(s3):
    for number in range(5):
        s3.create_bucket(Bucket=f"paged-{number}")
    names, token = [], {}
    while True:
        page = s3.list_buckets(MaxBuckets=2, Prefix="paged-", **token)
        assert len(page["Buckets"]) <= 2
        names += [b["Name"] for b in page["Buckets"]]
        if "ContinuationToken" not in page:
            break
        token = {"ContinuationToken": page["ContinuationToken"]}
    assert names == [f"paged-{number}" for number in range(5)]


@pytest.mark.parametrize("operation, expected", [
    (lambda s3, bucket: s3.create_bucket(Bucket=bucket), ("BucketAlreadyOwnedByYou", 409)),
    (lambda s3, bucket: s3.delete_bucket(Bucket=bucket), ("BucketNotEmpty", 409)),
    (lambda s3, bucket: s3.delete_bucket(Bucket="no-such-bucket"), ("NoSuchBucket", 404)),
    (lambda s3, bucket: s3.list_objects_v2(Bucket="no-such-bucket"), ("NoSuchBucket", 404)),
    (lambda s3, bucket: s3.get_bucket_location(Bucket="no-such-bucket"), ("NoSuchBucket", 404)),
    (lambda s3, bucket: s3.put_object(Bucket="no-such-bucket", Key="k", Body=b"x"), ("NoSuchBucket", 404)),
])
def test_errors_have_the_codes_of_s3(s3, bucket, operation, expected):
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    with pytest.raises(ClientError) as error:
        operation(s3, bucket)
    assert code_of(error) == expected


@pytest.mark.parametrize("operation", [
    lambda s3, b: s3.put_bucket_versioning(Bucket=b, VersioningConfiguration={"Status": "Enabled"}),
    lambda s3, b: s3.put_bucket_policy(Bucket=b, Policy="{}"),
    lambda s3, b: s3.put_bucket_encryption(Bucket=b, ServerSideEncryptionConfiguration={
        "Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]}),
    lambda s3, b: s3.put_bucket_lifecycle_configuration(Bucket=b, LifecycleConfiguration={
        "Rules": [{"ID": "r", "Status": "Enabled", "Filter": {"Prefix": ""}, "Expiration": {"Days": 1}}]}),
    lambda s3, b: s3.put_bucket_cors(Bucket=b, CORSConfiguration={
        "CORSRules": [{"AllowedMethods": ["GET"], "AllowedOrigins": ["*"]}]}),
    lambda s3, b: s3.get_bucket_policy(Bucket=b),
    lambda s3, b: s3.put_object(Bucket=b, Key="k", Body=b"x", ServerSideEncryption="AES256"),
    lambda s3, b: s3.put_object(Bucket=b, Key="k", Body=b"x", ACL="public-read"),
    lambda s3, b: s3.create_bucket(Bucket="public-bucket", ACL="public-read-write"),
])
def test_what_is_not_there_is_refused_and_never_taken_for_something_else(s3, bucket, operation):
    before = {b["Name"] for b in s3.list_buckets()["Buckets"]}
    with pytest.raises(ClientError) as error:
        operation(s3, bucket)
    assert code_of(error) == ("NotImplemented", 501)
    assert {b["Name"] for b in s3.list_buckets()["Buckets"]} == before
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


def test_a_bucket_never_had_versioning(s3, bucket):
    assert "Status" not in s3.get_bucket_versioning(Bucket=bucket)
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    versions = s3.list_object_versions(Bucket=bucket)["Versions"]
    assert [(v["Key"], v["VersionId"], v["IsLatest"]) for v in versions] == [("k", "null", True)]
    s3.delete_object(Bucket=bucket, Key="k", VersionId="null")
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0
