import pytest
from botocore.exceptions import ClientError

from conftest import code_of, data


@pytest.fixture
def source(s3, bucket):
    s3.put_object(Bucket=bucket, Key="dir/a b+c%", Body=data(6_000_000), ContentType="x/y",
                  Metadata={"m": "1"}, Tagging="t=1")
    return {"Bucket": bucket, "Key": "dir/a b+c%"}


def test_a_copy_has_bytes_metadata_and_tags(s3, bucket, source):
    done = s3.copy_object(Bucket=bucket, Key="copy", CopySource=source)
    got = s3.get_object(Bucket=bucket, Key="copy")
    assert got["Body"].read() == data(6_000_000)
    assert (got["ContentType"], got["Metadata"], got["TagCount"]) == ("x/y", {"m": "1"}, 1)
    assert got["ETag"] == done["CopyObjectResult"]["ETag"]


def test_a_copy_goes_to_another_bucket(s3, bucket, source):
    s3.create_bucket(Bucket=f"{bucket}-other")
    s3.copy_object(Bucket=f"{bucket}-other", Key="copy", CopySource=source)
    assert s3.head_object(Bucket=f"{bucket}-other", Key="copy")["ContentLength"] == 6_000_000


def test_metadata_and_tags_can_be_replaced(s3, bucket, source):
    s3.copy_object(Bucket=bucket, Key="copy", CopySource=source, MetadataDirective="REPLACE",
                   Metadata={"n": "2"}, ContentType="a/b", TaggingDirective="REPLACE", Tagging="u=2")
    head = s3.head_object(Bucket=bucket, Key="copy")
    assert (head["ContentType"], head["Metadata"]) == ("a/b", {"n": "2"})
    assert s3.get_object_tagging(Bucket=bucket, Key="copy")["TagSet"] == [{"Key": "u", "Value": "2"}]


def test_a_copy_onto_itself_must_change_something(s3, bucket, source):
    with pytest.raises(ClientError) as error:
        s3.copy_object(Bucket=bucket, Key=source["Key"], CopySource=source)
    assert code_of(error) == ("InvalidRequest", 400)
    s3.copy_object(Bucket=bucket, Key=source["Key"], CopySource=source, MetadataDirective="REPLACE",
                   Metadata={"touched": "yes"})
    got = s3.get_object(Bucket=bucket, Key=source["Key"])
    assert got["Metadata"] == {"touched": "yes"} and got["Body"].read() == data(6_000_000)


def test_what_is_not_there_cannot_be_copied(s3, bucket):
    for from_bucket, code in ((bucket, "NoSuchKey"), ("no-such-bucket", "NoSuchBucket")):
        with pytest.raises(ClientError) as error:
            s3.copy_object(Bucket=bucket, Key="copy", CopySource={"Bucket": from_bucket, "Key": "absent"})
        assert code_of(error) == (code, 404)
