"""What a cluster does while it is disturbed: programs that write, read and check until they are told to end."""

import json
import os
import signal
import subprocess
import sys

import erasure
from cluster import ACCESS_KEY, SECRET_KEY

HERE = os.path.dirname(os.path.abspath(__file__))
# In this time after the last fault every operation ends.
END_WITHIN = 240


class Load:
    """One of them, in a process of its own."""

    def __init__(self, cluster, name, command):
        self.name = name
        self.output = open(os.path.join(cluster.directory, f"{name}.json"), "w+")
        with open(os.path.join(cluster.directory, f"{name}.log"), "w") as errors:
            self.process = subprocess.Popen(command, stdout=self.output, stderr=errors)

    def ended_by_itself(self):
        return self.process.poll() is not None

    def tell_to_end(self):
        self.process.send_signal(signal.SIGTERM)

    def end(self):
        """What it found, and what is wrong."""
        wrong = []
        try:
            status = self.process.wait(timeout=END_WITHIN)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
            wrong.append(f"load {self.name} did not end: an operation hangs")
        self.output.seek(0)
        text = self.output.read()
        found = json.loads(text) if text.strip() else {}
        if status != 0:
            wrong.append(f"load {self.name} found faults: exit status {status}")
            wrong += found.get("violations", [])
        return found, wrong


def buckets(args):
    """Where the loads write."""
    return ["/vol1/bucket1"] + (["/javavol/javabucket"] if args.java else [])


def start(cluster, args):
    """The loads that a run has; the first one is the one whose writes are timed."""
    native = ["freon", "ockc", "--json", "--duration", "24h", "-t", str(args.writers), "--readers", str(args.readers)]
    replication = erasure.REPLICATION if args.erasure else ["--type", "RATIS", "-r", "THREE"]
    sizes = "10KB,300KB,4MB" if args.erasure else "10KB,300KB"
    native += ["--keys", "3", "--sizes", sizes, "--deletes", "10", "--renames", "15", *replication]
    loads = [Load(cluster, "native", cluster.command(*native))]
    if cluster.gateways:
        gateway = cluster.gateways[0]
        s3 = [sys.executable, os.path.join(HERE, "s3load.py"), gateway.endpoint, ACCESS_KEY, SECRET_KEY]
        loads.append(Load(cluster, "s3", s3))
    if args.java:
        java = [sys.executable, os.path.join(HERE, "javaload.py"), cluster.directory, args.java, *replication]
        loads.append(Load(cluster, "java", java))
    return loads
