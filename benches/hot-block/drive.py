"""Drives benches/hot-block/run: scaling of concurrent reads of a single block.

One key of each size is put as RATIS/ONE, so that one DataNode serves all reads of its one block, and read
by an increasing number of concurrent readers. For each number: reads per second, and that DataNode's CPU
time and voluntary context switches per read. Lock contention shows as more switches and CPU time per read,
and as a rate below the capacity of the cores.
"""

import glob
import json
import os
import statistics
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cluster import Cluster  # noqa: E402
from record import record  # noqa: E402

READERS = [int(n) for n in os.environ.get("READERS", "1 2 4 8 16 32 64").split()]
SIZES = os.environ.get("SIZES", "10KB 1MB").split()
SECONDS = os.environ.get("SECONDS_EACH", "4")
ROUNDS = int(os.environ.get("ROUNDS", "3"))


def switches(cluster, name):
    """Voluntary context switches of all threads of a process so far."""
    total = 0
    for path in glob.glob(f"/proc/{cluster.processes[name].pid}/task/*/status"):
        try:
            with open(path) as file:
                lines = [line for line in file if line.startswith("voluntary_ctxt_switches")]
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines)
    return total


def read(cluster, prefix, readers):
    before = {n: (cluster.cpu(n), switches(cluster, n)) for n in cluster.datanodes}
    report = cluster.run(
        "freon", "ocklr", "-n", "1", "-t", str(readers), "-p", prefix,
        "--duration", f"{SECONDS}s", "--json",
    )  # fmt: skip
    report = json.loads(report)
    used = {n: cluster.cpu(n) - before[n][0] for n in cluster.datanodes}
    hot = max(used, key=used.get)
    count = report["successes"]
    return (
        report["testsPerSecond"],
        used[hot] * 1e6 / count,
        (switches(cluster, hot) - before[hot][1]) / count,
    )


def main(o3, work):
    cluster = Cluster(o3, work, 1)
    try:
        cluster.wait_ready()
        for size in SIZES:
            prefix = f"hot{size}"
            cluster.run(
                "freon", "ockg", "-n", "1", "-t", "1", "-s", size, "-p", prefix,
                "--type", "RATIS", "--replication", "ONE",
            )  # fmt: skip
            read(cluster, prefix, READERS[0])
            found = {n: [] for n in READERS}
            for _ in range(ROUNDS):
                for readers in READERS:
                    found[readers].append(read(cluster, prefix, readers))
            for readers in READERS:
                rate, cpu, waits = (statistics.median(of) for of in zip(*found[readers]))
                print(
                    f"{size}, {readers} readers: {rate:,.0f} reads/s; CPU of the DataNode per read "
                    f"{cpu:.1f} us, context switches per read {waits:.2f}",
                    flush=True,
                )
                record(f"hot block/{size}, {readers} readers", rate, "reads/s")
                record(f"hot block/{size}, {readers} readers, CPU of the DataNode", cpu, "us")
    finally:
        cluster.stop()


main(*sys.argv[1:])
