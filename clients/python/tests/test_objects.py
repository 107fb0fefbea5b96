import hashlib
import io

import pytest
from botocore.exceptions import ClientError

from conftest import code_of, data, s3_client

SIZES = [0, 1, 16_383, 16_384, 65_536, 65_537, 1 << 20, (4 << 20) - 1, (4 << 20) + 1, 9_000_000, 40 << 20]


@pytest.mark.parametrize("size", SIZES)
def test_bytes_come_back_as_they_went(s3, bucket, size):
    body = data(size, seed=size)
    put = s3.put_object(Bucket=bucket, Key="key", Body=body)
    assert put["ETag"] == f'"{hashlib.md5(body).hexdigest()}"'
    head = s3.head_object(Bucket=bucket, Key="key")
    assert (head["ContentLength"], head["ETag"]) == (size, put["ETag"])
    got = s3.get_object(Bucket=bucket, Key="key")
    assert got["ContentLength"] == size
    assert got["Body"].read() == body


def test_an_overwrite_replaces_bytes_and_metadata(s3, bucket):
    s3.put_object(Bucket=bucket, Key="k", Body=data(100_000), Metadata={"a": "1"})
    s3.put_object(Bucket=bucket, Key="k", Body=b"short", Metadata={"b": "2"})
    got = s3.get_object(Bucket=bucket, Key="k")
    assert got["Body"].read() == b"short"
    assert got["Metadata"] == {"b": "2"}


def test_headers_and_user_metadata_are_kept(s3, bucket):
    headers = dict(
        ContentType="text/x-poem; charset=utf-8",
        CacheControl="max-age=17",
        ContentDisposition='attachment; filename="poem.txt"',
        ContentEncoding="gzip",
        ContentLanguage="de",
    )
    metadata = {"author": "someone", "content-type": "not the header", "empty": ""}
    s3.put_object(Bucket=bucket, Key="poem", Body=b"roses", Metadata=metadata, **headers)
    for got in (s3.head_object(Bucket=bucket, Key="poem"), s3.get_object(Bucket=bucket, Key="poem")):
        assert {name: got[name] for name in headers} == headers
        assert got["Metadata"] == metadata
    overridden = s3.get_object(Bucket=bucket, Key="poem", ResponseContentType="text/plain")
    assert overridden["ContentType"] == "text/plain"


@pytest.mark.parametrize("key", [
    "plain", "with space", "plus+sign", "per%cent", "a/b//c/", "ünï/çødé/日本語", "(parens)'quote'!*", "a&b=c?d#e",
    "emoji-\U0001f600", "x" * 1024, "~tilde", "back\\slash", "semi;colon,comma@at$dollar",
])
def test_keys_of_any_name(s3, bucket, key):
    s3.put_object(Bucket=bucket, Key=key, Body=key.encode())
    assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == key.encode()
    assert [o["Key"] for o in s3.list_objects_v2(Bucket=bucket)["Contents"]] == [key]
    s3.delete_object(Bucket=bucket, Key=key)
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


def test_ranges(s3, bucket):
    body = data(9_000_000)
    s3.put_object(Bucket=bucket, Key="k", Body=body)
    cases = [
        ("bytes=0-0", body[:1]),
        ("bytes=0-16383", body[:16384]),
        ("bytes=16383-16385", body[16383:16386]),
        ("bytes=4194303-4194305", body[4194303:4194306]),
        ("bytes=4000000-8500000", body[4000000:8500001]),
        ("bytes=8999990-", body[8999990:]),
        ("bytes=8999990-99999999", body[8999990:]),
        ("bytes=-7", body[-7:]),
        ("bytes=-99999999", body),
    ]
    for header, expected in cases:
        got = s3.get_object(Bucket=bucket, Key="k", Range=header)
        assert got["ResponseMetadata"]["HTTPStatusCode"] == 206
        assert got["Body"].read() == expected, header
        start = len(body) - len(expected) if header.startswith("bytes=-") else int(header[6:].split("-")[0])
        assert got["ContentRange"] == f"bytes {start}-{start + len(expected) - 1}/{len(body)}"
    with pytest.raises(ClientError) as error:
        s3.get_object(Bucket=bucket, Key="k", Range="bytes=9000000-")
    assert code_of(error) == ("InvalidRange", 416)


