"""Drives benches/background/run: effect of the DataNodes' background work on a client.

Three DataNodes with one disk each get DATA keys of 8 MB with three replicas, in containers of 32 MB; then
each gets a second, empty disk, and a fourth DataNode with two is added. Each disk is a file system of its
own (4 GB, in memory). A client writes and reads keys of 10 KB: first without other load, then while the
disk balancers of all nodes, the container balancer, the scanners and the deletion of BACKLOG keys run, all
with their default limits. Once per second the usage of the disks and nodes, and the number of containers
that lack a replica, are recorded.
"""

import json
import os
import statistics
import sys
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cluster import Cluster  # noqa: E402
from held_disks import HeldDisks  # noqa: E402
from record import compared, shown  # noqa: E402

DATA = os.environ.get("DATA", "120")
BACKLOG = os.environ.get("BACKLOG", "100000")
ROUNDS = int(os.environ.get("ROUNDS", "6"))
OPERATIONS = os.environ.get("OPERATIONS", "3000")
LONGEST = float(os.environ.get("LONGEST", "300"))
SETTINGS = {
    "ozone.scm.container.size": "32MB",
    "ozone.scm.block.size": "8MB",
    "ozone.block.deleting.service.interval": "1s",
    "trioxide.om.deleted.blocks.kept": "0s",
    "hdds.datanode.volume.min.free.space": "1MB",
    "hdds.datanode.dir.du.reserved.percent": "0",
    "hdds.datanode.disk.balancer.service.interval": "1s",
    "hdds.datanode.disk.balancer.replica.deletion.delay": "1s",
    "hdds.scm.wait.time.after.safemode.exit": "0s",
    "hdds.scm.replication.thread.interval": "1s",
    "hdds.node.report.interval": "1s",
}
SERVICES = ("KeyDeletingService", "ContainerDataScanner", "ContainerMetadataScanner")


class Bench:
    def __init__(self, o3, directory):
        os.makedirs(directory)
        self.nodes = [f"dn{n}" for n in range(1, 5)]
        self.mounts = {n: [f"{directory}/mounts/{n}{disk}" for disk in "ab"] for n in self.nodes}
        self.disks = HeldDisks([mount for of in self.mounts.values() for mount in of])
        self.cluster = Cluster(o3, f"{directory}/cluster", 1, SETTINGS, 0)
        self.cluster.datanodes = self.nodes[:3]
        for name in self.nodes[:3]:
            self.start(name, 1)

    def start(self, name, disks):
        dirs = ",".join(f"{mount}/hdds" for mount in self.mounts[name][:disks])
        client = {"dn1": 1, "dn2": 2, "dn3": 3, "dn4": 4}[name]
        settings = [f"hdds.datanode.dir={dirs}", f"hdds.datanode.hostname=127.0.0.{client}"]
        settings += [f"trioxide.datanode.bind.host=127.0.0.{client}"]
        self.cluster.start(name, "datanode", *settings)

    def json(self, *command):
        return json.loads(self.cluster.run(*command, "--json"))

    def freon(self, verb, prefix, count, threads, *more):
        report = self.json("freon", verb, "-n", count, "-t", threads, "-p", prefix, *more)
        if report["failures"]:
            sys.exit(f"{verb} {prefix}: {report}")
        (timer,) = report["timers"].values()
        return timer

    def client(self, prefix, found):
        for verb, more in (("ockg", ("-s", "10KB")), ("ocklr", ())):
            timer = self.freon(verb, prefix, OPERATIONS, "2", *more)
            found.setdefault(verb, []).append((timer["p50Ms"], timer["p99Ms"]))

    def until(self, what, holds):
        end = time.monotonic() + LONGEST
        while not holds():
            if time.monotonic() > end:
                sys.exit(f"in vain: {what}")
            time.sleep(1)

    def lacking(self):
        """Number of containers with a missing or bad replica."""
        stats = self.json("admin", "container", "report")["stats"]
        return sum(n for name, n in stats.items() if "UNDER" in name or "MISSING" in name or "UNHEALTHY" in name)

    def done(self):
        """Items processed by the services, over all servers."""
        items = {}
        for server in self.json("admin", "service", "list"):
            for service in server["services"]:
                name = service["name"].split("-")[0]
                items[name] = items.get(name, 0) + service["items"]
        kinds = (*SERVICES, "BlockDeletingService", "DiskBalancerService", "ContainerBalancer")
        return {name: items.get(name) for name in kinds}

    def used(self, mount):
        stat = os.statvfs(mount)
        return (stat.f_blocks - stat.f_bfree) * 100.0 / stat.f_blocks

    def spread(self):
        """Maximum deviation of a disk from its node, and of a node from all nodes, in per cent of capacity."""
        used = {node: [self.used(mount) for mount in of] for node, of in self.mounts.items()}
        nodes = [statistics.mean(of) for of in used.values()]
        disks = max(abs(disk - statistics.mean(of)) for of in used.values() for disk in of)
        return disks, max(abs(node - statistics.mean(nodes)) for node in nodes)

    def end(self):
        self.cluster.stop()
        self.disks.end()


