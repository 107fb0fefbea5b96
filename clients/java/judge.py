"""Starts `o3 server` and lets the published Java clients judge it. `run` has put the jars into place.

    judge.py [part...]          the parts or lanes named below, the usual parts when none is named
    judge.py record CONF [table...]
                                writes what the cluster of CONF/ozone-site.xml answers into the tables,
                                or into those of five DataNodes: erasure/key erasure/container erasure/freon
"""

import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
import zlib

import boto3
import boto3.s3.transfer

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python" / "tests"))

sys.path.insert(0, str(HERE))

from server import Server  # noqa: E402

from jvm import Programs  # noqa: E402

import migration as take_over  # noqa: E402
import recon as recon_server  # noqa: E402
import settings  # noqa: E402


def main(words):
    with tempfile.TemporaryDirectory(prefix="o3-java-") as folder:
        folder = running["folder"] = pathlib.Path(folder)
        try:
            if words[:1] == ["record"]:
                conf, names = pathlib.Path(words[1]).resolve(), words[2:]
                of_five = [name.removeprefix("erasure/") for name in names if name.startswith("erasure/")]
                files = chosen(of_five, "erasure") if of_five else chosen(names)
                return java(folder, conf, "record", files)
            names = [name for word in words or LANES for name in LANES.get(word, [word])]
            running["whole"] = {lane for lane, parts in LANES.items() if set(parts) <= set(names)}
            failed = [name for name in names if timed(name, folder / name) != 0]
        finally:
            stop_programs()
    if failed:
        print(f"clients/java: failed: {' '.join(failed)}")
    return 1 if failed else 0


def timed(name, folder):
    """The status of a part; says how long it took."""
    began = time.monotonic()
    status = PARTS[name](folder)
    print(f"-- {name}: {time.monotonic() - began:.0f} s" + (f", {status} wrong" if status else ""), flush=True)
    return status


def tables(folder):
    """The recorded tables of commands, on a cluster that nobody has used before."""

    def judge(_, conf):
        # A deletion wakes it after half a second. What a snapshot has for itself depends on whether it was there
        # before the next snapshot.
        o3(conf, "admin", "service", "pause", "DirectoryDeletingService", "--role", "om")
        return java(folder, conf, "check", chosen([]))

    return on_a_server(folder, judge)


def crossing(folder):
    """A key that one client wrote reads the same with the others: Java, S3 and `o3 sh`."""
    return on_a_server(folder, lambda server, conf: cross(folder, server, conf))


# Of Hadoop's tests those that write and read: the others are about names, which have no replication.
OF_CONTENT = ("Create", "Open", "Seek", "Unbuffer", "VectoredRead", "CopyFromLocal", "GetFileStatus")
OF_CONTENT_PASSED = 146


def erasure(folder):
    """Erasure-coded keys on five DataNodes: recorded tables, keys of one client read by the others in a bucket of
    rs-3-2-1024k; then two DataNodes lose the files of all blocks."""

    def judge(server, conf):
        status = java(folder / "tables", conf, "check", chosen([], "erasure"))
        return status + crossing_without_replicas(server, conf)

    def crossing_without_replicas(server, conf):
        o3_sh(conf, "bucket", "create", "/s3v/crossing", "--layout", "obs", "-t", "EC", "-r", "rs-3-2-1024k")
        status = cross(folder, server, conf)
        lost = lose_blocks(folder / "data", 2)
        written = {file.name: file.read_bytes() for file in (folder / "files").iterdir()}
        for name, content in written.items():
            decoded = folder / f"{name}-decoded"
            o3_sh(conf, "key", "get", f"/s3v/crossing/{name}", decoded)
            status += same(f"{name} by o3 sh without two replicas", decoded.read_bytes(), content)
        table = folder / "decoded.txt"
        table.write_text("".join(f"$ ozone sh key get /s3v/crossing/{name} ${{tmp}}/{name}\n" for name in written))
        status += java(folder / "decoded", conf, "check", [str(table)])
        for name, content in written.items():
            decoded = folder / "decoded" / "files" / name
            status += same(f"{name} by Java without two replicas", decoded.read_bytes(), content)
        print(f"{len(written)} erasure-coded keys were read without {lost} files of blocks, {status} differ")
        return status

    return on_a_server(folder, judge, arguments=["--datanodes", "5"])


