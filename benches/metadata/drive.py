"""Drives benches/metadata/run. All results are from one run, so that ratios are valid.

keys N: an OM with 100,000 keys, and one with N: bytes per key on disk, the time from the start of
    the process to the first response, lookups of 100,000 of them in turns (so that they are all
    cached), and memory. Keys are written by `o3 freon cgom`.

mix S: `o3 freon omkeybench` for S seconds: 20 creates to 8 deletes and a list, 25,000 live keys;
    the rate in the first and in the last tenth of the time.

acls: lookups by 64 clients with ACLs and audit on, and with both off.

snapshots N: in a bucket of N keys, the time to create a snapshot, and that of a diff after 1,000
    changes.
"""

import json
import os
import re
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cluster import Cluster  # noqa: E402
from record import record  # noqa: E402

FEW = 100_000
CLIENTS = os.environ.get("CLIENTS", "64")
SECONDS = os.environ.get("SECONDS_EACH", "10")
ROUNDS = int(os.environ.get("ROUNDS", "3"))


def freon(cluster, *arguments):
    return json.loads(cluster.run("freon", *arguments, "--json"))


def size_of(directory):
    files = ((path, name) for path, _, names in os.walk(directory) for name in names)
    return sum(os.path.getsize(os.path.join(path, name)) for path, name in files)


def resident(process):
    with open(f"/proc/{process.pid}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+) kB", file.read())[1]) << 10


def stop(cluster, name):
    cluster.processes[name].terminate()
    cluster.processes.pop(name).wait()


def start_om(cluster):
    """Starts the OM; returns the seconds until its first response."""
    began = time.monotonic()
    cluster.start("om1", "om", "ozone.om.node.id=om1")
    while True:
        try:
            cluster.run("sh", "volume", "info", "/vol1")
            return time.monotonic() - began
        except RuntimeError:
            if time.monotonic() - began > 120:
                raise


def lookups(cluster, prefix, count):
    report = freon(
        cluster, "ommg", "-o", "HEAD_KEY", "-t", CLIENTS, "-p", prefix, "-n", str(count),
        "--random", "--duration", f"{SECONDS}s",
    )  # fmt: skip
    return report["testsPerSecond"], report["timers"]["HEAD_KEY"]["p99Ms"]


def measured(cluster):
    """Returns rate and p99 of lookups, and the OM's CPU microseconds per lookup."""
    before = cluster.cpu("om1")
    rate, p99 = lookups(cluster, "keys", FEW)
    return rate, p99, (cluster.cpu("om1") - before) * 1e6 / (rate * float(SECONDS))


def with_keys(o3, directory, count):
    """A cluster whose stopped OM has `count` keys with the prefix `keys`."""
    cluster = Cluster(o3, directory, 1)
    cluster.wait_ready()
    freon(cluster, "ommg", "-o", "CREATE_KEY", "-n", "1", "-p", "first")
    stop(cluster, "om1")
    database = f"{directory}/om1/om.db"
    began = time.monotonic()
    cluster.run("freon", "cgom", "-n", str(count), "-p", "keys", "--om-db", database)
    took = time.monotonic() - began
    print(f"{count:,} keys: {size_of(database) / count:.1f} bytes each, written in {took:.0f} s")
    return cluster


def keys(o3, work, count):
    counts = (FEW, int(count))
    rates = {number: [] for number in counts}
    clusters = {}
    try:
        for number in counts:
            clusters[number] = cluster = with_keys(o3, f"{work}/{number}", number)
            each = size_of(f"{cluster.dir}/om1/om.db") / number
            started = start_om(cluster)
            begun = resident(cluster.processes["om1"])
            print(f"  starts in {started:.2f} s with {begun >> 20} MiB", flush=True)
            record(f"metadata/{number} keys, bytes each", each, "B")
            record(f"metadata/{number} keys, start", started, "s")
            lookups(cluster, "keys", FEW)
        # In turns, because the machine's speed varies over time.
        for _ in range(ROUNDS):
            for number, cluster in clusters.items():
                rate, p99, cpu = measured(cluster)
                rates[number].append(rate)
                memory = resident(cluster.processes["om1"]) >> 20
                print(
                    f"{FEW:,} of {number:,} keys: {rate:,.0f} lookups/s, p99 {p99:.2f} ms, "
                    f"{cpu:.1f} us each, {memory} MiB",
                    flush=True,
                )
        rate, p99 = lookups(clusters[int(count)], "keys", int(count))
        memory = resident(clusters[int(count)].processes["om1"]) >> 20
        print(f"all {int(count):,} keys: {rate:,.0f} lookups/s, p99 {p99:.2f} ms, {memory} MiB")
    finally:
        for cluster in clusters.values():
            cluster.stop()
    for number in counts:
        record(f"metadata/{number} keys, lookups", max(rates[number]), "ops/s")
    ratio = sum(rates[int(count)]) / sum(rates[FEW])
    print(f"lookups with {int(count):,} keys: {ratio:.0%} of those with {FEW:,}")


