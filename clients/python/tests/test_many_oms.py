"""A gateway that reads from any of three OMs, as they are, and yet shows every client its own writes."""

import re
import time
import urllib.request
import xml.etree.ElementTree

import pytest
from botocore.exceptions import ClientError

from conftest import code_of, data, s3_client
from server import Server

KEYS = 200
# The gateway reads from the nearest OM, and a follower that waits for a write seems far for a
# while: reads go on until more than one OM has answered a good part of them.
LONGEST = 120  # seconds


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    directory = tmp_path_factory.mktemp("many")
    arguments = ["--oms", "3", "--scms", "3"]
    for setting in [
        "ozone.om.follower.read.local.lease.enabled=true",
        "ozone.client.follower.read.enabled=true",
        "ozone.client.follower.read.default.consistency=LOCAL_LEASE",
        "trioxide.client.om.probe.interval=100ms",
    ]:
        arguments += ["-D", setting]
    server = Server(directory / "data", directory / "log", *arguments).start()
    yield server
    assert server.stop() == 0, "a graceful stop ends with status 0"


def reads(server):
    """How many keys each OM has looked up."""
    site = xml.etree.ElementTree.parse(server.ready["conf"])
    settings = {p.findtext("name"): p.findtext("value") for p in site.iter("property")}
    answered = []
    for om in settings["ozone.om.nodes.omservice"].split(","):
        address = settings[f"ozone.om.http-address.omservice.{om}"]
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as page:
            text = page.read().decode()
        counts = re.findall(r'rpc_processing_time_seconds_count\{[^}]*method="(?:GetKeyInfo|LookupKey)"[^}]*\} (\d+)', text)
        answered.append(sum(map(int, counts)))
    return answered


def write_and_read(s3, numbers):
    """Writes keys and reads each at once; what is deleted is gone."""
    for number in numbers:
        key, body = f"key-{number % 50}", data(100, seed=number)
        s3.put_object(Bucket="own", Key=key, Body=body)
        assert s3.head_object(Bucket="own", Key=key)["ContentLength"] == 100
        assert s3.get_object(Bucket="own", Key=key)["Body"].read() == body
        if number % 5 == 0:
            s3.delete_object(Bucket="own", Key=key)
            with pytest.raises(ClientError) as gone:
                s3.head_object(Bucket="own", Key=key)
            assert code_of(gone)[1] == 404
            s3.put_object(Bucket="own", Key=key, Body=body)
    listed = [o["Key"] for o in s3.list_objects_v2(Bucket="own")["Contents"]]
    assert listed == sorted(f"key-{n}" for n in range(50))


def test_a_client_sees_its_own_writes_whichever_om_answers(server):
    s3 = s3_client(server)
    s3.create_bucket(Bucket="own")
    before, until, written = reads(server), time.monotonic() + LONGEST, 0
    while True:
        write_and_read(s3, range(written, written + KEYS))
        written += KEYS
        answered = [after - at for after, at in zip(reads(server), before)]
        assert sum(answered) >= 2 * written
        if sum(1 for count in answered if count >= KEYS / 10) >= 2:
            break
        assert time.monotonic() < until, f"one OM answered all: {answered}"


def test_the_directory_keeps_its_oms_and_scms(server):
    assert len(server.ready["oms"]) == 3 and len(server.ready["scms"]) == 3
    s3 = s3_client(server)
    s3.create_bucket(Bucket="kept")
    s3.put_object(Bucket="kept", Key="k", Body=b"kept")
    server.kill()
    server.start()
    assert len(server.ready["oms"]) == 3
    s3 = s3_client(server)
    assert s3.get_object(Bucket="kept", Key="k")["Body"].read() == b"kept"