def erasure_files(folder):
    """Files of erasure-coded buckets on five DataNodes: some of Hadoop's tests; the files refuse to be synced and have
    the checksums of replicated ones."""

    def judge(_, conf):
        status = contract_on_erasure(folder / "contract", conf, *OF_CONTENT, str(OF_CONTENT_PASSED))
        o3_sh(conf, "volume", "create", "/coded")
        o3_sh(conf, "bucket", "create", "/coded/striped", "--layout", "fso", "-t", "EC", "-r", "rs-3-2-1024k")
        o3_sh(conf, "bucket", "create", "/coded/replicated", "--layout", "fso", "-t", "RATIS", "-r", "THREE")
        return status + filesystem(folder / "coded", conf, "Coded", "/coded/striped", "/coded/replicated")

    return on_a_server(folder, judge, arguments=["--datanodes", "5"])


def erasure_contract(folder):
    """All of Hadoop's file system contract tests on an erasure-coded bucket."""

    def judge(_, conf):
        return contract_on_erasure(folder / "contract", conf)

    return on_a_server(folder, judge, arguments=["--datanodes", "5"])


def contract_on_erasure(folder, conf, *words):
    o3_sh(conf, "volume", "create", "/contract")
    o3_sh(conf, "bucket", "create", "/contract/ofs-ec", "--layout", "fso", "-t", "EC", "-r", "rs-3-2-1024k")
    return hadoop_contract(folder, conf, "ofs-ec", *words)


def lose_blocks(data, count):
    """Removes the files of all blocks of so many DataNodes; says how many files that were."""
    of_nodes = {}
    for file in data.rglob("chunks/*.block"):
        of_nodes.setdefault(file.relative_to(data).parts[0], []).append(file)
    files = [file for node in sorted(of_nodes)[:count] for file in of_nodes[node]]
    for file in files:
        file.unlink()
    assert len(of_nodes) == 5 and files, f"blocks are in {list(of_nodes)}"
    return len(files)


def contract(folder):
    """Hadoop's file system contract tests, through the client jar of Spark and Hive."""
    return on_a_server(folder, lambda server, conf: hadoop_contract(folder, conf))


# What server and clients are told when files are to be synced.
HSYNC = {
    "ozone.fs.hsync.enabled": "true",
    "ozone.hbase.enhancements.allowed": "true",
    "ozone.client.hbase.enhancements.allowed": "true",
}
# Small chunks and blocks, that a few MB cross many of them, and a lease that runs out soon.
SMALL = {
    "ozone.scm.block.size": "8MB",
    "ozone.om.lease.soft.limit": "2s",
    "ozone.client.stream.buffer.size": "1MB",
    "ozone.client.stream.buffer.flush.size": "2MB",
    "ozone.client.stream.buffer.max.size": "4MB",
}


def hsync(folder):
    """Files that are read while they are written, and those whose writer is gone; Hadoop's tests of both."""

    def ours(_, conf):
        return filesystem(folder, conf, "Hsync", "plain", "both")

    def hadoops(_, conf):
        return hadoop_contract(folder, conf, "LeaseRecovery", "Create", "17")

    return on_a_server(folder, ours, {**HSYNC, **SMALL}) + on_a_server(folder / "contract", hadoops, HSYNC)


def distcp(folder):
    """Hadoop's DistCp between two buckets, with its comparison of checksums, then from snapshot to snapshot."""

    def copies(_, conf):
        o3_sh(conf, "volume", "create", "/distcp")
        for bucket in ("source", "target"):
            o3_sh(conf, "bucket", "create", f"/distcp/{bucket}", "--layout", "fso")
        return filesystem(folder, conf, "Copies")

    return on_a_server(folder, copies)


