"""Lets the published Java client write keys and read all of them back, again and again until it is told to end:
javaload.py CONFIGURATION_DIRECTORY JARS REPLICATION_OPTION... Prints one JSON object. What its generator could not write is counted; what it wrote
and its validator does not find whole is wrong."""

import json
import os
import re
import signal
import subprocess
import sys

KEYS = 150
FLAGS = [
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Djava.net.preferIPv4Stack=true",
    f"-Dlog4j.configuration=file:{os.path.dirname(os.path.abspath(__file__))}/log4j.properties",
    "-Dorg.apache.ratis.thirdparty.io.netty.tryReflectionSetAccessible=true",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
]


def freon(conf, jars, *words):
    """Runs a generator; how many of its operations succeeded and failed, None when it says nothing."""
    command = ["java", *FLAGS, "-cp", os.pathsep.join([conf, jars + "/*"]), "org.apache.hadoop.ozone.freon.Freon"]
    done = subprocess.run([*command, *words], capture_output=True, text=True, cwd=conf)
    said = done.stdout + done.stderr
    count = lambda what: re.findall(rf"{what}: (\d+)", said)
    if not count("Successful executions"):
        return None, said[-2000:]
    return (int(count("Successful executions")[-1]), int(count("Failures")[-1])), said[-2000:]


def main():
    conf, jars, *replication = sys.argv[1:]
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    result = {"rounds": 0, "written": 0, "notWritten": 0, "read": 0, "violations": []}
    while not ended and not result["violations"]:
        where = ["-n", str(KEYS), "-t", "2", "-v", "javavol", "-b", "javabucket", "-p", f"round{result['rounds']}"]
        written, said = freon(conf, jars, "ockg", *where, "--size", "100000", *replication, "-f")
        if written is None:
            result["violations"].append(f"the generator said nothing: {said}")
            break
        result["written"] += written[0]
        result["notWritten"] += written[1]
        read, said = freon(conf, jars, "ockv", *where, "-f")
        if read is None or read[1] > written[1]:
            result["violations"].append(f"{written} written, {read} read back: {said}")
        else:
            result["read"] += read[0]
        result["rounds"] += 1
    print(json.dumps(result))
    sys.exit(1 if result["violations"] or not result["read"] else 0)


main()
