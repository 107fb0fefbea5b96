"""Kills and stops leaders and followers in an order that a seed decides, while `o3 freon ockc` writes, reads and checks."""

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

from cluster import Cluster, Failed, wait_for

# How long a victim is away, and how long the cluster has between two faults, in seconds.
AWAY, BETWEEN = (1.5, 4.0), (0.5, 1.5)
# Within this time everybody must be back after a fault.
BACK_WITHIN = 60
# Without a successful write for longer than this, something hangs.
HANG_MS = 30_000
# One of these happens each round; when all have happened they are shuffled again.
FAULTS = [
    (how, role, who)
    for how in ("kill", "stop")
    for role, who in [
        ("om", "leader"),
        ("om", "follower"),
        ("scm", "leader"),
        ("scm", "follower"),
        ("datanode", "any"),
    ]
] + [("kill", "om", "leader"), ("kill", "datanode", "any")]


def order(dice, rounds):
    """So many faults in random order, each kind as often as any other; a short run has one OM leader kill at least."""
    chosen = []
    while len(chosen) < rounds:
        portion = FAULTS[:]
        dice.shuffle(portion)
        chosen += portion
    chosen = chosen[:rounds]
    if ("kill", "om", "leader") not in chosen:
        chosen[0] = ("kill", "om", "leader")
    return chosen


def victim(cluster, role, who, dice):
    if role == "datanode":
        return dice.choice(cluster.datanodes)
    wait_for(f"a leader of {role}", BACK_WITHIN, lambda: cluster.leader(role))
    leader = cluster.leader(role)
    if leader is None:
        raise Failed(f"{role} has lost its leader by itself")
    others = [node for node in (cluster.oms if role == "om" else cluster.scms) if node is not leader]
    return leader if who == "leader" else dice.choice(others)


def one_round(cluster, fault, dice):
    how, role, who = fault
    target = victim(cluster, role, who, dice)
    away, between = dice.uniform(*AWAY), dice.uniform(*BETWEEN)
    began = time.time()
    target.kill() if how == "kill" else target.stop()
    time.sleep(away)
    cluster.nobody_ended(expected=[target])
    target.start() if how == "kill" else target.resume()
    back = wait_for(f"all is well after {how} of {target.name}", BACK_WITHIN, cluster.whole)
    time.sleep(between)
    return {
        "fault": f"{how} {role} {who}".removesuffix(" any"),
        "node": target.name,
        "beganUnixMs": began * 1e3,
        "awayMs": away * 1e3,
        "backMs": back * 1e3,
        "endedUnixMs": time.time() * 1e3,
    }


def unavailability(event, gaps):
    """The longest time without a successful write that a fault is to blame for."""
    during = [
        gap["ms"]
        for gap in gaps
        if gap["beganUnixMs"] + gap["ms"] >= event["beganUnixMs"] and gap["beganUnixMs"] <= event["endedUnixMs"]
    ]
    return max(during, default=0.0)


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


def run_load(cluster, args):
    load = ["freon", "ockc", "--json", "--duration", "24h", "-t", str(args.writers), "--readers", str(args.readers)]
    load += ["--keys", "3", "--sizes", "10KB,300KB", "-F", "THREE"]
    output = open(os.path.join(cluster.directory, "load.json"), "w+")
    errors = open(os.path.join(cluster.directory, "load.log"), "w")
    return subprocess.Popen(cluster.command(*load), stdout=output, stderr=errors), output


def judge(args, directory):
    dice = random.Random(args.seed)
    cluster = Cluster(directory)
    result = {"seed": args.seed, "rounds": args.rounds, "wrong": []}
    events, load, output = [], None, None
    say = (lambda *_: None) if args.json else (lambda text: print(text, flush=True))
    try:
        cluster.start()
        load, output = run_load(cluster, args)
        time.sleep(2)
        for number, fault in enumerate(order(dice, args.rounds), 1):
            event = one_round(cluster, fault, dice)
            events.append(event)
            if load.poll() is not None:
                raise Failed(f"the load ended by itself with {load.returncode}")
            say(f"{number:4}  {event['fault']:<20} {event['node']:<6} away {event['awayMs']:6.0f} ms, back {event['backMs']:6.0f} ms")
    except Failed as failed:
        result["wrong"].append(str(failed))
    finally:
        status = None
        if load is not None:
            load.send_signal(signal.SIGTERM)
            try:
                status = load.wait(timeout=240)
            except subprocess.TimeoutExpired:
                load.kill()
                load.wait()
                result["wrong"].append("the load did not end: an operation hangs")
        late = cluster.end()
    result["wrong"] += [f"{name} did not end when told to" for name in late]
    result["wrong"] += cluster.panics()
    if output is not None:
        output.seek(0)
        text = output.read()
        result["load"] = json.loads(text) if text.strip() else {}
    if status not in (0, None):
        result["wrong"].append(f"the load found faults: exit status {status}")
        result["wrong"] += result.get("load", {}).get("violations", [])
    gaps = result.get("load", {}).get("gaps", {})
    for event in events:
        event["unavailableMs"] = unavailability(event, gaps.get("long", []))
    if gaps.get("longestMs", 0) > HANG_MS:
        result["wrong"].append(f"no write succeeded for {gaps['longestMs']:.0f} ms")
    result["faults"], result["events"] = summary(events), events
    return result


def table(result):
    lines = [f"{'fault':<20} {'times':>5} {'no write: median':>17} {'worst':>9} {'all well again: worst':>22}"]
    for kind, row in result["faults"].items():
        lines.append(
            f"{kind:<20} {row['times']:>5} {row['medianMs']:>14.0f} ms {row['worstMs']:>6.0f} ms {row['worstBackMs']:>19.0f} ms"
        )
    load = result.get("load")
    if load:
        for side in ("writes", "reads"):
            row = load[side]
            lines.append(f"{side}: {row['count']} ({row['perSecond']:.1f}/s), failed {row['failures']}, longest {row['maxMs']:.0f} ms")
        lines.append(", ".join(f"{name} {load[name]}" for name in ("lost", "stale", "torn", "unreadable", "late")))
        lines += [f"failure: {text}" for text in load["failures"]]
        lines += [f"slow: {text}" for text in load["slow"]]
    lines += [f"WRONG: {text}" for text in result["wrong"]]
    lines.append(f"seed {result['seed']}: " + ("FAILED" if result["wrong"] else "nothing lost, nothing stale"))
    return "\n".join(lines)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=int(os.environ.get("ROUNDS", "10")))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 31))))
    parser.add_argument("--writers", type=int, default=6)
    parser.add_argument("--readers", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--keep", action="store_true", help="keep data and logs, also when all is well")
    return parser.parse_args()


def main():
    args = arguments()
    # Told to end, it ends what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    directory = tempfile.mkdtemp(prefix="o3-faults-")
    if not args.json:
        print(f"seed {args.seed}, {args.rounds} rounds, logs in {directory}", flush=True)
    result = judge(args, directory)
    print(json.dumps(result) if args.json else table(result))
    if args.keep or result["wrong"]:
        print(f"logs and data are in {directory}", file=sys.stderr)
    else:
        shutil.rmtree(directory)
    sys.exit(1 if result["wrong"] else 0)


main()