def test_a_small_object_has_ranges_too(s3, bucket):
    body = data(50_000)
    s3.put_object(Bucket=bucket, Key="k", Body=body)
    assert s3.get_object(Bucket=bucket, Key="k", Range="bytes=16380-33000")["Body"].read() == body[16380:33001]


def test_deletions(s3, bucket):
    keys = [f"k{number}" for number in range(50)]
    for key in keys:
        s3.put_object(Bucket=bucket, Key=key, Body=b"x")
    s3.delete_object(Bucket=bucket, Key="k0")
    s3.delete_object(Bucket=bucket, Key="k0")  # what is gone may be deleted again
    with pytest.raises(ClientError) as error:
        s3.get_object(Bucket=bucket, Key="k0")
    assert code_of(error) == ("NoSuchKey", 404)
    wanted = [{"Key": key} for key in keys[:40] + ["never-was"]]
    done = s3.delete_objects(Bucket=bucket, Delete={"Objects": wanted})
    assert {d["Key"] for d in done["Deleted"]} == {w["Key"] for w in wanted}
    assert "Errors" not in done
    quiet = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": keys[40]}], "Quiet": True})
    assert "Deleted" not in quiet and "Errors" not in quiet
    left = [o["Key"] for o in s3.list_objects_v2(Bucket=bucket)["Contents"]]
    assert left == sorted(keys[41:])


def test_a_thousand_objects_go_at_once(s3, bucket):
    from concurrent.futures import ThreadPoolExecutor

    keys = [f"many/{number:04}" for number in range(1000)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: s3.put_object(Bucket=bucket, Key=key, Body=key.encode()), keys))
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 1000
    s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": key} for key in keys]})
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


def test_tags(s3, bucket):
    s3.put_object(Bucket=bucket, Key="k", Body=b"x", Tagging="colour=blue&size=x%26l")
    assert s3.get_object(Bucket=bucket, Key="k")["TagCount"] == 2
    tags = s3.get_object_tagging(Bucket=bucket, Key="k")["TagSet"]
    assert sorted((t["Key"], t["Value"]) for t in tags) == [("colour", "blue"), ("size", "x&l")]
    s3.put_object_tagging(Bucket=bucket, Key="k", Tagging={"TagSet": [{"Key": "only", "Value": "one"}]})
    assert s3.get_object_tagging(Bucket=bucket, Key="k")["TagSet"] == [{"Key": "only", "Value": "one"}]
    s3.delete_object_tagging(Bucket=bucket, Key="k")
    assert s3.get_object_tagging(Bucket=bucket, Key="k")["TagSet"] == []
    with pytest.raises(ClientError) as error:
        same = [{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}]
        s3.put_object_tagging(Bucket=bucket, Key="k", Tagging={"TagSet": same})
    assert code_of(error) == ("InvalidTag", 400)


def test_attributes(s3, bucket):
    s3.put_object(Bucket=bucket, Key="k", Body=b"123456789", ChecksumAlgorithm="SHA256")
    wanted = ["ETag", "ObjectSize", "StorageClass", "Checksum"]
    got = s3.get_object_attributes(Bucket=bucket, Key="k", ObjectAttributes=wanted)
    assert got["ObjectSize"] == 9
    assert got["ETag"].strip('"') == hashlib.md5(b"123456789").hexdigest()
    assert got["Checksum"]["ChecksumSHA256"] == "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU="


def test_concurrent_writers_of_one_key_leave_one_of_them_whole(s3, bucket):
    from concurrent.futures import ThreadPoolExecutor

    bodies = [data(300_000, seed) for seed in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda body: s3.put_object(Bucket=bucket, Key="k", Body=body), bodies))
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() in bodies


def test_a_connection_is_good_after_an_answer_without_continue(server, bucket):
    """botocore asks before it sends a body; an empty body and a refusal are answered at once."""
    s3 = s3_client(server, max_pool_connections=1)
    for number in range(3):
        s3.put_object(Bucket=bucket, Key="empty", Body=io.BytesIO(b""))
        assert s3.put_object(Bucket=bucket, Key=f"k{number}", Body=io.BytesIO(b"real"))["ETag"]
        with pytest.raises(ClientError) as refused:
            s3.put_object(Bucket="no-such-bucket", Key="k", Body=io.BytesIO(b"real"))
        assert code_of(refused) == ("NoSuchBucket", 404)
        assert s3.put_object(Bucket=bucket, Key=f"l{number}", Body=io.BytesIO(b"real"))["ETag"]
