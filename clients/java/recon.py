"""Recon 2.2.0 on our cluster: it copies OM's tables, follows what is written, and counts as we do."""

import json
import os
import subprocess

from servers import OzoneServer, fetch, free_ports, wait


def sh(conf, *words):
    environment = {**os.environ, "OZONE_CONF_DIR": str(conf)}
    command = [os.environ["O3_BIN"], "sh", *map(str, words)]
    return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout


def counts(conf):
    """Volumes, buckets and keys as `o3 sh` lists them; directories apart."""
    names = lambda *words: [entry["name"] for entry in json.loads(sh(conf, *words))]  # noqa: E731
    volumes = names("volume", "list", "--all")
    buckets = [f"{v}/{b}" for v in volumes for b in names("bucket", "list", "--all", f"/{v}")]
    keys = [k for b in buckets for k in names("key", "list", "--all", f"/{b}")]
    files = [key for key in keys if not key.endswith("/")]
    return {"volumes": len(volumes), "buckets": len(buckets), "keys": len(files)}


def judge(folder, server, conf):
    small = folder / "small"
    small.write_bytes(b"hello\n")
    sh(conf, "volume", "create", "/films")
    for layout in ("obs", "fso", "legacy"):
        sh(conf, "bucket", "create", f"/films/{layout}", "--layout", layout)
        for number in range(3):
            sh(conf, "key", "put", f"/films/{layout}/old{number}/film", small)
    http, datanodes = free_ports(2)
    host, port = server.ready["scm"].rsplit(":", 1)
    home = folder / "recon"
    settings = {
        "ozone.om.address": server.ready["om"],
        "ozone.om.http-address": server.ready["pages"]["OM"].removeprefix("http://"),
        "ozone.scm.names": host,
        "ozone.scm.client.address": server.ready["scm"],
        "ozone.scm.client.port": port,
        "ozone.metadata.dirs": home / "metadata",
        "ozone.recon.db.dir": home / "db",
        "ozone.recon.om.db.dir": home / "om",
        "ozone.recon.scm.db.dirs": home / "scm",
        "ozone.http.basedir": home / "http",
        "ozone.recon.address": f"127.0.0.1:{datanodes}",
        "ozone.recon.datanode.address": f"127.0.0.1:{datanodes}",
        "ozone.recon.datanode.bind.host": "127.0.0.1",
        "ozone.recon.http-address": f"127.0.0.1:{http}",
        "ozone.recon.http-bind-host": "127.0.0.1",
        "ozone.recon.om.snapshot.task.initial.delay": "1s",
        "ozone.recon.om.snapshot.task.interval.delay": "500ms",
    }
    api = f"http://127.0.0.1:{http}/api/v1"

    def counted():
        """Nothing when Recon counts what we list, in both of its summaries."""
        ours = counts(conf)
        state, summary = fetch(f"{api}/clusterState"), fetch(f"{api}/namespace/summary?path=/films")
        if not state or not summary:
            return "no answer"
        theirs = {name: state.get(name) for name in ours}
        if theirs != ours:
            return f"Recon counts {theirs}, we {ours}"
        stats = summary.get("countStats", {})
        keys = stats.get("numKey"), stats.get("numBucket")
        return None if keys == (ours["keys"], 3) else f"/films has {keys}, we list {ours}"

    def followed():
        """Nothing when Recon has all that was written since: counts alone may agree before that."""
        keys = fetch(f"{api}/keys/listKeys?startPrefix=/films/obs&limit=100") or {}
        listed = sorted(key["keyName"] for key in keys.get("keys", []))
        expected = sorted(["old1/film", "old2/film", *(f"new{number}" for number in range(5))])
        return counted() if listed == expected else f"it lists {listed} instead of {expected}"

    with OzoneServer("recon", home, settings) as recon:
        wrong = wait("the first counts", counted, 120, recon)
        if wrong is None:
            for number in range(5):
                sh(conf, "key", "put", f"/films/fso/new/deep{number}/film", small)
                sh(conf, "key", "put", f"/films/obs/new{number}", small)
            sh(conf, "key", "delete", "/films/obs/old0/film")
            sh(conf, "key", "delete", "/films/legacy/old1/film")
            wrong = wait("what was written since", followed, 60, recon)
        log = recon.log.read_text(errors="replace")
        if wrong:
            print(f"recon: {wrong}\n{recon.tail()}")
            return 1
    copies = log.count("Attempting to update Recon OM DB with new snapshot")
    if copies != 1:
        print(f"recon: it copied the tables {copies} times instead of once")
        return 1
    print(f"Recon counts as we do: {counts(conf)}, after one copy of the tables and the updates that followed")
    return 0
