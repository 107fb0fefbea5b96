"""Ozone's own servers, in processes that end with the test."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import time
import urllib.request

from jvm import ClassPath

HERE = pathlib.Path(__file__).resolve().parent

FLAGS = [
    "-XX:+UseSerialGC",
    "-Djava.net.preferIPv4Stack=true",
    "-Dslf4j.internal.verbosity=ERROR",
    f"-Dlog4j.configuration=file:{HERE}/src/servers.properties",
    "-Dorg.apache.ratis.thirdparty.io.netty.tryReflectionSetAccessible=true",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.management/com.sun.jmx.mbeanserver=ALL-UNNAMED",
    "--add-exports=java.management/com.sun.jmx.mbeanserver=ALL-UNNAMED",
]

MAIN = {
    "om": "org.apache.hadoop.ozone.om.OzoneManagerStarter",
    "scm": "org.apache.hadoop.hdds.scm.server.StorageContainerManagerStarter",
    "datanode": "org.apache.hadoop.ozone.HddsDatanodeService",
    "s3g": "org.apache.hadoop.ozone.s3.Gateway",
    "recon": "org.apache.hadoop.ozone.recon.ReconServer",
}


class OzoneServer:
    """One of Ozone's servers, in a folder of its own, with these properties in its ozone-site.xml.

    Recon alone is in the usual tests: the class data archive is of what it loads.
    """

    def __init__(self, role, folder, properties, *words):
        self.role, self.folder = role, folder
        conf = folder / "conf"
        conf.mkdir(parents=True, exist_ok=True)
        lines = (f"<property><name>{k}</name><value>{v}</value></property>" for k, v in properties.items())
        (conf / "ozone-site.xml").write_text("<configuration>\n" + "\n".join(lines) + "\n</configuration>\n")
        temporary = folder / "tmp"
        temporary.mkdir(exist_ok=True)
        own = [f"-Xmx{os.environ.get('O3_JAVA_SERVER_HEAP', '512m')}", f"-Djava.io.tmpdir={temporary}"]
        own += [f"-Dnative.lib.tmp.dir={temporary}", f"-Dhadoop.log.dir={folder}"]
        self.class_path = ClassPath(os.environ["O3_JAVA_SERVERS"], [conf], whole=role == "recon")
        command = ["java", *FLAGS, *own, *self.class_path.words(), MAIN[role], *words]
        self.log = folder / f"{role}.log"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def finish(self, seconds=120):
        """Waits until it ends by itself; fails when it does not end well."""
        status = self.process.wait(timeout=seconds)
        assert status == 0, f"{self.role} ended with {status}:\n{self.tail()}"

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=40)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.class_path.keep()

    def tail(self, lines=30):
        with open(self.log, errors="replace") as log:
            return "".join(log.readlines()[-lines:])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def free_ports(count):
    """Ports that nobody has now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def fetch(address):
    """What an address answers, as JSON; none while it does not."""
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            return json.load(answer)
    except (OSError, ValueError):
        return None


def wait(what, expected, seconds, server):
    """Waits for a condition, as long as the server lives; returns what is wrong in the end, or nothing."""
    deadline = time.monotonic() + seconds
    seen = None
    while time.monotonic() < deadline:
        seen = expected()
        if seen is None:
            return None
        if server.process.poll() is not None:
            return f"{server.role} ended before {what}:\n{server.tail()}"
        time.sleep(0.3)
    return f"timed out after {seconds} s waiting for {what}: {seen}"
