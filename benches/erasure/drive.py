"""Drives benches/erasure/run. Every figure is of one run, so that ratios hold.

For each scheme and key size, ROUNDS times in turns, one client: the same bytes by plain system
calls (data and parity, `raw_groups`), erasure-coded keys written, RATIS/THREE keys written, both
read again. Then as many DataNodes as the scheme has parity are killed and the erasure-coded keys
read once more; the kernel forgets what it has of their files before each read. At last a container
of CONTAINER MB of keys loses a replica index and is rebuilt, while a client reads: beside it the
same bytes by plain system calls, read from as many files and written to one.

With MBPS every DataNode has a disk of its own that is held to so many MiB a second: needs root.
"""

import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cluster import Cluster  # noqa: E402
from held_disks import HeldDisks  # noqa: E402
from record import record  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", "3"))
MEGABYTES = int(os.environ.get("MEGABYTES", "300"))
SCHEMES = os.environ.get("SCHEMES", "rs-3-2 rs-6-3").split()
SIZES = [int(size) for size in os.environ.get("SIZES", "10 100").split()]
MBPS = int(os.environ.get("MBPS", "0"))
# Of the container that is rebuilt: MB of keys.
CONTAINER = int(os.environ.get("CONTAINER", "1000"))
DATANODES = 9
READ = os.environ.get("READ", "ocklr")

SETTINGS = {
    "ozone.scm.stale.node.interval": "5s",
    "ozone.scm.dead.node.interval": "10s",
    "hdds.scm.replication.thread.interval": "2s",
    "hdds.scm.wait.time.after.safemode.exit": "0s",
    "ozone.scm.ec.pipeline.minimum": "1",
}


def shown(name, value, unit, digits=1):
    print(f"{name}: {value:.{digits}f} {unit}", flush=True)
    record(name, value, unit)


