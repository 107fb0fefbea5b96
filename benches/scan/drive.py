"""Drives benches/scan/run: compliance of scans with their rate limits.

One DataNode with closed containers. Its data scanner reads them with
hdds.container.scrub.volume.bytes.per.second at RATE MB, outside of and during
hdds.container.scrub.off-peak.hour, with hdds.container.scrub.off-peak.ratio set to RATIO. For each: the
bytes read in SECONDS_EACH according to its metrics. Then the first byte of a block is changed and the key
is read: the time until the on-demand scanner has found the damage, when it is also reported to SCM.
"""

import json
import os
import sys
import time
import urllib.request

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cluster import Cluster, free_ports  # noqa: E402
from record import shown  # noqa: E402

RATE = int(os.environ.get("RATE", "20"))
RATIO = float(os.environ.get("RATIO", "3"))
SECONDS = float(os.environ.get("SECONDS_EACH", "20"))
# Enough for the faster of the two scans.
KEYS = int(RATE * RATIO * SECONDS * 1.3 / 8)
SETTINGS = {
    "ozone.scm.container.size": "256MB",
    "ozone.scm.block.size": "8MB",
    "hdds.container.scrub.volume.bytes.per.second": f"{RATE}MB",
    "hdds.container.scrub.data.scan.interval": "1s",
    "hdds.container.scrub.min.gap": "0s",
}


class Bench:
    def __init__(self, o3, directory):
        os.makedirs(directory)
        self.cluster = Cluster(o3, f"{directory}/cluster", 1, SETTINGS, 0)
        self.cluster.datanodes = ["dn1"]
        self.start(False)

    def start(self, off_peak):
        if "dn1" in self.cluster.processes:
            self.cluster.processes["dn1"].terminate()
            self.cluster.processes.pop("dn1").wait()
        self.port = free_ports(1)[0]
        hour = (time.localtime().tm_hour + (0 if off_peak else 12)) % 24
        # The next hour, too: it may begin during the measurement.
        hours = f"{hour},{(hour + 1) % 24}"
        self.cluster.start(
            "dn1", "datanode", f"hdds.datanode.dir={self.cluster.dir}/dn1/hdds",
            f"hdds.datanode.http-address=127.0.0.1:{self.port}",
            f"hdds.container.scrub.off-peak.hour={hours}",
            f"hdds.container.scrub.off-peak.ratio={RATIO}",
        )  # fmt: skip

    def metric(self, name):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=5) as page:
            lines = page.read().decode().splitlines()
        found = [line for line in lines if line.startswith((f"{name}{{", f"{name} "))]
        return sum(float(line.split()[-1]) for line in found)

    def rate(self, off_peak):
        self.start(off_peak)
        self.cluster.wait_ready()
        while self.metric("datanode_data_scan_bytes_total") == 0:
            time.sleep(0.1)
        # Skip the initial burst.
        time.sleep(3)
        began, before = time.monotonic(), self.metric("datanode_data_scan_bytes_total")
        time.sleep(SECONDS)
        read = self.metric("datanode_data_scan_bytes_total") - before
        return read / (time.monotonic() - began)

    def on_demand(self):
        """Seconds from a read that finds damage until the scanner reports it."""
        self.cluster.run("admin", "service", "pause", "ContainerDataScanner")
        block = max(
            (f"{top}/{name}" for top, _, names in os.walk(f"{self.cluster.dir}/dn1") for name in names if name.endswith(".block")),
            key=os.path.getsize,
        )  # fmt: skip
        with open(block, "r+b") as file:
            byte = file.read(1)
            file.seek(0)
            file.write(bytes([byte[0] ^ 1]))
        began = time.monotonic()
        # It fails: one of the keys has no other replica.
        reader = self.cluster.begin("freon", "ocklr", "-n", str(KEYS), "-t", "2", "-p", "scan")
        if b"checksum mismatch" not in reader.communicate()[0]:
            sys.exit("the reader found no damage")
        while self.metric("datanode_on_demand_scan_damaged_total") == 0:
            if time.monotonic() - began > 120:
                sys.exit("the scanner did not find the damage")
            time.sleep(0.1)
        return time.monotonic() - began


def main(o3, work):
    bench = Bench(o3, f"{work}/bench")
    try:
        bench.cluster.wait_ready()
        bench.cluster.run(
            "freon", "ockg", "-n", str(KEYS), "-t", "4", "-s", "8MB", "-p", "scan",
            "--type", "RATIS", "--replication", "ONE",
        )  # fmt: skip
        for container in json.loads(bench.cluster.run("admin", "container", "list", "--json")):
            if container["state"] == "OPEN":
                bench.cluster.run("admin", "container", "close", str(container["containerID"]))
        time.sleep(5)
        for off_peak in (False, True):
            wanted = RATE * (RATIO if off_peak else 1) * (1 << 20)
            rate = bench.rate(off_peak)
            name = "in an off-peak hour" if off_peak else "in any other hour"
            shown(f"scan/{name}, {wanted / 2**20:.0f} MB/s allowed", rate / 2**20, "MB/s", 2)
            print(f"{(rate / wanted - 1) * 100:+.1f} %")
        shown("scan/damage that a client meets is found after", bench.on_demand(), "s", 1)
    finally:
        bench.cluster.stop()


main(*sys.argv[1:])
