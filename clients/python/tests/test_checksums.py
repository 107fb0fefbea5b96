import base64
import hashlib
import http.client
import urllib.parse
import zlib

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from conftest import code_of, data


def b64(raw):
    return base64.b64encode(raw).decode()


SUMS = {
    "CRC32": lambda body: b64(zlib.crc32(body).to_bytes(4, "big")),
    "SHA1": lambda body: b64(hashlib.sha1(body).digest()),
    "SHA256": lambda body: b64(hashlib.sha256(body).digest()),
}


@pytest.mark.parametrize("algorithm", SUMS)
@pytest.mark.parametrize("size", [0, 1000, 5_000_000])
def test_a_checksum_is_verified_kept_and_told(s3, bucket, algorithm, size):
    body = data(size)
    field, value = f"Checksum{algorithm}", SUMS[algorithm](body)
    put = s3.put_object(Bucket=bucket, Key="k", Body=body, **{field: value})
    assert put[field] == value
    got = s3.get_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
    assert got[field] == value and got["ChecksumType"] == "FULL_OBJECT"
    assert got["Body"].read() == body
    head = s3.head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
    assert head[field] == value


@pytest.mark.parametrize("algorithm", SUMS)
def test_a_wrong_checksum_is_refused_and_nothing_is_kept(s3, bucket, algorithm):
    wrong = {f"Checksum{algorithm}": SUMS[algorithm](b"something else")}
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=bucket, Key="k", Body=b"body", **wrong)
    assert code_of(error) == ("BadDigest", 400)
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


def test_content_md5(s3, bucket):
    right, wrong = (b64(hashlib.md5(body).digest()) for body in (b"body", b"other"))
    s3.put_object(Bucket=bucket, Key="k", Body=b"body", ContentMD5=right)
    for value, code in ((wrong, "BadDigest"), ("not-md5", "InvalidDigest")):
        with pytest.raises(ClientError) as error:
            s3.put_object(Bucket=bucket, Key="bad", Body=b"body", ContentMD5=value)
        assert code_of(error) == (code, 400)
    assert [o["Key"] for o in s3.list_objects_v2(Bucket=bucket)["Contents"]] == ["k"]


def send(server, method, path, body, headers, payload_hash, encoded=None):
    """A request signed by hand, so that what it says and what it sends can differ."""
    url = server.endpoint + path
    request = AWSRequest(method=method, url=url, data=body, headers=dict(headers))
    request.headers["x-amz-content-sha256"] = payload_hash
    auth = SigV4Auth(Credentials(server.access_key, server.secret_key), "s3", "us-east-1")
    # botocore signs whatever the header says.
    request.context["payload_signing_enabled"] = True
    auth.payload = lambda _request: payload_hash
    auth.add_auth(request)
    connection = http.client.HTTPConnection(urllib.parse.urlparse(url).netloc, timeout=30)
    try:
        connection.request(method, path, body=encoded or body, headers=dict(request.headers))
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def test_a_body_that_is_not_what_was_signed_is_refused(server, s3, bucket):
    claimed = hashlib.sha256(b"signed").hexdigest()
    status, text = send(server, "PUT", f"/{bucket}/k", b"sent!!", {}, claimed)
    assert status in (400, 403) and "Error" in text
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


def trailer_body(body, trailer):
    return b"%x\r\n%s\r\n0\r\n%s\r\n\r\n" % (len(body), body, trailer)


@pytest.mark.parametrize("trailer, expected", [
    (b"x-amz-checksum-crc32:" + SUMS["CRC32"](b"trailed").encode(), 200),
    (b"x-amz-checksum-crc32:" + SUMS["CRC32"](b"other").encode(), 400),
])
def test_a_trailing_checksum_decides(server, s3, bucket, trailer, expected):
    body = b"trailed"
    encoded = trailer_body(body, trailer)
    headers = {
        "x-amz-trailer": "x-amz-checksum-crc32",
        "x-amz-decoded-content-length": str(len(body)),
        "content-encoding": "aws-chunked",
        "content-length": str(len(encoded)),
    }
    status, text = send(
        server, "PUT", f"/{bucket}/k", encoded, headers, "STREAMING-UNSIGNED-PAYLOAD-TRAILER")
    assert status == expected, text
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == (1 if expected == 200 else 0)


def test_a_document_is_verified_like_a_body(server, s3, bucket):
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    body = b"<Delete><Object><Key>k</Key></Object></Delete>"
    for claimed, expected in ((b"something else", 400), (body, 200)):
        headers = {"content-md5": b64(hashlib.md5(claimed).digest())}
        digest = hashlib.sha256(body).hexdigest()
        status, text = send(server, "POST", f"/{bucket}?delete=", body, headers, digest)
        assert status == expected, text
        assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == (1 if expected == 400 else 0)
