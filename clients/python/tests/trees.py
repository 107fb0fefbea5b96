"""Directory trees of real files, and whether two are the same."""

import hashlib
import os

from conftest import data

BIG = 110 << 20


def make(root, files=600):
    """Many small files, some odd names, an empty one, one over 100 MB."""
    for number in range(files):
        path = root / f"dir{number % 17}" / f"sub{number % 5}" / f"file-{number}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data(number * 137 % 40_000, seed=number))
    odd = root / "odd names"
    odd.mkdir()
    for name in ("with space.txt", "plus+and%percent", "ünïcödé", "日本語.txt", "a&b=c", "(1)", "'quoted'", "hash#tag"):
        (odd / name).write_bytes(name.encode())
    (root / "empty").write_bytes(b"")
    (root / "big.bin").write_bytes(data(BIG, seed=99))


def digest(root):
    """Every file's path and content."""
    found = {}
    for directory, _, names in os.walk(root):
        for name in names:
            path = os.path.join(directory, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, root)] = hashlib.file_digest(file, "sha256").hexdigest()
    return found
