import datetime
import urllib.error
import urllib.request

import pytest
from botocore.exceptions import ClientError

from conftest import code_of, data, s3_client


def fetch(url, method="GET", body=None):
    # urllib adds a content type of its own, which old signatures cover.
    headers = {"Content-Type": ""} if body is not None else {}
    request = urllib.request.Request(url, data=body, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


@pytest.mark.parametrize("version", ["s3v4", "s3"])
def test_presigned_urls(server, bucket, version):
    s3 = s3_client(server, signature_version=version)
    body = data(200_000)
    put = s3.generate_presigned_url("put_object", {"Bucket": bucket, "Key": "a b/ü"}, ExpiresIn=60)
    assert fetch(put, "PUT", body)[0] == 200
    get = s3.generate_presigned_url("get_object", {"Bucket": bucket, "Key": "a b/ü"}, ExpiresIn=60)
    assert fetch(get) == (200, body)
    assert fetch(get.replace("Signature=", "Signature=0"))[0] in (400, 403)
    assert fetch(get, "DELETE")[0] == 403


def test_a_presigned_url_expires(s3, bucket):
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    url = s3.generate_presigned_url("get_object", {"Bucket": bucket, "Key": "k"}, ExpiresIn=1)
    deadline = datetime.datetime.now() + datetime.timedelta(seconds=10)
    while fetch(url)[0] == 200:
        assert datetime.datetime.now() < deadline, "still valid"
    assert fetch(url)[0] == 403


def test_strangers_are_refused(server, s3, bucket):
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    assert fetch(f"{server.endpoint}/{bucket}/k")[0] == 403

    class Stranger:
        endpoint, access_key, secret_key = server.endpoint, "nobody", "nothing"

    with pytest.raises(ClientError) as error:
        s3_client(Stranger).list_buckets()
    assert code_of(error) == ("InvalidAccessKeyId", 403)
    Stranger.access_key = server.access_key
    with pytest.raises(ClientError) as error:
        s3_client(Stranger).list_buckets()
    assert code_of(error) == ("SignatureDoesNotMatch", 403)


def test_every_answer_has_a_request_id(s3, bucket):
    ids = {s3.head_bucket(Bucket=bucket)["ResponseMetadata"]["RequestId"] for _ in range(3)}
    assert len(ids) == 3