def trash(folder):
    """What Java clients delete is kept for a while, and then OM deletes it."""
    folder.mkdir(parents=True)

    def deleted(conf):
        return java(folder, conf, "check", [str(HERE / "trash.txt")])

    def becomes_checkpoints(conf):
        """`Current` is renamed to the time of day."""
        made = re.compile(r"\.Trash/[^/]+/\d{12}/films/old/film")
        return in_the_trash(conf, lambda keys: any(made.fullmatch(key) for key in keys))

    def goes(conf):
        return in_the_trash(conf, lambda keys: not any(key.endswith("film") for key in keys))

    for keep, expectations in ((60, (deleted, becomes_checkpoints)), (0.01, (goes,))):
        told = ("-D", f"ozone.fs.trash.interval={keep}", "-D", "ozone.fs.trash.checkpoint.interval=0.01")
        server = Server(folder / "data", folder / "server.log", *told).start()
        try:
            conf = configure(folder / f"conf-{keep}", server.ready, {})
            failed = next((expected.__name__ for expected in expectations if expected(conf) != 0), None)
        finally:
            server.stop()
        if failed:
            print(f"trash: {failed} failed; the server's last words:\n{server.tail()}")
            return 1
    print("what was deleted became checkpoints, and they went")
    return 0


def in_the_trash(conf, expected):
    """Waits until the keys in the trash of both buckets are as expected."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        listed = {}
        for bucket in ("fso", "legacy"):
            keys = json.loads(o3_sh(conf, "key", "list", f"/trash/{bucket}", "--prefix", ".Trash/", "--json"))
            listed[bucket] = [key["name"] for key in keys]
        if all(expected(keys) for keys in listed.values()):
            return 0
        time.sleep(0.2)
    print(f"in the trash: {listed}")
    return 1


# Tables whose rows Ozone's own tool is to read in ours.
LDB = ("volumeTable", "bucketTable", "keyTable", "fileTable", "directoryTable", "userTable", "transactionInfoTable")


def ldb(folder):
    """Ozone's `debug ldb` opens a copy of our om.db, and says of each row what `o3 debug ldb` says."""

    def judge(server, conf):
        small = folder / "small"
        small.write_bytes(b"hello")
        o3_sh(conf, "volume", "create", "/films")
        for layout in ("obs", "fso", "legacy"):
            o3_sh(conf, "bucket", "create", f"/films/{layout}", "--layout", layout)
            o3_sh(conf, "key", "put", f"/films/{layout}/old/film", small)
        copy = folder / "om.db"
        o3_http_copy(server, copy)
        status = 0
        commands = [f"debug ldb --db {copy} scan --cf {table}" for table in LDB]
        for table, command, printed in zip(LDB, commands, outputs(folder / "theirs", conf, commands)):
            theirs, ours = json.loads(printed), json.loads(o3(conf, *command.split()))
            if not theirs or list(ours) != list(theirs):
                print(f"ldb: {table} has {list(theirs)} by Ozone's tool, {list(ours)} by ours")
                status = 1
            # What Ozone shows of the inside of a message it does not show by names.
            elif table != "userTable" and (differ := [key for key in theirs if plain(ours[key]) != plain(theirs[key])]):
                key = differ[0]
                print(f"ldb: {table} {key} is {theirs[key]} by Ozone's tool, {ours[key]} by ours")
                status = 1
        if status == 0:
            print(f"Ozone's ldb reads {len(LDB)} tables of ours and shows what ours shows")
        return status

    return on_a_server(folder, judge)


def plain(row):
    """A row without the rights of access lists, which Ozone's tool leaves out."""
    if isinstance(row, dict):
        return {name: plain(value) for name, value in row.items() if name != "aclList"}
    return [plain(value) for value in row] if isinstance(row, list) else row


def o3_http_copy(server, to):
    """Unpacks a copy of OM's tables."""
    with urllib.request.urlopen(server.ready["pages"]["OM"] + "/dbCheckpoint") as answer:
        with tarfile.open(fileobj=answer, mode="r|") as archive:
            # Without the filter where Python is older than 3.11.4.
            archive.extractall(to, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))


