"""What is done to the DataNodes of erasure-coded keys of rs-3-2: never more to one container than two indexes can bear, and
nothing more before all of them are there again."""

import datetime
import json
import os
import re
import shutil
import subprocess
import time

from cluster import Failed, wait_for

REPLICATION = ["--type", "EC", "-r", "rs-3-2-1024k"]
DATANODES = 7
INDEXES = [1, 2, 3, 4, 5]
# Whatever happened, all indexes are good again within this time, in seconds.
WHOLE_WITHIN = 90
# Lost nodes and damage are noticed within seconds, not minutes.
SETTINGS = {
    "ozone.scm.stale.node.interval": "3s",
    "ozone.scm.dead.node.interval": "6s",
    "hdds.scm.replication.thread.interval": "1s",
    "hdds.scm.wait.time.after.safemode.exit": "0s",
    "hdds.container.scrub.data.scan.interval": "1s",
    "hdds.container.scrub.metadata.scan.interval": "1s",
    "hdds.container.scrub.volume.bytes.per.second": "100MB",
    "hdds.container.scrub.min.gap": "0s",
    # The load overwrites its keys all the time: what is kept for readers would have to be rebuilt, too.
    "trioxide.om.deleted.blocks.kept": "0s",
}
FAULTS = [
    ("kill", "two", "datanodes"),
    ("flip", "bits", "of two datanodes"),
    ("wipe", "datanode", "any"),
    ("truncate", "files", "of two datanodes"),
    ("stop", "two", "datanodes"),
]
# Files that are damaged on a DataNode, at most.
FILES = 20
BAD = ("UNDER_REPLICATED", "MISSING", "UNHEALTHY", "OVER_REPLICATED")


def order(rounds, faults):
    """All of them in turn."""
    return [faults[n % len(faults)] for n in range(rounds)]


class Fault:
    """One fault, from its beginning until all indexes are good again."""

    def __init__(self, cluster, fault, dice):
        self.cluster, self.dice = cluster, dice
        self.how = fault[0]
        self.kind = " ".join(fault).removesuffix(" any")
        able = cluster.datanodes
        if self.how in ("flip", "truncate", "wipe"):
            able = [node for node in able if files_of(cluster, node)]
            if len(able) < 2:
                raise Failed(f"nothing to damage but on {len(able)} DataNodes")
        self.victims = dice.sample(able, 1 if self.how == "wipe" else 2)
        self.away = dice.uniform(1.5, 4.0)
        # Containers with a damaged file, by their DataNodes.
        self.damaged, self.damaged_at = {}, 0.0

    def __str__(self):
        return " ".join(node.name for node in self.victims)

    def may_be_down(self):
        return self.victims if self.how in ("kill", "wipe") else []

    def begin(self):
        for node in self.victims:
            match self.how:
                case "kill":
                    node.kill()
                case "stop":
                    node.stop()
                case "wipe":
                    node.kill()
                    shutil.rmtree(self.cluster.data(node))
                case "flip":
                    self._damage(node, self._flip)
                case "truncate":
                    self._damage(node, self._truncate)

    def end(self):
        for node in self.victims:
            if self.how in ("kill", "wipe"):
                node.start()
            elif self.how == "stop":
                node.resume()
        wait_for(f"an answer of {self}", WHOLE_WITHIN, self.cluster.whole)
        # What is open is looked through by no scan.
        close_all(self.cluster)
        wait_for(f"no damaged replica after {self.kind} ({self})", WHOLE_WITHIN, self._is_mended)
        wait_for(f"all indexes after {self.kind} ({self})", WHOLE_WITHIN, lambda: is_whole(self.cluster))

    def _damage(self, node, change):
        files = files_of(self.cluster, node)
        for file in self.dice.sample(files, min(FILES, len(files))):
            try:
                change(file, self.dice.randrange(file.stat().st_size))
            except (FileNotFoundError, ValueError):
                # Its block was deleted, or nothing is in it yet.
                continue
            self.damaged.setdefault(node, set()).add(int(file.parent.parent.name))
        self.damaged_at = time.time()

    def _flip(self, file, at):
        with open(file, "r+b") as there:
            there.seek(at)
            byte = there.read(1)
            there.seek(at)
            there.write(bytes([byte[0] ^ 1 << self.dice.randrange(8)]))

    def _truncate(self, file, length):
        os.truncate(file, length)

    def _is_mended(self):
        """Whether each replica with a damaged file is gone, or was read since and is good all the same: what was damaged
        is no block any more."""
        return all(self._is_good(node, container) for node, all_of in self.damaged.items() for container in all_of)

    def _is_good(self, node, container):
        rows = node.get(f"/containers.json?start={container}&count=1")
        row = rows[0] if rows else None
        if row is None or row["container"] != container:
            return rows is not None
        scanned = row["scanned"] and datetime.datetime.fromisoformat(row["scanned"]).timestamp()
        return row["state"] == "CLOSED" and bool(scanned) and scanned > self.damaged_at


def files_of(cluster, node):
    """The files of blocks on a DataNode."""
    return sorted(cluster.data(node).rglob("chunks/*"))


def admin(cluster, *words):
    done = subprocess.run(cluster.command("admin", "container", *words), capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"o3 admin container {' '.join(words)}: {done.stderr.strip()[-500:]}")
    return done.stdout


def listed(cluster, state):
    return json.loads(admin(cluster, "list", "--state", state, "--type", "EC", "--all"))


def close_all(cluster):
    """Closes what is open, so that the scans look at it."""
    for container in listed(cluster, "OPEN"):
        try:
            admin(cluster, "close", str(container["containerID"]))
        except Failed:
            # It was closed meanwhile.
            pass


def report(cluster):
    """What `o3 admin container report` says: how far the cluster is."""
    lines = (line.split(":") for line in admin(cluster, "report").splitlines())
    return {line[0].strip(): int(line[1]) for line in lines if len(line) == 2 and line[1].strip().isdigit()}


def is_whole(cluster):
    """Whether each index of each closed container is there once and good, and none is being closed: by what SCM says, and by
    what is on the DataNodes."""
    counts = report(cluster)
    bad = {name: count for name, count in counts.items() if count and any(word in name for word in BAD)}
    if bad or counts.get("CLOSING"):
        return False
    indexes, with_blocks = {}, set()
    for node in cluster.datanodes:
        for row in node.get("/containers.json?count=10000") or []:
            if row["state"] == "CLOSED":
                indexes.setdefault(row["container"], []).append(row["replicaIndex"])
                with_blocks |= {row["container"]} if row["blocks"] else set()
    closed = {row["containerID"] for row in listed(cluster, "CLOSED")} & with_blocks
    return all(sorted(indexes[container]) == INDEXES for container in closed)


def verify(cluster, bucket):
    """Has every replica of every key of a bucket read by itself; says how many keys are good, and what is wrong."""
    command = cluster.command("debug", "replicas", "verify", "--checksums", bucket)
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.findall(r"Keys (?:passed|failed) verification: (\d+)", done.stdout + done.stderr)
    if len(found) != 2 or not int(found[0]) or int(found[1]):
        return 0, [f"verify {bucket}: {found}: {(done.stdout + done.stderr)[-1000:]}"]
    return int(found[0]), []
