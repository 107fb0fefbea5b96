"""Buckets of layout FILE_SYSTEM_OPTIMIZED: their directories are real, and S3 sees them as Ozone's own gateway shows them."""

import os
import subprocess

import pytest
from botocore.exceptions import ClientError
from conftest import code_of, data


@pytest.fixture
def tree(server, tmp_path):
    """A bucket that is a tree; S3 alone makes flat ones."""
    name = f"tree-{tmp_path.name.replace('_', '-').lower()}"[:60].rstrip("-")
    command = [os.environ["O3_BIN"], "sh", "bucket", "create", f"/s3v/{name}", "--layout", "fso"]
    command += ["-D", f"ozone.om.address={server.ready['om']}", "-D", f"ozone.scm.client.address={server.ready['scm']}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return name


def listing(s3, bucket, **arguments):
    """Keys and common prefixes of a listing, page by page."""
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, PaginationConfig={"PageSize": 2}, **arguments)
    keys, prefixes = [], []
    for page in pages:
        keys += [key["Key"] for key in page.get("Contents", [])]
        prefixes += [prefix["Prefix"] for prefix in page.get("CommonPrefixes", [])]
    return keys, prefixes


def test_objects_are_files_of_a_tree(s3, tree):
    keys = ["a-b", "a/b/c", "a/b/d", "a/e", "f"]
    for number, key in enumerate(keys):
        s3.put_object(Bucket=tree, Key=key, Body=data(1000, number), Metadata={"number": str(number)})
    for number, key in enumerate(keys):
        got = s3.get_object(Bucket=tree, Key=key)
        assert got["Body"].read() == data(1000, number)
        assert got["Metadata"] == {"number": str(number)}
    assert listing(s3, tree) == (["a-b", "a/", "a/b/", "a/b/c", "a/b/d", "a/e", "f"], [])
    assert listing(s3, tree, Delimiter="/") == (["a-b", "f"], ["a/"])
    assert listing(s3, tree, Delimiter="/", Prefix="a/") == (["a/", "a/e"], ["a/b/"])
    assert listing(s3, tree, Prefix="a/b") == (["a/b/", "a/b/c", "a/b/d"], [])
    assert listing(s3, tree, StartAfter="a/b/c") == (["a/b/d", "a/e", "f"], [])
    s3.copy_object(Bucket=tree, Key="g/h", CopySource={"Bucket": tree, "Key": "a/e"})
    assert s3.get_object(Bucket=tree, Key="g/h")["Body"].read() == data(1000, 3)


def test_an_empty_object_with_a_slash_makes_a_directory(s3, tree):
    made = s3.put_object(Bucket=tree, Key="dir/below/", Body=b"")
    assert "ETag" not in made, "a directory has no content that could have one"
    s3.put_object(Bucket=tree, Key="dir/below/")
    assert listing(s3, tree) == (["dir/", "dir/below/"], [])
    head = s3.head_object(Bucket=tree, Key="dir/below/")
    assert head["ContentLength"] == 0
    for ask in (s3.head_object, s3.get_object):
        with pytest.raises(ClientError) as missing:
            ask(Bucket=tree, Key="dir/below")
        assert code_of(missing)[1] == 404
    s3.put_object(Bucket=tree, Key="dir/below/file", Body=b"content")
    with pytest.raises(ClientError) as refused:
        s3.put_object(Bucket=tree, Key="dir/below", Body=b"content")
    assert code_of(refused) == ("InvalidRequest", 400), "a directory is in the way"
    with pytest.raises(ClientError) as refused:
        s3.put_object(Bucket=tree, Key="dir/below/file/", Body=b"")
    assert code_of(refused) == ("Conflict", 409), "a file is in the way"


def test_a_directory_goes_when_it_is_empty(s3, tree):
    s3.put_object(Bucket=tree, Key="dir/", Body=b"")
    s3.put_object(Bucket=tree, Key="dir/file", Body=b"content")
    # Not empty: it stays, and nobody is told.
    s3.delete_object(Bucket=tree, Key="dir/")
    assert listing(s3, tree) == (["dir/", "dir/file"], [])
    with pytest.raises(ClientError) as refused:
        s3.delete_bucket(Bucket=tree)
    assert code_of(refused) == ("BucketNotEmpty", 409)
    s3.delete_object(Bucket=tree, Key="dir/file")
    assert listing(s3, tree) == (["dir/"], [])
    s3.delete_object(Bucket=tree, Key="dir/")
    assert listing(s3, tree) == ([], [])
    deleted = [{"Key": f"many/{n}"} for n in range(3)]
    for key in deleted:
        s3.put_object(Bucket=tree, Key=key["Key"], Body=b"content")
    answer = s3.delete_objects(Bucket=tree, Delete={"Objects": [*deleted, {"Key": "many/"}]})
    assert [key["Key"] for key in answer["Deleted"]] == [*(key["Key"] for key in deleted), "many/"]
    s3.delete_bucket(Bucket=tree)


def test_a_multipart_upload_becomes_a_file(s3, tree):
    parts = [data(5 << 20, 1), data(100, 2)]
    upload = s3.create_multipart_upload(Bucket=tree, Key="big/file")["UploadId"]
    tags = [
        s3.upload_part(Bucket=tree, Key="big/file", UploadId=upload, PartNumber=n, Body=part)["ETag"]
        for n, part in enumerate(parts, 1)
    ]
    assert [u["Key"] for u in s3.list_multipart_uploads(Bucket=tree)["Uploads"]] == ["big/file"]
    done = [{"PartNumber": n, "ETag": tag} for n, tag in enumerate(tags, 1)]
    s3.complete_multipart_upload(Bucket=tree, Key="big/file", UploadId=upload, MultipartUpload={"Parts": done})
    assert s3.get_object(Bucket=tree, Key="big/file")["Body"].read() == b"".join(parts)
    upload = s3.create_multipart_upload(Bucket=tree, Key="big/other")["UploadId"]
    s3.upload_part(Bucket=tree, Key="big/other", UploadId=upload, PartNumber=1, Body=b"content")
    s3.abort_multipart_upload(Bucket=tree, Key="big/other", UploadId=upload)
    assert listing(s3, tree) == (["big/", "big/file"], [])


def test_in_a_flat_bucket_a_slash_is_part_of_a_name(s3, bucket):
    made = s3.put_object(Bucket=bucket, Key="dir/", Body=b"")
    assert made["ETag"] == s3.head_object(Bucket=bucket, Key="dir/")["ETag"]
    s3.delete_object(Bucket=bucket, Key="dir/")
