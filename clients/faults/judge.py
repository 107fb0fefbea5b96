"""Kills and stops leaders and followers, and cuts and worsens the paths between them, in an order that a seed decides, while
programs write, read and check."""

import argparse
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import erasure
import loads
from cluster import Cluster, Failed, wait_for
from faults import BACK_WITHIN, GATEWAYS, PATHS, PROCESSES, Fault, order
from network import CLIENT, Network, NoNetwork

# How long the cluster has between two faults, in seconds.
BETWEEN = (0.5, 1.5)
# Without a successful write for longer than this, something hangs.
HANG_MS = 30_000


def one_round(cluster, fault, dice):
    fault = (erasure.Fault if fault in erasure.FAULTS else Fault)(cluster, fault, dice)
    between = dice.uniform(*BETWEEN)
    began = time.time()
    fault.begin()
    time.sleep(fault.away)
    cluster.nobody_ended(expected=fault.may_be_down())
    ended = time.monotonic()
    fault.end()
    wait_for(f"all is well after {fault.kind} ({fault})", BACK_WITHIN, cluster.whole)
    back = time.monotonic() - ended
    time.sleep(between)
    return {
        "fault": fault.kind,
        "node": str(fault),
        "beganUnixMs": began * 1e3,
        "awayMs": fault.away * 1e3,
        "backMs": back * 1e3,
        "endedUnixMs": time.time() * 1e3,
    }


def verify(cluster, args):
    """Reads every replica of what the loads left; how many keys are good, and what is wrong."""
    found = [erasure.verify(cluster, bucket) for bucket in loads.buckets(args)]
    return sum(keys for keys, _ in found), [text for _, wrong in found for text in wrong]


def blame(events, gaps):
    """Tells each event the longest time without a successful write that it is to blame for: a gap is the fault of the event
    that most of it fell into."""
    for event in events:
        event["unavailableMs"] = 0.0
    for gap in gaps:
        begin, end = gap["beganUnixMs"], gap["beganUnixMs"] + gap["ms"]
        shares = [(min(end, e["endedUnixMs"]) - max(begin, e["beganUnixMs"]), n) for n, e in enumerate(events)]
        share, most = max(shares, default=(0, 0))
        if share > 0:
            events[most]["unavailableMs"] = max(events[most]["unavailableMs"], gap["ms"])


def summary(events):
    """Per kind of fault: how often, median and worst unavailability, worst time until all is well."""
    kinds = {}
    for event in events:
        kinds.setdefault(event["fault"], []).append(event)
    return {
        kind: {
            "times": len(all_of),
            "medianMs": statistics.median(e["unavailableMs"] for e in all_of),
            "worstMs": max(e["unavailableMs"] for e in all_of),
            "worstBackMs": max(e["backMs"] for e in all_of),
        }
        for kind, all_of in sorted(kinds.items())
    }


def judge(args, directory):
    dice = random.Random(args.seed)
    result = {"seed": args.seed, "rounds": args.rounds, "wrong": []}
    network = None if args.without_partitions or args.erasure else Network()
    if args.erasure:
        cluster = Cluster(directory, oms=1, scms=1, datanodes=erasure.DATANODES, more=erasure.SETTINGS)
        faults = erasure.FAULTS
    else:
        cluster = Cluster(directory, network, gateways=1 if args.s3 else 0)
        faults = PROCESSES + (PATHS if network else []) + (GATEWAYS if args.s3 else [])
    faults = [fault for fault in faults if args.only in " ".join(fault)]
    events, running = [], []
    say = (lambda *_: None) if args.json else (lambda text: print(text, flush=True))
    try:
        if network:
            network.prove(CLIENT, "om1")
        cluster.start()
        running = loads.start(cluster, args)
        time.sleep(2)
        rounds = erasure.order(args.rounds, faults) if args.erasure else order(dice, args.rounds, faults)
        for number, fault in enumerate(rounds, 1):
            event = one_round(cluster, fault, dice)
            events.append(event)
            ended = [load.name for load in running if load.ended_by_itself()]
            if ended:
                raise Failed(f"load {' '.join(ended)} ended by itself")
            say(f"{number:4}  {event['fault']:<22} {event['node']:<16} away {event['awayMs']:6.0f} ms, back {event['backMs']:6.0f} ms")
    except (Failed, NoNetwork) as failed:
        result["wrong"].append(str(failed))
    finally:
        if network:
            network.heal()
        for load in running:
            load.tell_to_end()
        for load in running:
            result[load.name], wrong = load.end()
            result["wrong"] += wrong
        if args.erasure and not result["wrong"]:
            result["verified"], result["wrong"] = verify(cluster, args)
        late = cluster.end()
    result["wrong"] += [f"{name} did not end when told to" for name in late]
    result["wrong"] += cluster.panics()
    gaps = result.get("native", {}).get("gaps", {})
    blame(events, gaps.get("long", []))
    if gaps.get("longestMs", 0) > HANG_MS:
        result["wrong"].append(f"no write succeeded for {gaps['longestMs']:.0f} ms")
    result["faults"], result["events"] = summary(events), events
    return result