def main(o3, work):
    bench = Bench(o3, f"{work}/bench")
    try:
        cluster = bench.cluster
        cluster.wait_ready()
        cluster.run("admin", "service", "pause", *SERVICES)
        bench.freon("ockg", "data", DATA, "4", "-s", "8MB")
        bench.freon("ockg", "backlog", BACKLOG, "32", "-s", "1KB")
        bench.freon("ockr", "backlog", BACKLOG, "32")
        for name in bench.nodes[:3]:
            cluster.processes[name].terminate()
            cluster.processes.pop(name).wait()
            bench.start(name, 2)
        bench.start("dn4", 2)
        cluster.wait_ready()
        bench.until("four nodes", lambda: len(bench.json("admin", "datanode", "list")) == 4)
        cluster.run("admin", "service", "pause", *SERVICES)
        time.sleep(15)
        alone, beside, seen = {}, {}, []
        for n in range(ROUNDS):
            bench.client(f"alone{n}", alone)
        before = bench.spread()
        print(f"disks differ by {before[0]:.1f}, nodes by {before[1]:.1f}, {bench.lacking()} containers lack a replica", flush=True)
        began, done = time.monotonic(), threading.Event()

        def look():
            while not done.is_set():
                seen.append((time.monotonic() - began, *bench.spread(), bench.lacking()))
                done.wait(1)

        watcher = threading.Thread(target=look)
        watcher.start()
        cluster.run("admin", "datanode", "diskbalancer", "start", "--in-service-datanodes", "-t", "3")
        cluster.run("admin", "containerbalancer", "start", "-t", "3", "-i", "-1", "-d", "100")
        cluster.run("admin", "service", "resume", *SERVICES)
        cluster.run("admin", "service", "run", "ContainerDataScanner", "ContainerMetadataScanner")
        for n in range(ROUNDS):
            bench.client(f"beside{n}", beside)
        print(f"{time.monotonic() - began:.0f} s with the client: {bench.spread()}", flush=True)
        print(f"items processed by services: {bench.done()}", flush=True)
        bench.until("all is even", lambda: bench.spread()[0] <= 3.5 and bench.spread()[1] <= 3.5)
        took = time.monotonic() - began
        done.set()
        watcher.join()
        disks, nodes = bench.spread()
        shown("background/disks of a node within 3.5 % of each other, and nodes, after", took, "s", 0)
        print(f"disks differ by {disks:.1f}, nodes by {nodes:.1f}; items processed by services: {bench.done()}")
        print(f"{len(seen)} samples: at most {max(row[3] for row in seen)} containers lacked a replica")
        for at, disks, nodes, _ in seen[:: max(1, len(seen) // 20)]:
            print(f"  {at:.0f} s: disks {disks:.1f}, nodes {nodes:.1f}")
        compared("background", alone, beside, "scans, deletion and balancing", ROUNDS)
    finally:
        bench.end()


main(*sys.argv[1:])
