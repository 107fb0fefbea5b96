"""Metadata that Ozone 2.2.0 itself has written is taken over in place: all keys and what is known of them is there."""

import json
import os
import pathlib
import subprocess

import boto3

from servers import OzoneServer, fetch, free_ports, wait
from server import Server

COMMANDS = """
volume create vol1 --namespace-quota 100
volume addacl --acls user:ann:rw,group:staff:l vol1
bucket create vol1/obs --layout OBJECT_STORE --space-quota 5GB
bucket create vol1/fso --layout FILE_SYSTEM_OPTIMIZED
bucket create vol1/legacy --layout LEGACY
bucket create s3v/s3b --layout OBJECT_STORE
bucket link vol1/obs s3v/link1
key put vol1/obs/dir1/k1 {file}
key put vol1/obs/k2 {file}
key put vol1/fso/d1/d2/f1 {file}
key put vol1/fso/f3 {file}
key put vol1/legacy/l1/l2 {file}
bucket setacl -a user:ann:a[DEFAULT] -a world::r vol1/obs
key addacl -a user:bob:r vol1/obs/k2
prefix setacl -a user:ann:rw vol1/obs/dir1/
key delete vol1/legacy/l1/l2
"""

# What both tell of it, with the same JSON.
QUESTIONS = [
    "volume info /vol1",
    "bucket info /vol1/obs",
    "bucket info /vol1/fso",
    "bucket info /vol1/legacy",
    "bucket info /s3v/link1",
    "key list /vol1/obs",
    "key list /vol1/fso",
    "key list /vol1/legacy",
    "key getacl /vol1/obs/k2",
    "bucket getacl /vol1/obs",
    "volume getacl /vol1",
]


def settings(folder):
    """Ozone's servers on free ports of this host."""
    names = ["om", "omhttp", "omratis", "omgrpc", "scm", "block", "dn", "security", "scmhttp", "scmratis", "scmgrpc"]
    names += ["s3", "s3admin", *(f"d{n}" for n in range(8))]
    at = dict(zip(names, free_ports(len(names))))
    here = "127.0.0.1"
    told = {
        "ozone.om.address": f"{here}:{at['om']}",
        "ozone.om.http-address": f"{here}:{at['omhttp']}",
        "ozone.om.http-bind-host": here,
        "ozone.om.ratis.port": at["omratis"],
        "ozone.om.grpc.port": at["omgrpc"],
        "ozone.scm.names": here,
        "ozone.scm.http-address": f"{here}:{at['scmhttp']}",
        "ozone.scm.http-bind-host": here,
        "ozone.scm.ratis.port": at["scmratis"],
        "ozone.scm.grpc.port": at["scmgrpc"],
        "ozone.s3g.http-address": f"{here}:{at['s3']}",
        "ozone.s3g.http-bind-host": here,
        "ozone.s3g.webadmin.http-address": f"{here}:{at['s3admin']}",
        "ozone.s3g.webadmin.http-bind-host": here,
        "ozone.http.basedir": folder / "http",
        "hdds.datanode.volume.min.free.space": "1GB",
        "hdds.scm.safemode.min.datanode": 1,
        "ozone.server.default.replication": 1,
        "ozone.replication": 1,
        "hdds.datanode.hostname": "localhost",
        "hdds.datanode.http-bind-host": here,
        "hdds.datanode.client.bind.host": here,
    }
    for name, port in (("client", "scm"), ("block.client", "block"), ("datanode", "dn"), ("security.service", "security")):
        told[f"ozone.scm.{name}.address"] = f"{here}:{at[port]}"
        told[f"ozone.scm.{name}.port"] = at[port]
        told[f"ozone.scm.{name}.bind.host"] = here
    datanode = {
        "ozone.scm.datanode.id.dir": folder / "datanode" / "meta",
        "hdds.datanode.dir": folder / "datanode" / "hdds",
        "hdds.container.ratis.datanode.storage.dir": folder / "datanode" / "ratis",
        "hdds.datanode.http-address": f"{here}:{at['d5']}",
        "hdds.datanode.client.address": f"{here}:{at['d6']}",
    }
    ports = ["container.ipc", "container.ratis.ipc", "container.ratis.admin", "container.ratis.server"]
    ports += ["container.ratis.datastream", None, "datanode.client", "datanode.replication"]
    datanode.update({f"hdds.{name}.port": at[f"d{n}"] for n, name in enumerate(ports) if name})
    return told, datanode, at


