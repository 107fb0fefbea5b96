"""One server for the whole run, a fresh bucket for each test."""

import itertools
import random

import boto3
import pytest
from botocore.config import Config

from server import Server

_numbers = itertools.count(1)


def s3_client(server, **config):
    """A boto3 client that gives up in bounded time."""
    settings = dict(
        retries={"max_attempts": 2, "mode": "standard"},
        connect_timeout=5,
        read_timeout=60,
        s3={"addressing_style": "path"},
    )
    settings.update(config)
    return boto3.client(
        "s3",
        endpoint_url=server.endpoint,
        aws_access_key_id=server.access_key,
        aws_secret_access_key=server.secret_key,
        region_name="us-east-1",
        config=Config(**settings),
    )


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    directory = tmp_path_factory.mktemp("server")
    server = Server(directory / "data", directory / "log").start()
    yield server
    assert server.stop() == 0, "a graceful stop ends with status 0"


@pytest.fixture(scope="session")
def s3(server):
    return s3_client(server)


@pytest.fixture
def bucket(s3):
    name = f"bucket-{next(_numbers)}"
    s3.create_bucket(Bucket=name)
    return name


def data(size, seed=0):
    """Bytes that no compression or block boundary makes easy, the same for the same seed."""
    return random.Random(seed).randbytes(size)


def code_of(error):
    """Code and HTTP status of a client error."""
    response = error.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]