def recon(folder):
    """Ozone's Recon copies our tables, follows what is written, and counts as we do."""
    return on_a_server(folder, lambda server, conf: recon_server.judge(folder, server, conf))


def migration(folder):
    """Metadata that Ozone's own servers wrote is taken over in place. Needs an o3 built with `--features snappy`."""
    folder.mkdir(parents=True)

    def ozone_sh(conf, lines):
        outputs(folder / "shell", conf, [f"sh {line}" for line in lines])

    return take_over.judge(folder, ozone_sh)


PARTS = {
    "tables": tables,
    "crossing": crossing,
    "erasure": erasure,
    "erasure_files": erasure_files,
    "erasure_contract": erasure_contract,
    "contract": contract,
    "hsync": hsync,
    "distcp": distcp,
    "trash": trash,
    "ldb": ldb,
    "recon": recon,
    "settings": settings.judge,
    "migration": migration,
}

# One repeats much of `contract`, the other needs another build.
UNUSUAL = ("erasure_contract", "migration")

# The usual parts in lanes, which can run at the same time (../run). Parts of a lane share a JVM.
LANES = {
    "tools": ("tables", "crossing", "erasure", "trash", "ldb", "settings"),
    "filesystem": ("contract", "erasure_files", "hsync", "distcp"),
    "recon": ("recon",),
}
assert sorted([*UNUSUAL, *(part for lane in LANES.values() for part in lane)]) == sorted(PARTS), "a part is in one lane"


def chosen(names, folder="tables"):
    """The tables of these names in a folder, or all of them."""
    files = sorted((HERE / folder).glob("*.txt"))
    return [str(file) for file in files if not names or file.stem in names]


def on_a_server(folder, judge, told=None, arguments=()):
    """What `judge` says about a fresh server, given a folder with the configuration that a client needs.

    Both are `told` some more.
    """
    folder.mkdir(parents=True)
    log = folder / "server.log"
    told = told or {}
    definitions = [word for key, value in told.items() if "client" not in key for word in ("-D", f"{key}={value}")]
    server = Server(folder / "data", log, *definitions, *arguments).start()
    try:
        status = judge(server, configure(folder / "conf", server.ready, told))
    finally:
        server.stop()
    if status != 0:
        print(f"the server's last words:\n{server.tail()}")
    return status


def cross(folder, server, conf):
    """Other clients write, Java reads and writes, the others read what Java wrote."""
    s3 = boto3.client(
        "s3",
        endpoint_url=server.endpoint,
        aws_access_key_id=server.access_key,
        aws_secret_access_key=server.secret_key,
        region_name="us-east-1",
    )
    if not any(bucket["Name"] == "crossing" for bucket in s3.list_buckets()["Buckets"]):
        s3.create_bucket(Bucket="crossing")
    sizes = {"small": 1000, "large": 9_000_001}
    written = {f"{size}-of-{client}": os.urandom(n) for size, n in sizes.items() for client in ("s3", "o3")}
    written["parts-of-s3"] = os.urandom(12_000_000)
    upload = boto3.s3.transfer.TransferConfig(multipart_threshold=1, multipart_chunksize=5 << 20)
    for name, content in written.items():
        if name.startswith("parts"):
            s3.upload_fileobj(io.BytesIO(content), "crossing", name, Config=upload)
        elif name.endswith("s3"):
            s3.put_object(Bucket="crossing", Key=name, Body=content)
        else:
            (folder / name).write_bytes(content)
            o3_sh(conf, "key", "put", f"/s3v/crossing/{name}", folder / name)
    table = folder / "crossing.txt"
    checksums = (checksum(name, content) for name, content in written.items())
    table.write_text((HERE / table.name).read_text() + "".join(checksums))
    status = java(folder, conf, "check", [str(table)])
    files = folder / "files"
    for name, content in written.items():
        status += same(f"{name} by Java", (files / name).read_bytes(), content)
    for name in ("small-of-java", "large-of-java"):
        content = (files / name).read_bytes()
        status += same(f"{name} by S3", s3.get_object(Bucket="crossing", Key=name)["Body"].read(), content)
        o3_sh(conf, "key", "get", f"/s3v/crossing/{name}", folder / name)
        status += same(f"{name} by o3 sh", (folder / name).read_bytes(), content)
    print(f"{len(written) + 2} keys crossed between Java, S3 and o3 sh, {status} differ")
    return status


