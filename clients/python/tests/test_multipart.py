import hashlib

import pytest
from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

from conftest import code_of, data

MIB = 1 << 20


def upload(s3, bucket, key, bodies, **create):
    """Uploads the parts, checks nothing; returns the upload id and the parts as complete wants them."""
    upload_id = s3.create_multipart_upload(Bucket=bucket, Key=key, **create)["UploadId"]
    parts = []
    for number, body in enumerate(bodies, start=1):
        done = s3.upload_part(Bucket=bucket, Key=key, UploadId=upload_id, PartNumber=number, Body=body)
        sums = {name: value for name, value in done.items() if name.startswith("Checksum")}
        parts.append({"PartNumber": number, "ETag": done["ETag"], **sums})
    return upload_id, parts


def complete(s3, bucket, key, upload_id, parts, **more):
    return s3.complete_multipart_upload(
        Bucket=bucket, Key=key, UploadId=upload_id, MultipartUpload={"Parts": parts}, **more)


def test_parts_become_one_object(s3, bucket):
    bodies = [data(5 * MIB, 1), data(7 * MIB + 13, 2), data(11, 3)]
    upload_id, parts = upload(s3, bucket, "k", bodies, Metadata={"a": "b"}, ContentType="x/y")
    assert "Contents" not in s3.list_objects_v2(Bucket=bucket)
    done = complete(s3, bucket, "k", upload_id, parts)
    assert done["ETag"].endswith('-3"')
    got = s3.get_object(Bucket=bucket, Key="k")
    assert got["Body"].read() == b"".join(bodies)
    assert (got["ETag"], got["Metadata"], got["ContentType"]) == (done["ETag"], {"a": "b"}, "x/y")
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=bucket)


def test_single_parts_can_be_read(s3, bucket):
    bodies = [data(5 * MIB, 1), data(5 * MIB, 2), data(100, 3)]
    complete(s3, bucket, "k", *upload(s3, bucket, "k", bodies))
    for number, body in enumerate(bodies, start=1):
        got = s3.get_object(Bucket=bucket, Key="k", PartNumber=number)
        assert got["Body"].read() == body
        assert got["PartsCount"] == 3
    span = s3.get_object(Bucket=bucket, Key="k", Range=f"bytes={5 * MIB - 10}-{10 * MIB + 9}")
    assert span["Body"].read() == bodies[0][-10:] + bodies[1] + bodies[2][:10]


def test_a_file_of_more_than_100_mb(s3, bucket, tmp_path):
    body = data(120 * MIB, seed=7)
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(body)
    transfer = TransferConfig(multipart_threshold=8 * MIB, multipart_chunksize=8 * MIB, max_concurrency=4)
    s3.upload_file(str(source), bucket, "big", Config=transfer)
    assert s3.head_object(Bucket=bucket, Key="big")["ContentLength"] == len(body)
    s3.download_file(bucket, "big", str(target), Config=transfer)
    assert hashlib.sha256(target.read_bytes()).digest() == hashlib.sha256(body).digest()


@pytest.mark.parametrize("algorithm", ["CRC32", "SHA256"])
def test_the_whole_has_a_checksum_over_its_parts(s3, bucket, algorithm):
    bodies = [data(5 * MIB, 1), data(10, 2)]
    upload_id = s3.create_multipart_upload(
        Bucket=bucket, Key="k", ChecksumAlgorithm=algorithm)["UploadId"]
    field = f"Checksum{algorithm}"
    parts = []
    for number, body in enumerate(bodies, start=1):
        part = s3.upload_part(Bucket=bucket, Key="k", UploadId=upload_id, PartNumber=number, Body=body,
                              ChecksumAlgorithm=algorithm)
        parts.append({"PartNumber": number, "ETag": part["ETag"], field: part[field]})
    done = complete(s3, bucket, "k", upload_id, parts)
    assert done[field].endswith("-2")
    head = s3.head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
    assert (head[field], head["ChecksumType"]) == (done[field], "COMPOSITE")


