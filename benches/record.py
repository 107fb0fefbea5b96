"""Figures for `cargo xtask bench`, as lines of JSON in the file that BENCH_RESULTS names.

As a program it takes name, value and unit: for scripts that are not Python.
"""

import json
import os
import sys


def record(name, value, unit):
    """Appends a figure; does nothing where nobody collects them."""
    path = os.environ.get("BENCH_RESULTS")
    if path:
        with open(path, "a") as file:
            file.write(json.dumps({"name": name, "value": value, "unit": unit}) + "\n")


def shown(name, value, unit, digits=1):
    """Prints a figure and records it."""
    print(f"{name}: {value:.{digits}f} {unit}", flush=True)
    record(name, value, unit)


if __name__ == "__main__":
    record(sys.argv[1], float(sys.argv[2]), sys.argv[3])
