"""Results for `cargo xtask bench`, as lines of JSON in the file named by BENCH_RESULTS.

As a program it takes name, value and unit: for scripts that are not Python.
"""

import json
import os
import statistics
import sys


def record(name, value, unit):
    """Appends a result; does nothing if BENCH_RESULTS is unset."""
    path = os.environ.get("BENCH_RESULTS")
    if path:
        with open(path, "a") as file:
            file.write(json.dumps({"name": name, "value": value, "unit": unit}) + "\n")


def shown(name, value, unit, digits=1):
    """Prints and records a result."""
    print(f"{name}: {value:.{digits}f} {unit}", flush=True)
    record(name, value, unit)


def compared(bench, alone, beside, what, rounds):
    """Prints and records a client's latencies alone and under load: p50 and p99 of each round, by verb."""
    for verb, name in (("ockg", "write"), ("ocklr", "read")):
        for place, share in enumerate(("p50", "p99")):
            was, now = (statistics.median(r[place] for r in of[verb]) for of in (alone, beside))
            title = f"{bench}/a client's {name} of 10 KB, {share}, medians of {rounds} rounds"
            shown(f"{title}, alone", was, "ms", 2)
            shown(f"{title}, beside {what}", now, "ms", 2)
            print(f"{name} {share}: {now / was:.2f} times")


if __name__ == "__main__":
    record(sys.argv[1], float(sys.argv[2]), sys.argv[3])