def table(result):
    lines = [f"{'fault':<22} {'times':>5} {'no write: median':>17} {'worst':>9} {'all well again: worst':>22}"]
    for kind, row in result["faults"].items():
        lines.append(
            f"{kind:<22} {row['times']:>5} {row['medianMs']:>14.0f} ms {row['worstMs']:>6.0f} ms {row['worstBackMs']:>19.0f} ms"
        )
    load = result.get("native")
    if load:
        for side in ("writes", "reads"):
            row = load[side]
            lines.append(f"{side}: {row['count']} ({row['perSecond']:.1f}/s), failed {row['failures']}, longest {row['maxMs']:.0f} ms")
        lines.append(", ".join(f"{name} {load[name]}" for name in ("lost", "stale", "torn", "unreadable", "late")))
        lines += [f"failure: {text}" for text in load["failures"]]
        lines += [f"slow: {text}" for text in load["slow"]]
    if "verified" in result:
        lines.append(f"keys whose replicas are all good: {result['verified']}")
    for name in ("s3", "java"):
        found = dict(result.get(name, {}))
        failures = found.pop("failures", [])
        if found:
            lines.append(f"{name}: " + ", ".join(f"{what} {value:.0f}" for what, value in found.items() if what != "violations"))
            lines += [f"{name} failure: {text}" for text in failures]
    lines += [f"WRONG: {text}" for text in result["wrong"]]
    lines.append(f"seed {result['seed']}: " + ("FAILED" if result["wrong"] else "nothing lost, nothing stale"))
    return "\n".join(lines)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=int(os.environ.get("ROUNDS", "10")))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED") or random.SystemRandom().randrange(1 << 31)))
    parser.add_argument("--writers", type=int, default=6)
    parser.add_argument("--readers", type=int, default=2)
    parser.add_argument("--only", default="", help='only faults with this in their name, as "om leader" or "cut"')
    parser.add_argument("--without-partitions", action="store_true", help="all on loopback, nothing is cut")
    parser.add_argument("--erasure", action="store_true", help="keys of rs-3-2, and what may happen to their DataNodes")
    parser.add_argument("--s3", action="store_true", help="boto3 through a gateway, beside the native load")
    parser.add_argument("--java", default="", metavar="JARS", help="the published Java client, beside the native load")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--keep", action="store_true", help="keep data and logs, also when all is well")
    return parser.parse_args()


def main():
    args = arguments()
    if args.rounds < 1 or not any(args.only in " ".join(fault) for fault in PROCESSES + PATHS + GATEWAYS + erasure.FAULTS):
        sys.exit(f"no fault is called {args.only!r}")
    # Told to end, it ends what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    directory = tempfile.mkdtemp(prefix="o3-faults-")
    if not args.json:
        print(f"seed {args.seed}, {args.rounds} rounds, logs in {directory}", flush=True)
    try:
        result = judge(args, directory)
    except NoNetwork as why:
        shutil.rmtree(directory)
        sys.exit(
            f"faults: this machine gives no network to partition: {why}\n"
            "faults: --without-partitions runs the other faults only (ARGS=--without-partitions make faults)"
        )
    print(json.dumps(result) if args.json else table(result))
    if args.keep or result["wrong"]:
        print(f"logs and data are in {directory}", file=sys.stderr)
    else:
        shutil.rmtree(directory)
    sys.exit(1 if result["wrong"] else 0)


main()