def mix(o3, work, seconds):
    cluster = Cluster(o3, f"{work}/mix", 1)
    try:
        cluster.wait_ready()
        tenth = max(int(seconds) // 10, 1)
        rates = []
        for number in range(10):
            before = cluster.cpu("om1")
            report = freon(
                cluster, "omkeybench", "--weights", "create:20,delete:8,list:1", "-t", CLIENTS,
                "--max-live-keys", "25000", "--duration", f"{tenth}s",
            )  # fmt: skip
            rates.append(report["testsPerSecond"])
            lists = next(t for name, t in report["timers"].items() if "LIST" in name.upper())
            cpu = (cluster.cpu("om1") - before) / tenth
            print(
                f"tenth {number + 1}: {rates[-1]:,.0f} operations/s, lists p50 {lists['p50Ms']:.2f} "
                f"p99 {lists['p99Ms']:.2f} ms, OM on {cpu:.2f} cores",
                flush=True,
            )
        record("metadata/mix, last to first tenth", rates[-1] / rates[0], "ratio")
        record("metadata/mix", rates[-1], "ops/s")
        print(f"the last tenth at {rates[-1] / rates[0]:.0%} of the first one's rate")
    finally:
        cluster.stop()


def acls(o3, work):
    rates = {"off": [], "on": []}
    clusters = {}
    settings = {
        "off": {"ozone.acl.enabled": "false", "trioxide.audit.enabled": "false"},
        "on": {"ozone.acl.enabled": "true", "trioxide.audit.reads": "true"},
    }
    try:
        for name, of in settings.items():
            clusters[name] = cluster = Cluster(o3, f"{work}/{name}", 1, of)
            cluster.wait_ready()
            freon(cluster, "ommg", "-o", "CREATE_KEY", "-n", str(FEW), "-t", CLIENTS, "-p", "keys")
        for _ in range(ROUNDS):
            for name, cluster in clusters.items():
                rate, _, cpu = measured(cluster)
                rates[name].append(rate)
                print(f"ACLs and audit {name}: {rate:,.0f} lookups/s, {cpu:.1f} us each", flush=True)
        on, off = max(rates["on"]), max(rates["off"])
        record("metadata/lookups with ACLs and audit", on, "ops/s")
        record("metadata/lookups without ACLs and audit", off, "ops/s")
        print(f"with ACLs and audit {on / off:.0%} of the rate without")
    finally:
        for cluster in clusters.values():
            cluster.stop()


def snapshots(o3, work, count):
    cluster = with_keys(o3, f"{work}/snapshots", int(count))
    try:
        start_om(cluster)
        bucket = "/vol1/bucket1"

        def timed(*arguments):
            began = time.monotonic()
            told = cluster.run("sh", "snapshot", *arguments)
            return (time.monotonic() - began) * 1e3, told

        made = [timed("create", bucket, f"snap{n}")[0] for n in range(10)]
        command = min(timed("info", bucket, "snap0")[0] for _ in range(5))
        freon(cluster, "ommg", "-o", "CREATE_KEY", "-n", "1000", "-t", CLIENTS, "-p", "changes")
        timed("create", bucket, "after")
        began = time.monotonic()
        cluster.run("sh", "snapshot", "diff", bucket, "snap9", "after")
        while True:
            told = cluster.run("sh", "snapshot", "diff", bucket, "snap9", "after", "--get-report")
            if "changes" in told:
                break
            time.sleep(0.01)
        diff = (time.monotonic() - began) * 1e3
        print(
            f"a snapshot of {int(count):,} keys: median {sorted(made)[5]:.1f} ms, of which a command "
            f"of the shell that only reads takes {command:.1f} ms; a diff of 1,000 changes, from "
            f"the first command to its report: {diff:.0f} ms"
        )
        record("metadata/snapshot create", sorted(made)[5], "ms")
        record("metadata/snapshot diff", diff, "ms")
        print(cluster.run("admin", "om", "latency"))
    finally:
        cluster.stop()


def main():
    o3, work = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    functions = {"keys": keys, "mix": mix, "acls": acls, "snapshots": snapshots}
    functions[sys.argv[3]](o3, work, *sys.argv[4:])


main()
