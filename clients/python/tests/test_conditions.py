import datetime
from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.exceptions import ClientError

from conftest import code_of

OTHER = '"00000000000000000000000000000000"'


@pytest.fixture
def etag(s3, bucket):
    return s3.put_object(Bucket=bucket, Key="k", Body=b"content")["ETag"]


def outcome(call):
    try:
        return call()["ResponseMetadata"]["HTTPStatusCode"]
    except ClientError as error:
        return error.response["ResponseMetadata"]["HTTPStatusCode"]


def test_reads(s3, bucket, etag):
    modified = s3.head_object(Bucket=bucket, Key="k")["LastModified"]
    hour = datetime.timedelta(hours=1)
    cases = [
        (dict(IfMatch=etag), 200),
        (dict(IfMatch=OTHER), 412),
        (dict(IfNoneMatch=etag), 304),
        (dict(IfNoneMatch=OTHER), 200),
        (dict(IfModifiedSince=modified), 304),
        (dict(IfModifiedSince=modified - hour), 200),
        (dict(IfUnmodifiedSince=modified), 200),
        (dict(IfUnmodifiedSince=modified - hour), 412),
        (dict(IfMatch=etag, IfUnmodifiedSince=modified - hour), 200),
        (dict(IfNoneMatch=OTHER, IfModifiedSince=modified), 200),
    ]
    for conditions, expected in cases:
        for operation in (s3.get_object, s3.head_object):
            status = outcome(lambda: operation(Bucket=bucket, Key="k", **conditions))
            assert status == expected, (operation, conditions)


def test_a_write_only_if_nothing_is_there(s3, bucket):
    s3.put_object(Bucket=bucket, Key="new", Body=b"1", IfNoneMatch="*")
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=bucket, Key="new", Body=b"2", IfNoneMatch="*")
    assert code_of(error) == ("PreconditionFailed", 412)
    assert s3.get_object(Bucket=bucket, Key="new")["Body"].read() == b"1"


def test_of_many_who_write_only_if_nothing_is_there_one_wins(s3, bucket):
    def write(number):
        call = lambda: s3.put_object(Bucket=bucket, Key="race", Body=b"%d" % number, IfNoneMatch="*")
        return outcome(call), number

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(write, range(16)))
    winners = [number for status, number in outcomes if status == 200]
    assert len(winners) == 1 and {status for status, _ in outcomes} == {200, 412}
    assert s3.get_object(Bucket=bucket, Key="race")["Body"].read() == b"%d" % winners[0]


def test_a_write_only_over_what_was_seen(s3, bucket, etag):
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=bucket, Key="k", Body=b"2", IfMatch=OTHER)
    assert code_of(error) == ("PreconditionFailed", 412)
    s3.put_object(Bucket=bucket, Key="k", Body=b"2", IfMatch=etag)
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"2"
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=bucket, Key="absent", Body=b"2", IfMatch=etag)
    assert code_of(error) == ("NoSuchKey", 404)


def test_copies(s3, bucket, etag):
    copy = lambda **conditions: s3.copy_object(
        Bucket=bucket, Key="copy", CopySource={"Bucket": bucket, "Key": "k"}, **conditions)
    assert outcome(lambda: copy(CopySourceIfMatch=OTHER)) == 412
    assert outcome(lambda: copy(CopySourceIfNoneMatch=etag)) == 412
    assert outcome(lambda: copy(CopySourceIfMatch=etag)) == 200