def ask(conf, command):
    environment = {**os.environ, "OZONE_CONF_DIR": str(conf)}
    words = [os.environ["O3_BIN"], "sh", *command.split()]
    return subprocess.run(words, env=environment, check=True, stdout=subprocess.PIPE).stdout


def judge(folder, ozone_sh):
    """`ozone_sh(conf, lines)` runs lines of Ozone's own shell."""
    # As `o3 server` has it: om and scm below one directory.
    data = folder / "data"
    told, of_datanode, at = settings(folder)
    own = {role: {**told, "ozone.metadata.dirs": data / role} for role in ("om", "scm", "s3g")}
    own["datanode"] = {**told, **of_datanode, "ozone.metadata.dirs": folder / "datanode" / "meta"}
    running = []

    def start(role, *words):
        server = OzoneServer(role, folder / role, own[role], *words)
        if words:
            server.finish()
        else:
            running.append(server)
        return server

    def up(server, what, port):
        wrong = wait(what, lambda: None if is_open(port) else "nothing listens", 120, server)
        assert wrong is None, wrong

    try:
        start("scm", "--init")
        scm = start("scm")
        up(scm, "SCM", at["scm"])
        start("om", "--init")
        om = start("om")
        start("datanode")
        s3g = start("s3g")
        up(om, "OM", at["om"])
        up(s3g, "the S3 gateway", at["s3"])
        jmx = f"http://127.0.0.1:{at['scmhttp']}/jmx"
        ready = lambda: None if '"InSafeMode": false' in json.dumps(fetch(jmx)) else "safe mode"  # noqa: E731
        wrong = wait("SCM to leave safe mode", ready, 180, scm)
        assert wrong is None, wrong
        small = folder / "small"
        small.write_bytes(b"hello\n")
        conf = folder / "om" / "conf"
        ozone_sh(conf, COMMANDS.format(file=small).strip().splitlines())
        s3 = s3_of(f"http://127.0.0.1:{at['s3']}", "any", "any")
        upload = s3.create_multipart_upload(Bucket="s3b", Key="big/film")["UploadId"]
        part = s3.upload_part(Bucket="s3b", Key="big/film", UploadId=upload, PartNumber=1, Body=b"x" * (5 << 20))
        before = {question: ask(conf, question) for question in QUESTIONS}
    finally:
        for server in reversed(running):
            server.stop()

    status = 0
    for run in ("first", "second"):
        ours = Server(data, folder / "server.log").start()
        try:
            conf = pathlib.Path(ours.ready["conf"]).parent
            for question, expected in before.items():
                seen = ask(conf, question)
                if seen != expected:
                    print(f"migration, {run} start: {question}\n{seen.decode()}\nwas\n{expected.decode()}")
                    status = 1
            if run == "first":
                s3 = s3_of(ours.endpoint, ours.access_key, ours.secret_key)
                parts = s3.list_parts(Bucket="s3b", Key="big/film", UploadId=upload)["Parts"]
                if [(p["PartNumber"], p["ETag"], p["Size"]) for p in parts] != [(1, part["ETag"], 5 << 20)]:
                    print(f"migration: the upload's parts are {parts}")
                    status = 1
                s3.put_object(Bucket="s3b", Key="new", Body=b"new")
                if s3.get_object(Bucket="s3b", Key="new")["Body"].read() != b"new":
                    status = 1
        finally:
            ours.stop()
    if status == 0:
        print(f"{len(QUESTIONS)} answers are the same before and after the take-over, and an upload's part is there")
    return status


def is_open(port):
    import socket

    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def s3_of(endpoint, access_key, secret_key):
    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret_key,
        region_name="us-east-1",
    )
