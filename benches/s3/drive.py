"""Signs URLs, sends them with wrk, and prints rates and the server's CPU time."""

import datetime
import hashlib
import hmac
import json
import os
import re
import subprocess
import sys
import urllib.parse
import urllib.request

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from record import record  # noqa: E402

# Prefix of recorded results: another load has another name.
NAME = os.environ.get("BENCH_NAME", "s3")

ready, server, work = json.loads(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
SECONDS = os.environ.get("SECONDS_EACH", "8")
# Warm-up before the measurement, with the first size.
WARM_UP = os.environ.get("WARM_UP", "0")
CONNECTIONS = os.environ.get("CONNECTIONS", "16")
SIZES = [int(size) for size in os.environ.get("SIZES", "4096 102400 4194304 67108864").split()]
KEYS = 500
TICK = os.sysconf("SC_CLK_TCK")


def presign(method, path):
    """An S3 URL that is valid for an hour (Signature Version 4 in the query)."""
    endpoint = urllib.parse.urlsplit(ready["s3"])
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{now[:8]}/us-east-1/s3/aws4_request"
    query = urllib.parse.urlencode(sorted({
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Credential": f"{ready['access_key']}/{scope}",
        "X-Amz-Date": now,
        "X-Amz-Expires": "3600",
        "X-Amz-SignedHeaders": "host",
    }.items()))
    canonical = f"{method}\n{path}\n{query}\nhost:{endpoint.netloc}\n\nhost\nUNSIGNED-PAYLOAD"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    key = ("AWS4" + ready["secret_key"]).encode()
    for part in [*scope.split("/"), f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{digest}"]:
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return f"{path}?{query}&X-Amz-Signature={key.hex()}"


def cpu():
    """User and system time of the server, in seconds."""
    with open(f"/proc/{server}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def resident():
    with open(f"/proc/{server}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) >> 10


def send(method, size, keys, seconds=SECONDS, told=True):
    urls, body = os.path.join(work, "urls"), os.path.join(work, "body")
    with open(urls, "w") as file:
        file.writelines(presign(method, f"/bench/{size}/{number}") + "\n" for number in range(keys))
    with open(body, "wb") as file:
        file.write(os.urandom(size))
    script = os.path.join(work, "wrk.lua")
    with open(script, "w") as file:
        file.write(f"""
            local urls, at, body = {{}}, 0, nil
            for line in io.lines("{urls}") do urls[#urls + 1] = line end
            if "{method}" == "PUT" then body = io.open("{body}", "rb"):read("*a") end
            function request()
                at = at % #urls + 1
                return wrk.format("{method}", urls[at], nil, body)
            end
            function done(summary, latency)
                local e = summary.errors
                io.write(string.format("RESULT %d %d %f %f\\n", summary.requests,
                    e.connect + e.read + e.write + e.status + e.timeout,
                    latency:percentile(50) / 1000, latency:percentile(99) / 1000))
            end
        """)
    connections = CONNECTIONS if size < 1 << 24 else "4"
    command = ["wrk", "-t", "1", "-c", connections, "-d", seconds + "s", "--timeout", "60s", "-s", script, ready["s3"]]
    begun = cpu()
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    spent = cpu() - begun
    if not told:
        return
    requests, errors, p50, p99 = map(float, re.search(r"RESULT (\S+) (\S+) (\S+) (\S+)", out).groups())
    took = float(re.search(r"requests in ([\d.]+)s", out)[1])
    print(f"| {method} {size} | {connections} | {requests / took:,.0f} | {requests * size / took / 2**20:,.0f} "
          f"| {p50:.2f} / {p99:.2f} | {spent / requests * 1000:.3f} | {resident()} | {errors:.0f} |", flush=True)
    record(f"{NAME}/{method} {size}", requests / took, "requests/s")
    record(f"{NAME}/{method} {size}, server CPU", spent / requests * 1000, "ms")


urllib.request.urlopen(urllib.request.Request(ready["s3"] + presign("PUT", "/bench"), method="PUT")).read()
print("| request | connections | requests/s | MiB/s | p50 / p99 ms | server CPU ms a request | resident MiB | errors |")
print("| --- | --- | --- | --- | --- | --- | --- | --- |")
if WARM_UP != "0":
    send("PUT", SIZES[0], KEYS, WARM_UP, told=False)
for size in SIZES:
    keys = max(4, min(KEYS, (1 << 29) // size))
    send("PUT", size, keys)
    send("GET", size, keys)
