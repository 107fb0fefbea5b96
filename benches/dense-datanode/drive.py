"""One DataNode with many data directories and very many containers, and an SCM, as processes.

Both are started once, empty, and stopped. `fill_datanode` creates the containers and SCM's records.
Then, `ROUNDS` times: SCM is started, and the DataNode; the results are the time from its start until
it reports that it is registered (all directories are open, all containers loaded, and SCM has
processed the full report), its memory, and SCM's. In the last round both are idle for
`IDLE_SECONDS`, and their CPU use is printed. `COLD=1` drops the page cache before each start of the
DataNode (root only).
"""

import json
import os
import resource
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from record import record  # noqa: E402

TARGET, WORK = sys.argv[1:3]
O3 = os.path.join(TARGET, "release", "o3")
FILL = os.path.join(TARGET, "release", "examples", "fill_datanode")
DIRS = int(os.environ.get("DIRS", "60"))
CONTAINERS = int(os.environ.get("CONTAINERS", "200000"))
IDLE = int(os.environ.get("IDLE_SECONDS", "60"))
ROUNDS = int(os.environ.get("ROUNDS", "2"))
COLD = os.environ.get("COLD") == "1"
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
TICKS = os.sysconf("SC_CLK_TCK")


class Role:
    """A role that has reported to be ready."""

    def __init__(self, kind, settings):
        flags = [word for key, value in settings.items() for word in ("-D", f"{key}={value}")]
        self.began = time.monotonic()
        self.log = open(os.path.join(WORK, f"{kind}.log"), "a")
        self.process = subprocess.Popen(
            [O3, kind, "--json", *flags], stdout=subprocess.PIPE, stderr=self.log, text=True
        )
        line = self.process.stdout.readline()
        self.took = time.monotonic() - self.began
        if not line:
            sys.exit(f"{kind} did not start: see {self.log.name}")
        self.ready = json.loads(line)

    def memory(self):
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return 0

    def cpu(self):
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(120)
        self.log.close()


def data_dirs():
    return [os.path.join(WORK, "dn", f"data{n}") for n in range(DIRS)]


def scm():
    free = "127.0.0.1:0"
    return Role("scm", {
        "ozone.metadata.dirs": os.path.join(WORK, "scm"),
        "ozone.scm.client.address": free,
        "ozone.scm.block.client.address": free,
        "ozone.scm.datanode.address": free,
        "ozone.scm.http-address": free,
    })


def datanode(of):
    return Role("datanode", {
        "ozone.metadata.dirs": os.path.join(WORK, "dn", "meta"),
        "hdds.datanode.dir": ",".join(data_dirs()),
        "trioxide.datanode.bind.host": "127.0.0.1",
        "ozone.scm.datanode.address": of.ready["addresses"]["datanode"],
        "hdds.container.ipc.random.port": "true",
        "hdds.container.ratis.ipc.random.port": "true",
        "trioxide.datanode.port": "0",
        "hdds.datanode.http-address": "127.0.0.1:0",
    })


def version():
    """The ids of the cluster and of the DataNode."""
    text = open(os.path.join(data_dirs()[0], "hdds", "VERSION")).read()
    pairs = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    return pairs["clusterID"], pairs["datanodeUuid"]


def scm_db():
    for folder, names, _ in os.walk(os.path.join(WORK, "scm")):
        if "scm.db" in names:
            return os.path.join(folder, "scm.db")
    sys.exit("scm.db not found")


first = scm()
node = datanode(first)
print(f"empty: the DataNode is registered after {node.took:.2f} s, {node.memory():.0f} MB", flush=True)
node.stop()
first.stop()
cluster, uuid = version()
subprocess.run([FILL, scm_db(), cluster, uuid, str(CONTAINERS), *data_dirs()], check=True)
for number in range(ROUNDS):
    manager = scm()
    print(f"SCM serves after {manager.took:.2f} s, {manager.memory():.0f} MB", flush=True)
    if COLD:
        os.sync()
        with open("/proc/sys/vm/drop_caches", "w") as drop:
            drop.write("3\n")
    before = manager.cpu()
    node = datanode(manager)
    print(
        f"{DIRS} directories, {CONTAINERS} containers: the DataNode is registered after "
        f"{node.took:.2f} s, CPU {node.cpu():.2f} s, {node.memory():.0f} MB; "
        f"SCM CPU {manager.cpu() - before:.2f} s, {manager.memory():.0f} MB",
        flush=True,
    )
    record("dense-datanode/registered", node.took, "s")
    record("dense-datanode/memory", node.memory(), "MB")
    if number + 1 == ROUNDS:
        time.sleep(15)
        start = (time.monotonic(), node.cpu(), manager.cpu())
        time.sleep(IDLE)
        wall = time.monotonic() - start[0]
        for name, used in (("DataNode", node.cpu() - start[1]), ("SCM", manager.cpu() - start[2])):
            print(f"idle: the {name} uses {used / wall * 100:.2f} % of a core", flush=True)
            record(f"dense-datanode/idle {name}", used / wall * 100, "%")
        print(f"idle: the DataNode holds {node.memory():.0f} MB", flush=True)
    node.stop()
    manager.stop()