class Bench:
    def __init__(self, o3, raw, directory):
        self.raw = raw
        home = f"{directory}/cluster"
        self.disks = [f"{home}/dn{n + 1}/hdds" for n in range(DATANODES)]
        self.held = HeldDisks(self.disks, MBPS) if MBPS else None
        self.cluster = Cluster(o3, home, 1, SETTINGS, DATANODES)

    def end(self):
        self.cluster.stop()
        if self.held:
            self.held.end()

    def pids(self):
        return ",".join(str(process.pid) for process in self.cluster.processes.values())

    def freon(self, verb, *arguments):
        """MB/s, CPU seconds of the servers per GB, and the whole report."""
        report = json.loads(
            self.cluster.run("freon", verb, "-t", "1", "--json", "--server-pid", self.pids(), *arguments)
        )
        if report["failures"]:
            sys.exit(f"{verb} {arguments}: {report}")
        cpu = report["serverCpuMs"] / 1e3 / (report["bytes"] / 1e9)
        return report["bytesPerSecond"] / 1e6, cpu, report

    def raw_rate(self, keys, size, scheme):
        code = scheme.removeprefix("rs-")
        command = [self.raw, ",".join(self.disks), str(keys), str(size), code]
        env = {name: value for name, value in os.environ.items() if name != "BENCH_RESULTS"}
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
        return float(re.search(r"each: (\d+) MB/s", done.stdout).group(1))

    def measure(self, scheme, size):
        keys = max(2, MEGABYTES // size)
        figures = {}

        def note(name, value):
            figures.setdefault(name, []).append(value)

        many = ["-n", str(keys)]
        length = ["-s", str(size << 20)]
        coded = ["-v", "vol1", "-b", "coded", "--type", "EC", "-r", f"{scheme}-1024k"]
        three = ["-v", "vol1", "-b", "three", "--type", "RATIS", "-r", "THREE"]
        kinds = {"coded": coded, "three": three}
        for number in range(ROUNDS):
            note("raw", self.raw_rate(keys, size, scheme))
            for kind, target in kinds.items():
                prefix = ["-p", f"{scheme}-{size}-{number}"]
                rate, cpu, _ = self.freon("ockg", *many, *length, *prefix, *target)
                note(f"{kind} write", rate)
                note(f"{kind} write cpu", cpu)
            for kind, target in kinds.items():
                prefix = ["-p", f"{scheme}-{size}-{number}"]
                self.cluster.forget_pages()
                rate, cpu, _ = self.freon(READ, *many, *prefix, *target[:4])
                note(f"{kind} read", rate)
                note(f"{kind} read cpu", cpu)
        lost = self.cluster.datanodes[-int(scheme.split("-")[2]):]
        for name in lost:
            self.cluster.kill(name)
        for number in range(ROUNDS):
            prefix = ["-p", f"{scheme}-{size}-{number}"]
            self.cluster.forget_pages()
            rate, cpu, _ = self.freon(READ, *many, *prefix, *coded[:4])
            note("coded read, nodes gone", rate)
            note("coded read, nodes gone cpu", cpu)
        for name in lost:
            self.cluster.start_datanode(name)
        self.wait_whole()
        median = {name: statistics.median(values) for name, values in figures.items()}
        held = f" on disks of {MBPS} MiB/s" if MBPS else ""
        title = f"erasure/{scheme} {size} MiB{held}"
        for name, value in median.items():
            spread = f"{min(figures[name]):.1f} to {max(figures[name]):.1f}"
            unit = "CPU s/GB" if name.endswith("cpu") else "MB/s"
            print(f"  ({spread})", end=" ")
            shown(f"{title} {name}", value, unit)
        for name, of, what in [
            ("coded write", "raw", "writes beside raw writes"),
            ("coded read", "three read", "reads beside RATIS/THREE"),
            ("coded read, nodes gone", "coded read", "reads with nodes gone beside all there"),
            ("coded write cpu", "three write cpu", "server CPU of writes beside RATIS/THREE"),
            ("coded read cpu", "three read cpu", "server CPU of reads beside RATIS/THREE"),
        ]:
            shown(f"{title} {what}", 100 * median[name] / median[of], "%", 0)

    def rebuild(self):
        """Has a container lose a replica index, and measures until it is whole again."""
        cluster, prefix = self.cluster, "rebuild"
        coded = ["-v", "vol1", "-b", "coded", "--type", "EC", "-r", "rs-3-2-1024k"]
        many = str(max(1, CONTAINER // 100))
        self.freon("ockg", "-n", many, "-s", str(100 << 20), "-p", prefix, *coded)
        self.freon("ockg", "-n", "40", "-s", str(1 << 20), "-p", "small", *coded)
        for container in self.open_containers():
            cluster.run("admin", "container", "close", container)
        self.until("all containers are closed", lambda: not self.open_containers())
        # The node that has the most: its container is the one that was just written.
        used = {name: self.blocks(name) for name in cluster.datanodes}
        victim = max(used, key=lambda name: sum(size for _, size in used[name]))
        largest = max(used[victim], key=lambda block: block[1])
        container = largest[0].split("/")[-3]
        reads = ["-t", "4", "--keys", "40", "-p", "small", *coded[:4]]
        before = self.p99(reads)
        cluster.forget_pages()
        cluster.kill(victim)
        shutil.rmtree(f"{cluster.dir}/{victim}/hdds", ignore_errors=True)
        during = []
        done = threading.Event()

        def read_on():
            while not done.is_set():
                during.append(self.p99(reads, "2s"))

        reader = threading.Thread(target=read_on)
        reader.start()
        line = self.until("the container is rebuilt", lambda: self.audit(container), 180)
        done.set()
        reader.join()
        values = dict(re.findall(r"(\w+)=([^,}]*)", line))
        rebuilt, seconds = int(values["bytes"]) / 1e6, int(values["millis"]) / 1e3
        sources = [block for name in cluster.datanodes if name != victim
                   for block in self.blocks(name) if block[0].split("/")[-3] == container]
        raw = self.raw_rebuild(sources, rebuilt)
        shown(f"erasure/rebuild of {rebuilt:.0f} MB", rebuilt / seconds, "MB/s")
        shown("erasure/rebuild by plain system calls", rebuilt / raw, "MB/s")
        shown("erasure/rebuild beside plain system calls", 100 * raw / seconds, "%", 0)
        shown("erasure/p99 of reads before", before, "ms")
        shown("erasure/p99 of reads meanwhile", max(during), "ms")

    def blocks(self, name):
        """Paths and sizes of the block files of a DataNode."""
        found = glob.glob(f"{self.cluster.dir}/{name}/hdds/**/chunks/*.block", recursive=True)
        return [(path, os.path.getsize(path)) for path in found]

    def p99(self, arguments, duration="4s"):
        command = ["freon", READ, "--json", "--duration", duration, *arguments]
        return json.loads(self.cluster.run(*command))["timers"]["key-read"]["p99Ms"]

    def open_containers(self):
        listed = self.cluster.run("admin", "container", "list", "--all", "--state", "OPEN")
        return re.findall(r'"containerID" : (\d+)', listed)

    def audit(self, container):
        """The line of a DataNode that rebuilt a container."""
        for path in glob.glob(f"{self.cluster.dir}/dn*/**/dn-audit*.log", recursive=True):
            with open(path) as file:
                for line in file:
                    if "RECOVER_EC_BLOCK" in line and f"container={container}," in line:
                        return line
        return None

    def raw_rebuild(self, sources, rebuilt):
        """Seconds that it takes to read the files of four replicas and to write one, all at once."""
        self.cluster.forget_pages()
        by_disk = {}
        for path, _ in sources:
            by_disk.setdefault(path.split("/hdds/")[0], []).append(path)
        target = f"{max(self.disks, key=lambda disk: disk not in by_disk)}/raw_rebuild"
        size = 4 << 20

        def read(paths):
            for path in paths:
                with open(path, "rb", buffering=0) as file:
                    while file.read(size):
                        pass

        def write():
            piece, left = bytes(size), int(rebuilt * 1e6)
            with open(target, "wb", buffering=0) as file:
                while left > 0:
                    left -= file.write(piece[: min(size, left)])
                os.fdatasync(file.fileno())

        work = [threading.Thread(target=read, args=(paths,)) for paths in list(by_disk.values())[:4]]
        work.append(threading.Thread(target=write))
        begun = time.monotonic()
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()
        took = time.monotonic() - begun
        os.remove(target)
        return took

    def until(self, what, holds, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = holds()
            if found:
                return found
            time.sleep(0.2)
        sys.exit(f"in vain: {what}")

    def wait_whole(self, seconds=120):
        def healthy():
            listed = ["admin", "datanode", "list", "--node-state", "HEALTHY", "--json"]
            return self.cluster.run(*listed).count("hostName")

        self.until("all DataNodes are there", lambda: healthy() == DATANODES, seconds)


def main():
    o3, raw, directory = sys.argv[1:4]
    bench = Bench(o3, raw, directory)
    try:
        bench.cluster.wait_ready()
        bench.wait_whole()
        for scheme in SCHEMES:
            for size in SIZES:
                bench.measure(scheme, size)
        if CONTAINER:
            bench.rebuild()
    finally:
        bench.end()


main()
