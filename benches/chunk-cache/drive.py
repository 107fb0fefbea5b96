"""Drives benches/chunk-cache/run: reads of first chunks from a slow disk, compared with those from a cache.

One DataNode whose disk allows READS reads per second: 33 mean 30 ms per access. KEYS keys of SIZE are put
as RATIS/ONE, and the page cache is dropped before they are read sequentially. That is done without a cache,
and with trioxide.datanode.cache.dirs on this machine's own disk: written chunks are in the cache (and not
in the page cache, since it was dropped there, too). Then uncached keys are read three times: the first read
is recorded, the second inserts the chunk.
"""

import json
import os
import signal
import sys
import urllib.request

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cluster import Cluster, free_ports  # noqa: E402
from held_disks import HeldDisks  # noqa: E402
from record import shown  # noqa: E402

KEYS = os.environ.get("KEYS", "150")
SIZE = os.environ.get("SIZE", "1MB")
READS = int(os.environ.get("READS", "33"))
SETTINGS = {"hdds.container.scrub.enabled": "false", "hdds.datanode.volume.min.free.space": "1MB"}


class Bench:
    def __init__(self, o3, directory, with_cache):
        self.home, self.port = directory, free_ports(1)[0]
        self.slow, self.fast = f"{directory}/slow", f"{directory}/fast"
        os.makedirs(directory)
        self.disks = HeldDisks([self.slow], reads=READS)
        self.cluster = Cluster(o3, f"{directory}/cluster", 1, SETTINGS, 0)
        self.cluster.datanodes = ["dn1"]
        settings = [f"hdds.datanode.dir={self.slow}/hdds", f"hdds.datanode.http-address=127.0.0.1:{self.port}"]
        if with_cache:
            settings += [f"trioxide.datanode.cache.dirs={self.fast}", "trioxide.datanode.cache.capacity=1GB"]
        self.settings = settings
        self.start()

    def start(self):
        self.cluster.start("dn1", "datanode", *self.settings)
        self.cluster.wait_ready()

    def put(self, prefix):
        self.cluster.run(
            "freon", "ockg", "-n", KEYS, "-t", "4", "-s", SIZE, "-p", prefix,
            "--type", "RATIS", "--replication", "ONE",
        )  # fmt: skip

    def read(self, prefix):
        """Read latencies in ms, starting with an empty page cache."""
        for top in (self.slow, self.fast):
            for directory, _, names in os.walk(top):
                for name in names:
                    with open(f"{directory}/{name}", "rb") as file:
                        os.fsync(file.fileno())
                        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        report = json.loads(self.cluster.run("freon", "ocklr", "-n", KEYS, "-t", "1", "-p", prefix, "--json"))
        if report["failures"]:
            sys.exit(f"{report}")
        (timer,) = report["timers"].values()
        return timer

    def wipe(self):
        """Empties the fast disk, as if it were replaced."""
        self.cluster.kill("dn1")
        for directory, _, names in os.walk(self.fast):
            for name in names:
                if name != "LOCK":
                    os.remove(f"{directory}/{name}")
        self.start()

    def figures(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/status.json", timeout=5) as answer:
            return json.load(answer).get("Chunk cache")

    def end(self):
        self.cluster.stop()
        self.disks.end()


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("timed out"))
    o3, work = sys.argv[1:3]
    title = f"chunk cache/first {SIZE} of a block, {READS} reads a second"
    found = {}
    for with_cache in (False, True):
        bench = Bench(o3, f"{work}/{with_cache}", with_cache)
        try:
            bench.put("written")
            name = "from the cache" if with_cache else "from the disk"
            found[name] = bench.read("written")
            if with_cache:
                # As if nothing had been written here: each chunk must be inserted by reads.
                bench.wipe()
                for read in ("first", "second", "third"):
                    found[f"{read} read of what the cache does not have"] = bench.read("written")
                print(json.dumps(bench.figures(), indent=2))
        finally:
            bench.end()
    for name, timer in found.items():
        for share in ("50", "90", "98"):
            shown(f"{title}, {name}, p{share}", timer[f"p{share}Ms"], "ms", 2)
    ratio = found["from the disk"]["p90Ms"] / found["from the cache"]["p90Ms"]
    print(f"p90 without the cache is {ratio:.1f} times that with it")


main()
