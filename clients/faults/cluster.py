"""A cluster of real processes: 3 OMs, 3 SCMs, 6 DataNodes, each of them killed, stopped and started by process id.

They are on loopback, or each in a network namespace of its own.
"""

import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import time
import urllib.request
from xml.sax.saxutils import escape

# What S3 clients sign with.
ACCESS_KEY, SECRET_KEY = "faults", "a-secret-of-this-run"
OM_SERVICE, SCM_SERVICE = "omservice", "scmservice"
# Below the ports that systems give to outgoing connections: those would take a port while its process is down.
PORTS = range(15000, 32000)


class Failed(Exception):
    """The cluster does not do what it must."""


def free_ports():
    """Ports nobody listens on, each given once."""
    ports = list(PORTS)
    random.SystemRandom().shuffle(ports)
    for port in ports:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        yield port


def wait_for(what, seconds, condition):
    """Asks until the condition is true; returns how long that took."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > seconds:
            raise Failed(f"{what}: not within {seconds} s")
        time.sleep(0.05)
    return time.monotonic() - began


class Node:
    """One process. Its data outlives it."""

    def __init__(self, directory, role, name, host, enter, http, arguments):
        self.role, self.name, self.host, self.http = role, name, host, http
        self.log = os.path.join(directory, f"{name}.log")
        self.command = [*enter, os.environ["O3_BIN"], role, "--conf", directory, *arguments]
        self.process = None
        self.stopped = False

    def start(self):
        with open(self.log, "ab") as log:
            keys = {"O3_ACCESS_KEY": ACCESS_KEY, "O3_SECRET_KEY": SECRET_KEY}
            self.process = subprocess.Popen(
                self.command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={**os.environ, **keys}
            )
        self.stopped = False

    def kill(self):
        """As a power loss of the process: nothing gets a chance to tidy up."""
        self.process.kill()
        self.process.wait()

    def stop(self):
        """As a machine that hangs: connections stay, nobody answers."""
        self.process.send_signal(signal.SIGSTOP)
        self.stopped = True

    def resume(self):
        self.process.send_signal(signal.SIGCONT)
        self.stopped = False

    def end(self):
        """Ends it whatever its state; says whether a graceful end took too long."""
        if self.process is None or self.process.poll() is not None:
            return True
        if self.stopped:
            self.resume()
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
            return True
        except subprocess.TimeoutExpired:
            self.kill()
            return False

    def get(self, path):
        """A page of its own in JSON, or None when it does not answer."""
        try:
            with urllib.request.urlopen(f"http://{self.host}:{self.http}{path}", timeout=1) as answer:
                return json.load(answer)
        except (OSError, ValueError):
            return None

    def facts(self):
        """What its status page says in its tables of facts, or None when it does not answer."""
        page = self.get("/status.json")
        if page is None:
            return None
        found = {}

        def collect(value):
            if isinstance(value, dict):
                for key, inner in value.items():
                    if isinstance(inner, str):
                        found[key] = inner
                    collect(inner)
            elif isinstance(value, list):
                if len(value) == 2 and all(isinstance(v, str) for v in value):
                    found[value[0]] = value[1]
                for inner in value:
                    collect(inner)

        collect(page)
        return found

    def raft_role(self):
        """Whether it says that it leads, and in which term."""
        facts = self.facts() or {}
        if "role" in facts:
            return facts["role"] == "LEADER", int(facts.get("term", 0))
        said = re.match(r"leader, term (\d+)", facts.get("Raft", ""))
        return (True, int(said[1])) if said else (False, 0)


class Cluster:
    """All of them."""

    def __init__(self, directory, network=None, oms=3, scms=3, datanodes=6, gateways=0, more=None):
        self.directory, self.network = directory, network
        port = free_ports()
        settings = {
            "ozone.metadata.dirs": os.path.join(directory, "meta"),
            "ozone.om.service.ids": OM_SERVICE,
            f"ozone.om.nodes.{OM_SERVICE}": ",".join(f"om{i}" for i in range(1, oms + 1)),
            "ozone.scm.service.ids": SCM_SERVICE,
            f"ozone.scm.nodes.{SCM_SERVICE}": ",".join(f"scm{i}" for i in range(1, scms + 1)),
            **(more or {}),
        }
        self.oms, self.scms, self.datanodes, self.gateways = [], [], [], []
        for i in range(1, oms + 1):
            suffix, http, host = f"{OM_SERVICE}.om{i}", next(port), self._host(f"om{i}")
            settings[f"ozone.om.address.{suffix}"] = f"{host}:{next(port)}"
            settings[f"ozone.om.ratis.port.{suffix}"] = str(next(port))
            settings[f"ozone.om.http-address.{suffix}"] = f"{host}:{http}"
            own = {
                "ozone.om.node.id": f"om{i}",
                "ozone.om.db.dirs": os.path.join(directory, f"om{i}"),
                "ozone.metadata.dirs": os.path.join(directory, f"om{i}-meta"),
                "ozone.om.grpc.port": next(port),
            }
            self.oms.append(self._node("om", f"om{i}", host, http, own))
        for i in range(1, scms + 1):
            suffix, http, host = f"{SCM_SERVICE}.scm{i}", next(port), self._host(f"scm{i}")
            settings[f"ozone.scm.address.{suffix}"] = host
            for endpoint in ("client", "block.client", "datanode"):
                settings[f"ozone.scm.{endpoint}.address.{suffix}"] = f"{host}:{next(port)}"
            settings[f"ozone.scm.ratis.port.{suffix}"] = str(next(port))
            settings[f"ozone.scm.http-address.{suffix}"] = f"{host}:{http}"
            own = {
                "ozone.scm.node.id": f"scm{i}",
                "ozone.scm.db.dirs": os.path.join(directory, f"scm{i}"),
                "ozone.metadata.dirs": os.path.join(directory, f"scm{i}-meta"),
            }
            self.scms.append(self._node("scm", f"scm{i}", host, http, own))
        for i in range(1, datanodes + 1):
            http, host = next(port), self._host(f"dn{i}")
            own = {
                "hdds.datanode.dir": os.path.join(directory, f"dn{i}"),
                "ozone.metadata.dirs": os.path.join(directory, f"dn{i}-meta"),
                "hdds.datanode.http-address": f"{host}:{http}",
                "hdds.datanode.hostname": host,
                "trioxide.datanode.bind.host": host,
                "hdds.container.ipc.port": next(port),
                "hdds.container.ratis.ipc.port": next(port),
                "trioxide.datanode.port": next(port),
            }
            self.datanodes.append(self._node("datanode", f"dn{i}", host, http, own))
        for i in range(1, gateways + 1):
            http, s3, host = next(port), next(port), self._host(f"s3g{i}")
            own = {
                "ozone.metadata.dirs": os.path.join(directory, f"s3g{i}-meta"),
                "ozone.s3g.http-address": f"{host}:{s3}",
                "ozone.s3g.webadmin.http-address": f"{host}:{http}",
            }
            self.gateways.append(self._node("s3g", f"s3g{i}", host, http, own))
            self.gateways[-1].endpoint = f"http://{host}:{s3}"
        self.nodes = self.scms + self.oms + self.datanodes + self.gateways
        with open(os.path.join(directory, "ozone-site.xml"), "w") as site:
            site.write("<configuration>\n")
            for key, value in settings.items():
                site.write(f"<property><name>{escape(key)}</name><value>{escape(value)}</value></property>\n")
            site.write("</configuration>\n")

    def _host(self, name):
        return self.network.add(name) if self.network else "127.0.0.1"

    def _node(self, role, name, host, http, own):
        enter = self.network.enter(name) if self.network else []
        arguments = [part for key, value in own.items() for part in ("-D", f"{key}={value}")]
        return Node(self.directory, role, name, host, enter, http, arguments)

    def data(self, datanode):
        """Where the blocks of a DataNode are."""
        return pathlib.Path(self.directory, datanode.name)

    def command(self, *arguments):
        return [os.environ["O3_BIN"], *arguments, "--conf", self.directory]

    def start(self):
        for node in self.nodes:
            node.start()
        wait_for("all processes answer and have leaders", 60, self.whole)
        wait_for("out of safe mode", 60, self.out_of_safe_mode)

    def out_of_safe_mode(self):
        done = subprocess.run(self.command("admin", "safemode", "status"), capture_output=True, text=True)
        return done.returncode == 0 and "out of" in done.stdout

    def leader(self, role):
        """The node that leads, None while none does. Of those that say so the one with the newest term: one that hung, or
        does not hear of the others, does not know yet that it no longer leads."""
        nodes = self.oms if role == "om" else self.scms
        said = [(node, *node.raft_role()) for node in nodes if not node.stopped]
        leading = [(term, node.name, node) for node, leads, term in said if leads]
        return max(leading)[2] if leading else None

    def whole(self):
        """Whether everybody answers and somebody leads."""
        self.nobody_ended()
        return all(node.facts() is not None for node in self.nodes) and self.leader("om") and self.leader("scm")

    def nobody_ended(self, expected=()):
        for node in self.nodes:
            if node not in expected and node.process.poll() is not None:
                raise Failed(f"{node.name} ended by itself with {node.process.returncode}, see {node.log}")

    def panics(self):
        """Lines of the logs that must not be there."""
        found = []
        for node in self.nodes:
            if node.process is None:
                continue
            with open(node.log, errors="replace") as log:
                found += [f"{node.name}: {line.strip()}" for line in log if "panicked at" in line]
        return found

    def end(self):
        """Ends all; names those that did not end gracefully."""
        for node in self.nodes:
            if node.process is not None and node.stopped and node.process.poll() is None:
                node.resume()
        return [node.name for node in reversed(self.nodes) if not node.end()]
