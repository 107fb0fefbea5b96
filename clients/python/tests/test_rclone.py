"""rclone on a tree of real files."""

import os
import shutil
import subprocess

import pytest

import trees


@pytest.fixture
def rclone(server):
    program = shutil.which("rclone")
    assert program, "rclone is missing: scripts/setup test installs it"
    environment = {
        **os.environ,
        "RCLONE_CONFIG": os.devnull,
        "RCLONE_CONFIG_O3_TYPE": "s3",
        "RCLONE_CONFIG_O3_PROVIDER": "Other",
        "RCLONE_CONFIG_O3_ENDPOINT": server.endpoint,
        "RCLONE_CONFIG_O3_ACCESS_KEY_ID": server.access_key,
        "RCLONE_CONFIG_O3_SECRET_ACCESS_KEY": server.secret_key,
        "RCLONE_CONFIG_O3_REGION": "us-east-1",
    }

    def run(*arguments, status=0):
        command = [program, "--retries", "1", *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    return run


def test_a_tree_is_synced_checked_and_read_back(rclone, tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    trees.make(source)
    expected = trees.digest(source)
    rclone("mkdir", "o3:rclone-tree")
    rclone("sync", "--transfers", "8", str(source), "o3:rclone-tree/tree")
    rclone("check", "--download", str(source), "o3:rclone-tree/tree")
    assert len(rclone("lsf", "-R", "--files-only", "o3:rclone-tree/tree").splitlines()) == len(expected)
    rclone("copy", "--transfers", "8", "o3:rclone-tree/tree", str(target))
    assert trees.digest(target) == expected

    (source / "empty").write_text("no more")
    rclone("check", str(source), "o3:rclone-tree/tree", status=1)
    rclone("sync", str(source), "o3:rclone-tree/tree")
    rclone("check", str(source), "o3:rclone-tree/tree")
    rclone("moveto", "o3:rclone-tree/tree/empty", "o3:rclone-tree/moved")
    assert rclone("cat", "o3:rclone-tree/moved") == "no more"
    rclone("purge", "o3:rclone-tree")
    assert "rclone-tree" not in rclone("lsd", "o3:")