def test_parts_are_listed_replaced_and_paged(s3, bucket):
    upload_id, parts = upload(s3, bucket, "k", [data(100, n) for n in range(5)])
    again = s3.upload_part(Bucket=bucket, Key="k", UploadId=upload_id, PartNumber=3, Body=b"replaced")
    listed, marker = [], 0
    while True:
        page = s3.list_parts(Bucket=bucket, Key="k", UploadId=upload_id, MaxParts=2, PartNumberMarker=marker)
        listed += page["Parts"]
        if not page["IsTruncated"]:
            break
        marker = page["NextPartNumberMarker"]
    assert [(p["PartNumber"], p["Size"]) for p in listed] == [(1, 100), (2, 100), (3, 8), (4, 100), (5, 100)]
    assert listed[2]["ETag"] == again["ETag"] != parts[2]["ETag"]
    s3.abort_multipart_upload(Bucket=bucket, Key="k", UploadId=upload_id)
    with pytest.raises(ClientError) as error:
        s3.list_parts(Bucket=bucket, Key="k", UploadId=upload_id)
    assert code_of(error) == ("NoSuchUpload", 404)


def test_uploads_are_listed_by_prefix_and_delimiter(s3, bucket):
    keys = ["a/1", "a/2", "b", "c/1"]
    ids = {key: s3.create_multipart_upload(Bucket=bucket, Key=key)["UploadId"] for key in keys}
    listed = s3.list_multipart_uploads(Bucket=bucket)["Uploads"]
    assert [(u["Key"], u["UploadId"]) for u in listed] == [(key, ids[key]) for key in keys]
    rolled = s3.list_multipart_uploads(Bucket=bucket, Delimiter="/")
    assert [p["Prefix"] for p in rolled["CommonPrefixes"]] == ["a/", "c/"]
    assert [u["Key"] for u in rolled["Uploads"]] == ["b"]
    pages = s3.get_paginator("list_multipart_uploads").paginate(Bucket=bucket, PaginationConfig={"PageSize": 1})
    assert [u["Key"] for page in pages for u in page["Uploads"]] == keys
    for key, upload_id in ids.items():
        s3.abort_multipart_upload(Bucket=bucket, Key=key, UploadId=upload_id)
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=bucket)


def test_parts_are_copied_from_objects(s3, bucket):
    body = data(12 * MIB)
    s3.put_object(Bucket=bucket, Key="from", Body=body)
    upload_id = s3.create_multipart_upload(Bucket=bucket, Key="to")["UploadId"]
    source = {"Bucket": bucket, "Key": "from"}
    parts = []
    for number, (start, end) in enumerate([(0, 6 * MIB), (6 * MIB, 12 * MIB)], start=1):
        done = s3.upload_part_copy(Bucket=bucket, Key="to", UploadId=upload_id, PartNumber=number,
                                   CopySource=source, CopySourceRange=f"bytes={start}-{end - 1}")
        parts.append({"PartNumber": number, "ETag": done["CopyPartResult"]["ETag"]})
    complete(s3, bucket, "to", upload_id, parts)
    assert s3.get_object(Bucket=bucket, Key="to")["Body"].read() == body


def test_wrong_completions_are_refused(s3, bucket):
    upload_id, parts = upload(s3, bucket, "k", [data(5 * MIB, 1), data(5 * MIB, 2)])
    strange = [{"PartNumber": 1, "ETag": '"00000000000000000000000000000000"'}]
    missing = [{"PartNumber": 9, "ETag": parts[0]["ETag"]}]
    cases = [(parts[::-1], "InvalidPartOrder"), (strange, "InvalidPart"), (missing, "InvalidPart")]
    for wrong, code in cases:
        wrong = [{name: part[name] for name in ("PartNumber", "ETag")} for part in wrong]
        with pytest.raises(ClientError) as error:
            complete(s3, bucket, "k", upload_id, wrong)
        assert code_of(error) == (code, 400)
    with pytest.raises(ClientError) as error:
        complete(s3, bucket, "k", "no-such-upload", parts)
    assert code_of(error) == ("NoSuchUpload", 404)
    complete(s3, bucket, "k", upload_id, parts)


def test_a_part_that_is_too_small_is_refused(s3, bucket):
    upload_id, parts = upload(s3, bucket, "k", [b"small", b"last"])
    with pytest.raises(ClientError) as error:
        complete(s3, bucket, "k", upload_id, parts)
    assert code_of(error) == ("EntityTooSmall", 400)


def test_a_completion_only_if_nothing_is_there(s3, bucket):
    s3.put_object(Bucket=bucket, Key="k", Body=b"there")
    upload_id, parts = upload(s3, bucket, "k", [b"new"])
    with pytest.raises(ClientError) as error:
        complete(s3, bucket, "k", upload_id, parts, IfNoneMatch="*")
    assert code_of(error) == ("PreconditionFailed", 412)
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"there"
