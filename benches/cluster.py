"""A cluster of processes on loopback: one SCM, some DataNodes, one or three OMs."""

import os
import random
import signal
import socket
import subprocess
import time

CGROUPS = "/sys/fs/cgroup/cpu"
TICKS = os.sysconf("SC_CLK_TCK")

# For clusters with erasure-coded keys: one open container per scheme is enough, and lost replicas
# are reconstructed at once.
ERASURE_CODED = {
    "hdds.scm.wait.time.after.safemode.exit": "0s",
    "ozone.scm.ec.pipeline.minimum": "1",
    "hdds.datanode.volume.min.free.space": "1MB",
}


def free_ports(count):
    """Ports without a listener, outside of the kernel's range for outgoing connections."""
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        first = int(file.read().split()[0])
    sockets = []
    while len(sockets) < count:
        s = socket.socket()
        try:
            s.bind(("127.0.0.1", random.randrange(10_000, first)))
            sockets.append(s)
        except OSError:
            s.close()
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Cluster:
    def __init__(self, o3, directory, oms, settings=None, datanodes=3):
        self.o3, self.dir, self.oms = o3, directory, oms
        os.makedirs(directory, exist_ok=True)
        self.processes = {}
        self.groups = []
        site = {
            "ozone.scm.names": "127.0.0.1",
            "trioxide.datanode.bind.host": "127.0.0.1",
            "hdds.container.ipc.random.port": "true",
            "hdds.container.ratis.ipc.random.port": "true",
            "hdds.datanode.http-address": "127.0.0.1:0",
            "ozone.om.grpc.port": "0",
            **(settings or {}),
        }
        kinds = ("client", "block.client", "datanode")
        for kind, port in zip(kinds, free_ports(3)):
            site[f"ozone.scm.{kind}.address"] = f"127.0.0.1:{port}"
        site["ozone.scm.http-address"] = f"127.0.0.1:{free_ports(1)[0]}"
        names = [f"om{n + 1}" for n in range(oms)]
        site["ozone.om.service.ids"] = "omsvc"
        site["ozone.om.nodes.omsvc"] = ",".join(names)
        for name in names:
            rpc, http, raft, grpc = free_ports(4)
            site[f"ozone.om.address.omsvc.{name}"] = f"127.0.0.1:{rpc}"
            site[f"ozone.om.http-address.omsvc.{name}"] = f"127.0.0.1:{http}"
            site[f"ozone.om.ratis.port.omsvc.{name}"] = str(raft)
            site[f"ozone.om.grpc.port.omsvc.{name}"] = str(grpc)
        rows = "".join(
            f"<property><name>{k}</name><value>{v}</value></property>\n" for k, v in site.items()
        )
        with open(f"{directory}/ozone-site.xml", "w") as file:
            file.write(f"<configuration>\n{rows}</configuration>\n")
        self.env = {**os.environ, "OZONE_CONF_DIR": directory}
        self.start("scm", "scm")
        self.datanodes = [f"dn{n + 1}" for n in range(datanodes)]
        for name in self.datanodes:
            self.start_datanode(name)
        for name in names:
            self.start(name, "om", f"ozone.om.node.id={name}")
        self.names = names

    def start(self, name, role, *settings):
        flags = [f"ozone.metadata.dirs={self.dir}/{name}", *settings]
        command = [self.o3, role] + [part for flag in flags for part in ("-D", flag)]
        with open(f"{self.dir}/{name}.log", "wb") as log:
            self.processes[name] = subprocess.Popen(command, env=self.env, stdout=log, stderr=log)

    def start_datanode(self, name):
        self.start(name, "datanode", f"hdds.datanode.dir={self.dir}/{name}/hdds")

    def kill(self, name):
        process = self.processes.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def run(self, *arguments):
        done = subprocess.run([self.o3, *arguments], env=self.env, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{arguments}: {done.stdout}{done.stderr}")
        return done.stdout

    def begin(self, *arguments):
        return subprocess.Popen(
            [self.o3, *arguments], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def wait_ready(self, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                safe = "out of safe mode" in self.run("admin", "safemode", "status")
                if safe and "LEADER" in self.run("admin", "om", "roles"):
                    # The OM of the highest priority may still take over.
                    time.sleep(3)
                    return
            except RuntimeError:
                pass
            time.sleep(0.2)
        raise RuntimeError("the cluster did not start in time")

    def leader(self):
        for line in self.run("admin", "om", "roles").splitlines():
            if "LEADER" in line:
                return line.split()[0]
        raise RuntimeError("no OM is the leader")

    def cpu(self, name):
        """CPU seconds used by a process so far."""
        with open(f"/proc/{self.processes[name].pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def limit(self, name, cores):
        """Limits a process to that share of a core; returns False if cgroups cannot be created."""
        group = f"{CGROUPS}/o3-bench-{os.getpid()}-{os.path.basename(self.dir)}-{name}"
        period = 10_000
        files = {
            "cpu.cfs_period_us": str(period),
            "cpu.cfs_quota_us": str(int(period * cores)),
            "cgroup.procs": str(self.processes[name].pid),
        }
        try:
            os.makedirs(group, exist_ok=True)
            for file, value in files.items():
                with open(f"{group}/{file}", "w") as out:
                    out.write(value)
        except OSError:
            return False
        if group not in self.groups:
            self.groups.append(group)
        return True

    def forget_pages(self):
        """Drops the files of DataNodes from the page cache."""
        for directory, _, names in os.walk(self.dir):
            for name in (name for name in names if name.endswith(".block")):
                with open(f"{directory}/{name}", "rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def stop(self):
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.wait()
        for group in self.groups:
            os.rmdir(group)
