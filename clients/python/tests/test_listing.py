import pytest
from botocore.exceptions import ClientError

from conftest import code_of

NAMES = sorted([
    "a", "a/1", "a/2", "a/b/1", "a/b/2", "ab", "b/", "b/1", "c d/1", "c+d/1", "e%20f", "ünï/1", "z",
    *(f"logs/{number:04}" for number in range(300)),
], key=lambda name: name.encode())


@pytest.fixture(scope="module")
def filled(s3):
    s3.create_bucket(Bucket="listing")
    for name in NAMES:
        s3.put_object(Bucket="listing", Key=name, Body=name.encode())
    return "listing"


def rolled(prefix, delimiter):
    """What a listing is by definition."""
    keys, prefixes = [], []
    for name in NAMES:
        if not name.startswith(prefix):
            continue
        rest = name[len(prefix):]
        at = rest.find(delimiter) if delimiter else -1
        if at < 0:
            keys.append(name)
        elif (common := prefix + rest[:at + len(delimiter)]) not in prefixes:
            prefixes.append(common)
    return keys, prefixes


CASES = [("", ""), ("", "/"), ("a", "/"), ("a/", "/"), ("a/b/", "/"), ("logs/", ""), ("logs/00", "5"), ("c", "/"),
         ("nothing", ""), ("b/", "/"), ("", "1")]


# Hundreds of pages of one entry say no more than ten do.
PAGES = [(page, *case) for page in (1, 2, 7, 1000) for case in CASES if page > 1 or len(rolled(*case)[0]) <= 100]


@pytest.mark.parametrize("page, prefix, delimiter", PAGES)
@pytest.mark.parametrize("version", ["list_objects", "list_objects_v2", "list_object_versions"])
def test_pages_add_up(s3, filled, version, prefix, delimiter, page):
    arguments = {"Bucket": filled, "Prefix": prefix, "Delimiter": delimiter}
    keys, prefixes = [], []
    pages = s3.get_paginator(version).paginate(**arguments, PaginationConfig={"PageSize": page})
    for got in pages:
        contents = got.get("Versions" if version == "list_object_versions" else "Contents", [])
        assert len(contents) + len(got.get("CommonPrefixes", [])) <= page
        keys += [entry["Key"] for entry in contents]
        prefixes += [entry["Prefix"] for entry in got.get("CommonPrefixes", [])]
    assert (keys, prefixes) == rolled(prefix, delimiter)


def test_entries_tell_size_time_and_etag(s3, filled):
    head = s3.head_object(Bucket=filled, Key="a/b/1")
    (entry,) = s3.list_objects_v2(Bucket=filled, Prefix="a/b/1", FetchOwner=True)["Contents"]
    assert entry["Size"] == head["ContentLength"] == 5
    assert entry["ETag"] == head["ETag"]
    assert entry["LastModified"] == head["LastModified"]
    assert entry["StorageClass"] == "STANDARD"
    assert entry["Owner"]["ID"]


def test_start_after_and_marker(s3, filled):
    after = [o["Key"] for o in s3.list_objects_v2(Bucket=filled, StartAfter="e%20f", MaxKeys=3)["Contents"]]
    assert after == ["logs/0000", "logs/0001", "logs/0002"]
    marked = s3.list_objects(Bucket=filled, Marker="logs/0299")
    assert [o["Key"] for o in marked["Contents"]] == ["z", "ünï/1"]


def test_odd_arguments(s3, filled):
    none = s3.list_objects_v2(Bucket=filled, MaxKeys=0)
    assert none["KeyCount"] == 0 and not none["IsTruncated"]
    many = s3.list_objects_v2(Bucket=filled, MaxKeys=100_000)
    assert many["KeyCount"] == len(NAMES)
    with pytest.raises(ClientError) as error:
        s3.list_objects_v2(Bucket=filled, ContinuationToken="!!!")
    assert code_of(error) == ("InvalidArgument", 400)
