"""Drives benches/late-reads/run: effect on a client of one disk that takes seconds per read.

Three DataNodes with two disks each; KEYS keys of SIZE with three replicas. They are read by THREADS
readers: without a fault, and while every access to one disk of one DataNode takes DELAY ms, each of the six
disks in turn; the worst disk counts. The delay is injected between the DataNode and the kernel
(slow_disk.c), so that RocksDB's reads of that disk are as late as those of chunks. For comparison the same
without countermeasures: no limit on the DataNode, no hedged reads by the client.
"""

import json
import os
import statistics
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cluster import Cluster  # noqa: E402
from record import shown  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
KEYS = os.environ.get("KEYS", "300")
SIZE = os.environ.get("SIZE", "1MB")
THREADS = os.environ.get("THREADS", "4")
DELAY = os.environ.get("DELAY", "2000")
ROUNDS = int(os.environ.get("ROUNDS", "3"))
SETTINGS = {"hdds.container.scrub.enabled": "false"}
WITHOUT = {"trioxide.datanode.read.limit": "0s", "trioxide.client.hedge.after": "60s"}


class Bench:
    def __init__(self, o3, directory, settings):
        os.makedirs(directory)
        self.slow = f"{directory}/slow"
        library = f"{directory}/slow_disk.so"
        subprocess.run(
            ["cc", "-O2", "-shared", "-fPIC", "-o", library, f"{HERE}/slow_disk.c", "-ldl"], check=True
        )
        self.cluster = Cluster(o3, f"{directory}/cluster", 1, {**SETTINGS, **settings}, 0)
        self.cluster.datanodes = ["dn1", "dn2", "dn3"]
        self.disks = []
        self.cluster.env |= {"SLOW_DISK": self.slow, "SLOW_MILLIS": DELAY, "LD_PRELOAD": library}
        for name in self.cluster.datanodes:
            disks = [f"{self.cluster.dir}/{name}/{disk}" for disk in "ab"]
            self.cluster.start(name, "datanode", f"hdds.datanode.dir={','.join(disks)}")
            self.disks += disks
        self.cluster.env.pop("LD_PRELOAD")

    def put(self):
        self.cluster.wait_ready()
        self.cluster.run("freon", "ockg", "-n", KEYS, "-t", "4", "-s", SIZE, "-p", "late")

    def read(self, slow):
        if slow:
            with open(self.slow, "w") as file:
                file.write(slow)
        report = json.loads(
            self.cluster.run("freon", "ocklr", "-n", KEYS, "-t", THREADS, "-p", "late", "--json")
        )
        if slow:
            os.remove(self.slow)
        if report["failures"]:
            sys.exit(f"{report}")
        (timer,) = report["timers"].values()
        return timer


def measure(o3, directory, title, settings, rounds):
    bench = Bench(o3, directory, settings)
    try:
        bench.put()
        well, slow = [], {disk: [] for disk in bench.disks}
        for _ in range(rounds):
            for disk in bench.disks:
                well.append(bench.read(None))
                slow[disk].append(bench.read(disk))
        middle = lambda timers, share: statistics.median(timer[share] for timer in timers)  # noqa: E731
        for share in ("p50Ms", "p99Ms", "maxMs"):
            name = f"late reads/{SIZE}, {title}"
            shown(f"{name}, all disks well, {share[:-2]}", middle(well, share), "ms", 1)
            worst = max(middle(timers, share) for timers in slow.values())
            shown(f"{name}, a disk of one node with {DELAY} ms, the worst, {share[:-2]}", worst, "ms", 1)
    finally:
        bench.cluster.stop()


def main(o3, work):
    measure(o3, f"{work}/as-is", "as it is", {}, ROUNDS)
    measure(o3, f"{work}/without", "no limit and no hedge", WITHOUT, 1)


main(*sys.argv[1:])
