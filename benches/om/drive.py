"""Drives benches/om/run. All results are from one run, so that ratios are valid.

creates: keys opened and committed by 64 clients, with one OM and with three in turns, all on
    this machine. The rate, and the CPU time of every OM per key: if all share the same cores, that
    determines the rate. With CORES each OM is limited to that share of a core by a cgroup, as if it
    had a machine of its own. With OZONE, the path of a published `ozone` script, its freon creates
    them, in a JVM for each round; it reports whole seconds, so KEYS should be large.

reads: lookups with three OMs, by read consistency of the clients: the leader only, any OM with
    linearizable reads, any OM with stale reads. Each OM gets CORES (0.4), the clients the rest.
    First without other load; then WRITERS clients saturate the leader.
"""

import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cluster import Cluster  # noqa: E402
from record import record  # noqa: E402

KEYS = int(os.environ.get("KEYS", "60000"))
OZONE = os.environ.get("OZONE")
CLIENTS = os.environ.get("CLIENTS", "64")
ROUNDS = int(os.environ.get("ROUNDS", "3"))
CORES = float(os.environ.get("CORES", "0"))
WRITERS = os.environ.get("WRITERS", "64")
READERS = os.environ.get("READERS", "16")
SECONDS = os.environ.get("SECONDS_EACH", "5")

ANYWHERE = "ozone.client.follower.read.enabled=true"
KIND = "ozone.client.follower.read.default.consistency"
MODES = {
    "leader only": [],
    "any OM, linearizable": [ANYWHERE, f"{KIND}=LINEARIZABLE_ALLOW_FOLLOWER"],
    "any OM, what it has": [ANYWHERE, f"{KIND}=LOCAL_LEASE"],
}


def ommg(cluster, operation, prefix, *arguments):
    report = cluster.run(
        "freon", "ommg", "-o", operation, "-t", CLIENTS, "-p", prefix, "--json", *arguments
    )
    return json.loads(report)


def create(cluster, prefix):
    """Creates keys; returns the rate, and the median latency in ms if the generator reports it."""
    if not OZONE:
        report = ommg(cluster, "CREATE_KEY", prefix, "-n", str(KEYS))
        return report["testsPerSecond"], report["timers"]["CREATE_KEY"]["p50Ms"]
    command = [OZONE, "freon", "ommg", "-o", "CREATE_KEY", "-t", CLIENTS, "-n", str(KEYS)]
    done = subprocess.run([*command, "-p", prefix], env=cluster.env, capture_output=True, text=True)
    told = dict(re.findall(r"^(.*): (\d+)$", done.stdout, re.MULTILINE))
    if told.get("Successful executions") != str(KEYS):
        sys.exit(f"{command}: {done.stdout}{done.stderr}")
    return KEYS / int(told["Total execution time (sec)"]), None


def limit(cluster, cores):
    if not all([cluster.limit(name, cores) for name in cluster.names]):
        sys.exit("cannot create cgroups")
    print(f"each OM has {cores} of a core")


def one_round(cluster, number):
    """Creates keys; returns the rate, and prints the results."""
    leader, count = cluster.leader(), len(cluster.names)
    before = {name: cluster.cpu(name) for name in cluster.names}
    rate, p50 = create(cluster, f"r{number}")
    used = {n: (cluster.cpu(n) - before[n]) * 1e6 / KEYS for n in cluster.names}
    if cluster.leader() != leader:
        sys.exit("the leader changed during the run: the results are invalid")
    median = f", p50 {p50:.2f} ms" if p50 else ""
    followers = [f"{used[n]:.1f}" for n in cluster.names if n != leader]
    print(
        f"{count} OM: {rate:,.0f} keys/s{median}, CPU per key: "
        f"leader {used[leader]:.1f} us, followers {' '.join(followers) or '-'}",
        flush=True,
    )
    record(f"oms/create with {count}", rate, "keys/s")
    record(f"oms/create with {count}, CPU of the leader", used[leader], "us")
    return rate


def creates(o3, work):
    clusters, ratios = [], []
    with contextlib.ExitStack() as stack:
        for count in (1, 3):
            cluster = Cluster(o3, f"{work}/{count}", count)
            stack.callback(cluster.stop)
            clusters.append(cluster)
            cluster.wait_ready()
            ommg(cluster, "CREATE_KEY", "warm", "-n", str(KEYS // 4))
            if CORES:
                limit(cluster, CORES)
        # In turns and in alternating order, because the machine's speed varies over time.
        for number in range(ROUNDS):
            order = clusters if number % 2 == 0 else clusters[::-1]
            rates = {len(cluster.names): one_round(cluster, number) for cluster in order}
            ratios.append(rates[3] / rates[1])
    told = " ".join(f"{ratio:.0%}" for ratio in ratios)
    median = statistics.median(ratios)
    print(f"three OMs create at {median:.0%} of one OM's rate ({told})")


def read(cluster, flags):
    settings = [part for flag in flags for part in ("-D", flag)]
    report = cluster.run(
        "freon", "ommg", "-o", "HEAD_KEY", "-t", READERS, "-p", "keys", "-n", str(KEYS),
        "--random", "--duration", f"{SECONDS}s", "--json", *settings,
    )  # fmt: skip
    report = json.loads(report)
    timer = report["timers"]["HEAD_KEY"]
    return report["testsPerSecond"], timer["p50Ms"], timer["p90Ms"], timer["p99Ms"]


def reads(o3, work):
    local = "ozone.om.follower.read.local.lease.enabled"
    cluster = Cluster(o3, f"{work}/reads", 3, {local: "true"})
    try:
        cluster.wait_ready()
        ommg(cluster, "CREATE_KEY", "keys", "-n", str(KEYS))
        limit(cluster, CORES or 0.4)
        for busy in (False, True):
            if busy:
                writer = cluster.begin(
                    "freon", "ommg", "-o", "CREATE_KEY", "-t", WRITERS, "-p", "w",
                    "--duration", "10m", "--json",
                )  # fmt: skip
                time.sleep(2)
            for name, flags in MODES.items():
                before = {n: cluster.cpu(n) for n in cluster.names}
                rate, p50, p90, p99 = read(cluster, flags)
                leader = cluster.leader()
                used = {n: (cluster.cpu(n) - before[n]) / float(SECONDS) for n in cluster.names}
                others = " ".join(f"{used[n]:.2f}" for n in cluster.names if n != leader)
                print(
                    f"{'reads during writes' if busy else 'reads alone'}, {name}: {rate:,.0f}/s, "
                    f"p50 {p50:.2f} p90 {p90:.2f} p99 {p99:.2f} ms; "
                    f"cores used: leader {used[leader]:.2f}, followers {others}",
                    flush=True,
                )
                load = "beside writes" if busy else "alone"
                record(f"oms/reads {load}, {name}", rate, "ops/s")
                record(f"oms/reads {load}, {name}, p90", p90, "ms")
            if busy:
                writer.terminate()
                writer.wait()
    finally:
        cluster.stop()


def main():
    o3, work, what = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
    {"creates": creates, "reads": reads}[what](o3, work)


main()
