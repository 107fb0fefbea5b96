"""Drives benches/reconstruction/run. All results are from one run, so that ratios are valid.

A container whose replicas have MEGABYTES each is filled and closed. Then, ROUNDS times, the
DataNode with one of its replicas is killed permanently, and SCM has that replica reconstructed on
one that had none: first without other load, and in the last round with a client that writes and
reads small keys without a pause. The rate is compared with that of the same reads and writes by
plain system calls, and with the codec alone on one core (`raw_rebuild`), and the client's p99 with
its value before.
"""

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
import urllib.request

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cluster import ERASURE_CODED, Cluster, free_ports  # noqa: E402
from record import shown  # noqa: E402

SCHEME = os.environ.get("SCHEME", "rs-3-2")
MEGABYTES = int(os.environ.get("MEGABYTES", "1000"))
ROUNDS = int(os.environ.get("ROUNDS", "2"))
DATA, PARITY = (int(number) for number in SCHEME.removeprefix("rs-").split("-"))
DATANODES = DATA + PARITY + ROUNDS
KEY_MIB = 100

SETTINGS = ERASURE_CODED | {
    "ozone.scm.stale.node.interval": "3s",
    "ozone.scm.dead.node.interval": "6s",
    "hdds.scm.replication.thread.interval": "1s",
    "hdds.heartbeat.interval": "1s",
    "ozone.scm.container.size": "5GB",
    # Scans would read the disk, too.
    "hdds.container.scrub.enabled": "false",
}
# The default limits, unless overridden.
for variable, key in (("BANDWIDTH", "bandwidth"), ("WITH_CLIENTS", "bandwidth.with.clients")):
    if os.environ.get(variable):
        SETTINGS[f"trioxide.datanode.replication.{key}"] = os.environ[variable]


