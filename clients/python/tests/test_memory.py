"""What uploads and downloads at the same time cost in memory: as much as the setting says, not as much as they are."""

import concurrent.futures
import io
import json
import pathlib
import urllib.request

import boto3.s3.transfer
import pytest

from conftest import data, s3_client
from server import Server

MIB = 1 << 20
LIMIT = 64 * MIB
UPLOADS = 8
SIZE = 48 * MIB


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    directory = tmp_path_factory.mktemp("memory")
    arguments = ["-D", f"trioxide.memory.limit={LIMIT}B"]
    server = Server(directory / "data", directory / "log", *arguments).start()
    yield server
    assert server.stop() == 0, "a graceful stop ends with status 0"


def resident(server, name="VmHWM"):
    """Bytes of the process that are in memory: `VmRSS` now, `VmHWM` at most so far."""
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.split(f"{name}:")[1].split()[0]) * 1024


def test_what_is_in_flight_is_bounded_and_all_of_it_arrives(server):
    s3 = s3_client(server, max_pool_connections=64, read_timeout=300)
    bucket = "bucket"
    s3.create_bucket(Bucket=bucket)
    parts = boto3.s3.transfer.TransferConfig(
        multipart_threshold=16 * MIB, multipart_chunksize=16 * MIB, max_concurrency=4
    )
    content = data(SIZE)
    before = resident(server, "VmRSS")

    def upload(number):
        s3.upload_fileobj(io.BytesIO(content), bucket, f"key-{number}", Config=parts)

    def download(number):
        got = s3.get_object(Bucket=bucket, Key=f"key-{number}")["Body"].read()
        return got == content

    with concurrent.futures.ThreadPoolExecutor(UPLOADS) as threads:
        list(threads.map(upload, range(UPLOADS)))
        assert all(threads.map(download, range(UPLOADS)))
    grown = resident(server) - before
    # Beside the limit there are buffers that are kept for the next request, those of sockets, and tables.
    assert grown < LIMIT + 160 * MIB, f"{grown / MIB:.0f} MiB for {UPLOADS * SIZE / MIB:.0f} MiB in flight"


def test_the_limit_is_told(server):
    page = server.ready["pages"]["S3 gateway"]
    with urllib.request.urlopen(f"{page}/metrics", timeout=10) as answer:
        assert "s3g_memory_limit_bytes" in answer.read().decode()
    with urllib.request.urlopen(f"{page}/status.json", timeout=10) as answer:
        table = json.load(answer)["Memory for data in flight"]
    assert 0.9 * LIMIT <= sum(int(row["limit"]) for row in table) <= LIMIT
    assert all(row["waiting"] == "0" for row in table)
