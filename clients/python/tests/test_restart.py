"""What was acknowledged is there after kill -9."""

import hashlib
import threading

from conftest import data, s3_client
from server import Server

ROUNDS = 3
WRITERS = 4


def test_acknowledged_objects_survive_kill_9(tmp_path):
    server = Server(tmp_path / "data", tmp_path / "log").start()
    acknowledged = {}
    try:
        s3_client(server).create_bucket(Bucket="kept")
        keys = (server.access_key, server.secret_key)
        for number in range(ROUNDS):
            write_until_killed(server, number, acknowledged)
            server.start()
            assert (server.access_key, server.secret_key) == keys, "the root key pair is kept"
            verify(s3_client(server), acknowledged)
        assert server.stop() == 0
        server.start()
        verify(s3_client(server), acknowledged)
    finally:
        server.kill()


def write_until_killed(server, number, acknowledged):
    """Several writers, killed once every one of them has something acknowledged."""
    going = threading.Semaphore(0)
    threads = [
        threading.Thread(target=write, args=(server, f"r{number}w{writer}", acknowledged, going))
        for writer in range(WRITERS)
    ]
    for thread in threads:
        thread.start()
    for _ in range(WRITERS * 5):
        assert going.acquire(timeout=60)
    server.kill()
    for thread in threads:
        thread.join(timeout=60)


def write(server, name, acknowledged, going):
    s3 = s3_client(server, retries={"max_attempts": 0}, read_timeout=10)
    for number in range(10_000):
        size = [10, 10_000, 100_000, 5_000_000][number % 4]
        key, body = f"{name}/{number}", data(size, seed=number)
        try:
            s3.put_object(Bucket="kept", Key=key, Body=body)
        except Exception:
            return
        acknowledged[key] = hashlib.sha256(body).digest()
        going.release()


def verify(s3, acknowledged):
    assert acknowledged
    for key, digest in acknowledged.items():
        body = s3.get_object(Bucket="kept", Key=key)["Body"].read()
        assert hashlib.sha256(body).digest() == digest, key
