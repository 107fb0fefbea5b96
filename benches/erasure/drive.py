"""Drives benches/erasure/run. All results are from one run, so that ratios are valid.

For each scheme and key size, ROUNDS times in turns, one client: the same bytes by plain system
calls (data and parity, `raw_groups`), erasure-coded keys written, RATIS/THREE keys written, both
read again. Then one DataNode per parity replica is killed and the erasure-coded keys are read once
more; their files are dropped from the page cache before each read.

With MBPS every DataNode has a disk of its own limited to that many MiB per second: needs root.
"""

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cluster import ERASURE_CODED, Cluster  # noqa: E402
from held_disks import HeldDisks  # noqa: E402
from record import shown  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", "3"))
MEGABYTES = int(os.environ.get("MEGABYTES", "300"))
SCHEMES = os.environ.get("SCHEMES", "rs-3-2 rs-6-3").split()
SIZES = [int(size) for size in os.environ.get("SIZES", "10 100").split()]
MBPS = int(os.environ.get("MBPS", "0"))
DATANODES = 9
READ = os.environ.get("READ", "ocklr")

SETTINGS = ERASURE_CODED | {
    "ozone.scm.stale.node.interval": "5s",
    "ozone.scm.dead.node.interval": "10s",
    "hdds.scm.replication.thread.interval": "2s",
    "ozone.scm.container.size": "1GB",
}


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
        """Returns MB/s, CPU seconds of the servers per GB, and the whole report."""
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
        # SCM must mark them unhealthy first: it would count starting ones as healthy.
        self.wait_healthy(DATANODES - len(lost))
        for name in lost:
            self.cluster.start_datanode(name)
        self.wait_healthy(DATANODES)
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

    def until(self, what, holds, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = holds()
            if found:
                return found
            time.sleep(0.2)
        sys.exit(f"in vain: {what}")

    def wait_healthy(self, count, seconds=120):
        def healthy():
            listed = ["admin", "datanode", "list", "--node-state", "HEALTHY", "--json"]
            return self.cluster.run(*listed).count("hostName")

        self.until(f"{count} DataNodes are healthy", lambda: healthy() == count, seconds)


def main():
    # Unmounts also when terminated from outside.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    o3, raw, directory = sys.argv[1:4]
    bench = Bench(o3, raw, directory)
    try:
        bench.cluster.wait_ready()
        bench.wait_healthy(DATANODES)
        for scheme in SCHEMES:
            for size in SIZES:
                bench.measure(scheme, size)
    finally:
        bench.end()


main()
