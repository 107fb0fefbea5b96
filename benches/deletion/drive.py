"""Drives benches/deletion/run: effect of a backlog of deleted blocks on a client.

KEYS keys of SIZE are put and removed while OM's key deletion service is paused, so that the whole backlog
exists at once. A client writes and reads keys of 10 KB: before, and during the deletion of the backlog once
the service is resumed. Then the client stops, and the time to delete the rest is printed.
"""

import json
import os
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cluster import Cluster  # noqa: E402
from record import compared  # noqa: E402

KEYS = os.environ.get("KEYS", "1000000")
SIZE = os.environ.get("SIZE", "1KB")
ROUNDS = int(os.environ.get("ROUNDS", "12"))
OPERATIONS = os.environ.get("OPERATIONS", "3000")
SETTINGS = {"ozone.block.deleting.service.interval": "1s", "trioxide.om.deleted.blocks.kept": "0s"}


def freon(cluster, verb, prefix, count, threads, *more):
    report = json.loads(
        cluster.run("freon", verb, "-n", count, "-t", threads, "-p", prefix, *more, "--json")
    )
    if report["failures"]:
        sys.exit(f"{verb} {prefix}: {report}")
    return report


def left(cluster):
    """Pending blocks, or rows where blocks are not counted, at each stage over all servers.

    A server limits its counting time: for a large table the number is a minimum.
    """
    found = {}
    for server in json.loads(cluster.run("admin", "deletion", "status", "--json")):
        for stage in server["stages"]:
            name = f"{server['role']} {stage['table']}"
            found[name] = found.get(name, 0) + int(stage["blocks"] or stage["rows"])
    return found


def client(cluster, prefix, found):
    for verb, more in (("ockg", ("-s", "10KB")), ("ocklr", ())):
        (timer,) = freon(cluster, verb, prefix, OPERATIONS, "2", *more)["timers"].values()
        found.setdefault(verb, []).append((timer["p50Ms"], timer["p99Ms"]))


def main(o3, work):
    cluster = Cluster(o3, work, 1, SETTINGS)
    try:
        cluster.wait_ready()
        begun = time.monotonic()
        freon(cluster, "ockg", "backlog", KEYS, "32", "-s", SIZE)
        print(f"{KEYS} keys of {SIZE} put in {time.monotonic() - begun:.0f} s", flush=True)
        time.sleep(20)
        alone, beside = {}, {}
        for n in range(ROUNDS):
            client(cluster, f"alone{n}", alone)
        cluster.run("admin", "service", "pause", "KeyDeletingService")
        begun = time.monotonic()
        freon(cluster, "ockr", "backlog", KEYS, "32")
        print(f"removed in {time.monotonic() - begun:.0f} s; {left(cluster)}", flush=True)
        time.sleep(20)
        cluster.run("admin", "service", "resume", "KeyDeletingService")
        begun = time.monotonic()
        for n in range(ROUNDS):
            client(cluster, f"beside{n}", beside)
            p99 = {verb: rounds[-1][1] for verb, rounds in beside.items()}
            print(f"{time.monotonic() - begun:.0f} s, p99 {p99} ms: {left(cluster)}", flush=True)
        before, since = left(cluster), time.monotonic()
        while any(left(cluster).values()):
            time.sleep(1)
        took = time.monotonic() - since
        print(f"client stopped: {before} deleted in {took:.0f} s", flush=True)
        compared("deletion", alone, beside, f"a backlog of {KEYS} blocks", ROUNDS)
    finally:
        cluster.stop()


main(*sys.argv[1:])
