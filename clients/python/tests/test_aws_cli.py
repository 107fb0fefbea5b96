"""The aws CLI on a tree of real files."""

import os
import subprocess
import sys

import pytest

import trees


@pytest.fixture
def aws(server):
    environment = {
        **os.environ,
        "AWS_ACCESS_KEY_ID": server.access_key,
        "AWS_SECRET_ACCESS_KEY": server.secret_key,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "PYTHONUTF8": "1",
    }
    program = os.path.join(os.path.dirname(sys.executable), "aws")

    def run(*arguments):
        command = [program, "--endpoint-url", server.endpoint, *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_a_tree_is_uploaded_listed_synced_and_read_back(aws, tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    trees.make(source)
    expected = trees.digest(source)
    aws("s3", "mb", "s3://aws-tree")
    aws("s3", "cp", "--recursive", "--only-show-errors", str(source), "s3://aws-tree/tree")
    listed = aws("s3", "ls", "--recursive", "s3://aws-tree/tree/").splitlines()
    assert len(listed) == len(expected)
    assert "PRE odd names/" in aws("s3", "ls", "s3://aws-tree/tree/")
    assert aws("s3", "sync", str(source), "s3://aws-tree/tree") == "", "nothing is left to sync"
    aws("s3", "cp", "--recursive", "--only-show-errors", "s3://aws-tree/tree", str(target))
    assert trees.digest(target) == expected

    (source / "odd names" / "with space.txt").write_text("changed and longer")
    (source / "dir0" / "sub0" / "file-0.bin").unlink()
    changed = aws("s3", "sync", "--delete", str(source), "s3://aws-tree/tree")
    assert changed.count("upload:") == 1 and changed.count("delete:") == 1
    aws("s3", "sync", "--delete", "--only-show-errors", "s3://aws-tree/tree", str(target))
    assert trees.digest(target) == trees.digest(source)
    aws("s3", "rb", "--force", "s3://aws-tree")
    assert "aws-tree" not in aws("s3", "ls")


def test_objects_move_and_stream(aws, tmp_path):
    aws("s3", "mb", "s3://aws-move")
    (tmp_path / "f").write_text("hello")
    aws("s3", "cp", str(tmp_path / "f"), "s3://aws-move/a")
    aws("s3", "mv", "s3://aws-move/a", "s3://aws-move/b")
    assert aws("s3", "cp", "s3://aws-move/b", "-") == "hello"
    assert aws("s3", "ls", "s3://aws-move/").split()[-1] == "b"
