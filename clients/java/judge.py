"""Starts `o3 server` and lets the published Java clients judge it. `run` has put the jars into place.

    judge.py [part...]          the parts named below, all when none is named
    judge.py record CONF [table...]
                                writes what the cluster of CONF/ozone-site.xml answers into the tables
"""

import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python" / "tests"))

from server import Server  # noqa: E402

# Commands live too short for the second compiler; Netty and Hadoop reach into the JDK.
FLAGS = [
    "-Xmx768m",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Djava.net.preferIPv4Stack=true",
    "-Dslf4j.internal.verbosity=ERROR",
    f"-Dlog4j.configuration=file:{HERE}/src/log4j.properties",
    "-Dorg.apache.ratis.thirdparty.io.netty.tryReflectionSetAccessible=true",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
]


def main(words):
    with tempfile.TemporaryDirectory(prefix="o3-java-") as folder:
        folder = pathlib.Path(folder)
        if words[:1] == ["record"]:
            return java(folder, pathlib.Path(words[1]).resolve(), "record", chosen(words[2:]))
        failed = [name for name in words or PARTS if PARTS[name](folder / name) != 0]
    if failed:
        print(f"clients/java: failed: {' '.join(failed)}")
    return len(failed)


def tables(folder):
    """The recorded tables of commands, on a cluster that nobody has used before."""
    return on_a_server(folder, lambda conf: java(folder, conf, "check", chosen([])))


PARTS = {"tables": tables}


def chosen(names):
    """The tables of these names, or all of them."""
    files = sorted((HERE / "tables").glob("*.txt"))
    return [str(file) for file in files if not names or file.stem in names]


def on_a_server(folder, judge):
    """What `judge` says about a fresh server, given a folder with the configuration that a client needs."""
    folder.mkdir(parents=True)
    log = folder / "server.log"
    server = Server(folder / "data", log).start()
    try:
        status = judge(configure(folder / "conf", server.ready))
    finally:
        server.stop()
    if status != 0:
        print(f"the server's last words:\n{server.tail()}")
    return status


def configure(conf, ready):
    """ozone-site.xml and core-site.xml as an administrator would write them."""
    host, port = ready["scm"].rsplit(":", 1)
    site = {
        "ozone.om.address": ready["om"],
        "ozone.scm.names": host,
        "ozone.scm.client.address": ready["scm"],
        "ozone.scm.client.port": port,
    }
    conf.mkdir()
    for name, properties in (("ozone", site), ("core", {"fs.defaultFS": f"ofs://{ready['om']}"})):
        lines = (f"<property><name>{k}</name><value>{v}</value></property>" for k, v in properties.items())
        (conf / f"{name}-site.xml").write_text("<configuration>\n" + "\n".join(lines) + "\n</configuration>\n")
    return conf


def java(folder, conf, verb, files):
    folder.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join([str(conf), os.environ["O3_JAVA_TABLES"], os.environ["O3_JAVA_TOOLS"] + "/*"])
    command = ["java", *FLAGS, f"-Dnative.lib.tmp.dir={folder}", "-cp", path, "Tables", verb, str(folder / "files")]
    return subprocess.run(command + files, cwd=folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
