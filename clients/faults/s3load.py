"""Puts, gets and deletes objects through an S3 gateway with boto3 until it is told to end, and checks what it sees, by the
same rules as `o3 freon ockc`: s3load.py ENDPOINT ACCESS_KEY SECRET_KEY. Prints one JSON object."""

import json
import random
import signal
import sys
import threading
import time

import boto3
import botocore.exceptions
from botocore.config import Config

BUCKET, KEYS, PAUSE = "faults", 4, 0.03
SIZES = (10_000, 300_000)
# A key that cannot be read for as long after all is over is unreadable.
PATIENCE = 90
TOLD = 20


def content(key, version):
    """Bytes that say which key and version they are, no two the same."""
    begin = f"{key} {version}\n".encode()
    return begin + random.Random(f"{key}/{version}").randbytes(SIZES[version % len(SIZES)])


class Key:
    """The history of a key, which one thread changes and several read; a deletion is a version that reads as absent."""

    def __init__(self, name):
        self.name, self.lock = name, threading.Lock()
        self.begun = self.floor = 0
        self.unknown, self.deletions = set(), set()

    def begin(self, deletion):
        with self.lock:
            self.begun += 1
            if deletion:
                self.deletions.add(self.begun)
            return self.begun

    def acknowledged(self, version):
        with self.lock:
            self.floor = max(self.floor, version)

    def judge(self, floor, body):
        """What a read says that began when `floor` was acknowledged; None as body is absent."""
        with self.lock:
            if body is None:
                seen = min((d for d in self.deletions if d >= floor), default=None)
                if seen is None:
                    return "fine" if floor == 0 else "late" if self.deletions & self.unknown else "lost"
            else:
                first, _, version = body[: body.find(b"\n")].decode(errors="replace").partition(" ")
                seen = int(version) if version.isdigit() else 0
                known = first == self.name and 0 < seen <= self.begun and seen not in self.deletions
                if not known or body != content(self.name, seen):
                    return "torn"
                if seen < floor:
                    return "late" if seen in self.unknown else "stale"
            self.floor = max(self.floor, seen)
            return "fine"


class Load:
    """What runs, and what it found."""

    def __init__(self, endpoint, access_key, secret_key):
        self.new_client = lambda: boto3.session.Session().client(
            "s3",
            endpoint_url=endpoint,
            aws_access_key_id=access_key,
            aws_secret_access_key=secret_key,
            region_name="us-east-1",
            # A request that is sent again by itself would be two writes, one of which nobody knows.
            config=Config(retries={"total_max_attempts": 1}, connect_timeout=2, read_timeout=60, s3={"addressing_style": "path"}),
        )
        self.lock, self.ended = threading.Lock(), threading.Event()
        self.counts = dict.fromkeys(("writes", "reads", "writeFailures", "readFailures", "late", "lost", "stale", "torn", "unreadable"), 0)
        self.violations, self.failures = [], []
        self.last, self.longest = time.monotonic(), 0.0

    def count(self, what, text=None):
        with self.lock:
            self.counts[what] += 1
            if what == "writes":
                self.longest = max(self.longest, time.monotonic() - self.last)
                self.last = time.monotonic()
            told = self.failures if what.endswith("Failures") else self.violations
            if text and len(told) < TOLD:
                told.append(f"{int(time.time() * 1e3)}: {text}")

    def change(self, s3, key):
        deletion = random.random() < 0.15
        version = key.begin(deletion)
        try:
            if deletion:
                s3.delete_object(Bucket=BUCKET, Key=key.name)
            else:
                s3.put_object(Bucket=BUCKET, Key=key.name, Body=content(key.name, version))
            key.acknowledged(version)
            self.count("writes")
        except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError) as failed:
            with key.lock:
                key.unknown.add(version)
            self.count("writeFailures", f"version {version} of {key.name}: {failed}")

    def read(self, s3, key, last=False):
        """Whether an answer came."""
        floor = key.floor
        try:
            body = s3.get_object(Bucket=BUCKET, Key=key.name)["Body"].read()
        except botocore.exceptions.ClientError as failed:
            if failed.response["Error"]["Code"] != "NoSuchKey":
                self.count("readFailures", f"{key.name}: {failed}")
                return False
            body = None
        except (botocore.exceptions.BotoCoreError, OSError) as failed:
            self.count("readFailures", f"{key.name}: {failed}")
            return False
        verdict = key.judge(floor, body)
        verdict = "lost" if last and verdict == "stale" else verdict
        self.count("reads")
        if verdict != "fine":
            seen = "nothing" if body is None else body[:40]
            self.count(verdict, None if verdict == "late" else f"{verdict}: {key.name} is {seen}, not {floor} or later")
        return True

    def write_on(self, mine):
        s3 = self.new_client()
        while not self.ended.is_set():
            key = random.choice(mine)
            self.change(s3, key)
            self.read(s3, key)
            time.sleep(PAUSE)

    def read_on(self, keys):
        s3 = self.new_client()
        while not self.ended.is_set():
            self.read(s3, random.choice(keys))
            time.sleep(PAUSE)

    def run(self):
        s3 = self.new_client()
        s3.create_bucket(Bucket=BUCKET)
        mine = [[Key(f"writer{w}-key{k}") for k in range(KEYS)] for w in range(2)]
        keys = [key for some in mine for key in some]
        threads = [threading.Thread(target=self.write_on, args=(some,)) for some in mine]
        threads.append(threading.Thread(target=self.read_on, args=(keys,)))
        for thread in threads:
            thread.start()
        self.ended.wait()
        for thread in threads:
            thread.join()
        for key in keys:
            until = time.monotonic() + PATIENCE
            while not self.read(s3, key, last=True):
                if time.monotonic() > until:
                    self.count("unreadable", f"{key.name} cannot be read")
                    break
                time.sleep(0.2)
        print(json.dumps({**self.counts, "longestMs": self.longest * 1e3, "violations": self.violations, "failures": self.failures}))
        wrong = sum(self.counts[what] for what in ("lost", "stale", "torn", "unreadable"))
        return 1 if wrong or not self.counts["writes"] else 0


def main():
    load = Load(*sys.argv[1:4])
    signal.signal(signal.SIGTERM, lambda *_: load.ended.set())
    sys.exit(load.run())


main()