def checksum(name, content):
    """The lines of a table: Java sees the key, and its own copy of it, with the checksum of their content."""
    lines = f"$ ozone sh key put /s3v/crossing/{name}-by-java ${{tmp}}/{name}\n"
    for key in (name, f"{name}-by-java"):
        lines += f"$ ozone sh key checksum /s3v/crossing/{key}\n"
        shown = {
            "algorithm": "COMPOSITE-CRC32",
            "bucketName": "crossing",
            "checksum": f"{zlib.crc32(content):08X}",
            "dataSize": len(content),
            "name": key,
            "volumeName": "s3v",
        }
        entries = ",\n".join(f"    {json.dumps(field)} : {json.dumps(value)}" for field, value in shown.items())
        lines += f"  {{\n{entries}\n  }}\n"
    return lines


def o3_sh(conf, *words):
    return o3(conf, "sh", *words)


def outputs(folder, conf, commands):
    """What commands of the published tools print; none may fail."""
    status = programs("tools").run(conf, folder, "Outputs", folder, *commands)
    assert status == 0, f"a command failed: {commands}"
    return [(folder / str(number)).read_text() for number in range(len(commands))]


def o3(conf, *words):
    environment = {**os.environ, "OZONE_CONF_DIR": str(conf)}
    command = [os.environ["O3_BIN"], *map(str, words)]
    return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout


def same(what, read, written):
    if read == written:
        return 0
    print(f"{what}: {len(read)} bytes that are not the {len(written)} written")
    return 1


def configure(conf, ready, told):
    """ozone-site.xml and core-site.xml as an administrator would write them."""
    host, port = ready["scm"].rsplit(":", 1)
    site = {
        "ozone.om.address": ready["om"],
        "ozone.scm.names": host,
        "ozone.scm.client.address": ready["scm"],
        "ozone.scm.client.port": port,
        **told,
    }
    conf.mkdir()
    for name, properties in (("ozone", site), ("core", {"fs.defaultFS": f"ofs://{ready['om']}"})):
        lines = (f"<property><name>{k}</name><value>{v}</value></property>" for k, v in properties.items())
        (conf / f"{name}-site.xml").write_text("<configuration>\n" + "\n".join(lines) + "\n</configuration>\n")
    return conf


def java(folder, conf, verb, files):
    """Runs tables."""
    return programs("tools").run(conf, folder, "Tables", verb, folder / "files", *files)


def hadoop_contract(folder, conf, *words):
    return filesystem(folder, conf, "Contract", *words)


def filesystem(folder, conf, program, *words):
    """Runs a program of ours on the client jar of Spark and Hive."""
    return programs("filesystem").run(conf, folder / "local", program, *words)


# The jars of a JVM, by what `run` calls them, and the classes of ours.
CLASS_PATHS = {"tools": ("TOOLS", "TABLES"), "filesystem": ("FILESYSTEM", "CONTRACT", "HSYNC", "DISTCP")}

# The folder of the run, the lanes of which every part is run, and the JVMs that have been started.
running = {"folder": None, "whole": (), "jvms": {}}


def programs(lane):
    """The JVM of a class path, started when it is needed."""
    jvm = running["jvms"].get(lane)
    if jvm is None or not jvm.running():
        jars, *classes = (os.environ[f"O3_JAVA_{name}"] for name in CLASS_PATHS[lane])
        folder = running["folder"] / f"jvm-{lane}"
        folder.mkdir(exist_ok=True)
        jvm = running["jvms"][lane] = Programs(jars, classes, folder, lane in running["whole"])
    return jvm


def stop_programs():
    for jvm in running["jvms"].values():
        jvm.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