class Bench:
    def __init__(self, o3, raw, directory):
        self.raw = raw
        self.home = f"{directory}/cluster"
        self.ports = {}
        self.cluster = Cluster(o3, self.home, 1, SETTINGS, 0)
        for number in range(DATANODES):
            self.start(f"dn{number + 1}")

    def start(self, name):
        self.ports[name] = free_ports(1)[0]
        self.cluster.datanodes.append(name)
        self.cluster.start(
            name,
            "datanode",
            f"hdds.datanode.dir={self.home}/{name}/hdds",
            f"hdds.datanode.http-address=127.0.0.1:{self.ports[name]}",
        )

    def page(self, name, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[name]}{path}", timeout=5) as answer:
                return answer.read().decode()
        except OSError:
            return ""

    def metric(self, metric):
        """The sum over all running DataNodes."""
        pages = (self.page(name, "/metrics") for name in self.cluster.datanodes)
        found = (re.findall(rf"^\w*{metric}(?:_total)? ([0-9.e+]+)$", page, re.MULTILINE) for page in pages)
        return sum(float(value) for values in found for value in values)

    def replicas(self, container):
        """The replica index and state of a container by DataNode."""
        found = {}
        for name in self.cluster.datanodes:
            for row in json.loads(self.page(name, "/containers.json?count=10000") or "[]"):
                if row["container"] == container:
                    found[name] = (row["replicaIndex"], row["state"])
        return found

    def until(self, what, holds, seconds=60, step=0.02):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = holds()
            if found:
                return found
            time.sleep(step)
        for name in self.cluster.datanodes:
            print(f"{name}: {self.page(name, '/containers.json?count=10000')}")
        print(self.cluster.run("admin", "container", "report"))
        sys.exit(f"in vain: {what}")

    def freon(self, verb, *arguments):
        report = json.loads(self.cluster.run("freon", verb, "--json", *arguments))
        if report["failures"]:
            sys.exit(f"{verb} {arguments}: {report}")
        return report

    def fill(self):
        """Fills containers; closes and returns the largest one."""
        keys = str(MEGABYTES * DATA // KEY_MIB)
        coded = ["-v", "vol1", "-b", "coded", "--type", "EC", "-r", f"{SCHEME}-1024k"]
        self.freon("ockg", "-t", "1", "-n", keys, "-s", str(KEY_MIB << 20), "-p", "large", *coded)
        self.freon("ockg", "-t", "4", "-n", "2000", "-s", "10KB", "-p", "small", *SMALL)
        listed = self.cluster.run("admin", "container", "list", "--type", "EC", "--all", "--json")
        largest = max(json.loads(listed), key=lambda row: row["usedBytes"])
        container = largest["containerID"]
        self.cluster.run("admin", "container", "close", str(container))
        everywhere = DATA + PARITY

        def closed():
            states = [state for _, state in self.replicas(container).values()]
            return states == ["CLOSED"] * everywhere

        self.until("the container is closed", closed)
        return container

    def load(self, verb):
        """The p99 of a client's calls, over two seconds."""
        report = self.freon(verb, "-t", "1", "-n", "2000", "--duration", "2s", "-p", "small", *SMALL[: LOADS[verb]])
        (timer,) = report["timers"].values()
        return timer["p99Ms"]

    def lose(self, container, index):
        """Kills the DataNode with a replica permanently."""
        (victim,) = [name for name, (has, _) in self.replicas(container).items() if has == index]
        self.cluster.datanodes.remove(victim)
        self.cluster.kill(victim)

    def rebuild(self, container, index, meanwhile=lambda: None):
        """Returns the MB/s of the reconstructed replica."""
        bytes_before, done = self.metric("reconstruct_ec_bytes"), self.metric("reconstruct_ec_done")
        self.lose(container, index)
        self.until("the reconstruction begins", lambda: self.metric("reconstruct_ec_running") > 0)
        begun = time.monotonic()
        while meanwhile() is not None and self.metric("reconstruct_ec_running") > 0:
            # Reading the pages costs CPU time.
            time.sleep(0.1)
        self.until("the replica is reconstructed", lambda: self.metric("reconstruct_ec_done") > done, 120, 0.05)
        took = time.monotonic() - begun
        indexes = [has for has, state in self.replicas(container).values() if state == "CLOSED"]
        if sorted(indexes) != list(range(1, DATA + PARITY + 1)):
            sys.exit(f"reconstructed, but the replica indexes are {sorted(indexes)}")
        rebuilt = self.metric("reconstruct_ec_bytes") - bytes_before
        print(f"  {rebuilt / 1e6:.0f} MB in {took:.2f} s", flush=True)
        return rebuilt / 1e6 / took

    def measure(self):
        container = self.fill()
        raw_dirs = ",".join(f"{self.home}/{name}/hdds" for name in self.cluster.datanodes)
        env = {name: value for name, value in os.environ.items() if name != "BENCH_RESULTS"}
        command = [self.raw, raw_dirs, str(MEGABYTES), SCHEME.removeprefix("rs-")]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout
        disk, codec = (float(re.search(rf"(\d+) MB/s by the {which}", done).group(1)) for which in ("disk", "codec"))
        title = f"reconstruction/{SCHEME}, a replica of {MEGABYTES} MB"
        shown(f"{title} disk alone", disk, "MB/s", 0)
        shown(f"{title} codec alone, one core", codec, "MB/s", 0)
        rates = []
        for index in range(1, ROUNDS):
            self.cluster.forget_pages()
            rates.append(self.rebuild(container, index))
        rate = statistics.median(rates)
        shown(f"{title} rate", rate, "MB/s", 0)
        shown(f"{title} rate beside the slower of disk and codec", 100 * rate / min(disk, codec), "%", 0)
        before, during = ({verb: [] for verb in LOADS} for _ in range(2))
        for _ in range(2):
            for verb in LOADS:
                before[verb].append(self.load(verb))

        def meanwhile():
            for verb in LOADS:
                p99 = self.load(verb)
                # A measurement that includes the end of the reconstruction is discarded.
                if self.metric("reconstruct_ec_running") == 0:
                    return None
                during[verb].append(p99)
            return during

        self.cluster.forget_pages()
        rate = self.rebuild(container, ROUNDS, meanwhile)
        shown(f"{title} rate beside a client", rate, "MB/s", 0)
        for verb, name in (("ockg", "write"), ("ocklr", "read")):
            if not during[verb]:
                print(f"the reconstruction took less than two seconds: no p99 of concurrent {name}s")
                continue
            quiet, beside = statistics.median(before[verb]), statistics.median(during[verb])
            shown(f"{title} p99 of {name}s of 10 KB before", quiet, "ms", 2)
            shown(f"{title} p99 of {name}s of 10 KB beside it", beside, "ms", 2)
            shown(f"{title} p99 of {name}s of 10 KB, ratio", 100 * beside / quiet, "%", 0)


SMALL = ["-v", "vol1", "-b", "small", "--type", "RATIS", "-r", "THREE"]
# The client's commands, and the number of the arguments above that each one takes.
LOADS = {"ockg": 8, "ocklr": 4}


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("timed out"))
    o3, raw, directory = sys.argv[1:4]
    bench = Bench(o3, raw, directory)
    try:
        bench.cluster.wait_ready()

        def healthy():
            listed = ["admin", "datanode", "list", "--node-state", "HEALTHY", "--json"]
            return bench.cluster.run(*listed).count("hostName") == DATANODES

        bench.until("all DataNodes are healthy", healthy)
        bench.measure()
    finally:
        bench.cluster.stop()


main()
