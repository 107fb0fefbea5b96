"""JVMs for the published clients.

`Programs` is one JVM for all programs of a class path. `ClassPath` starts JVMs with the classes of jars as an archive,
which is read faster than the jars are (class data sharing): the first run of a class path lists the classes that it
loads and then writes the archive into the cache, later runs use it. Without one everything works as well.
"""

import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(
    os.environ.get("O3_JAVA_CACHE")
    or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "trioxide" / "java"
)
# Netty and Hadoop reach into the JDK.
FLAGS = [
    "-Xmx768m",
    "-XX:+UseSerialGC",
    # Programs live too short for the second compiler.
    "-XX:TieredStopAtLevel=1",
    "-Djava.net.preferIPv4Stack=true",
    "-Dslf4j.internal.verbosity=ERROR",
    f"-Dlog4j.configuration=file:{HERE}/src/log4j.properties",
    f"-Djava.util.logging.config.file={HERE}/src/logging.properties",
    "-Dorg.apache.ratis.thirdparty.io.netty.tryReflectionSetAccessible=true",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
]


def version():
    """What the JDK says of itself."""
    said = subprocess.run(["java", "-version"], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return said.stdout


class ClassPath:
    """The jars of a folder, then other folders; the archive is of the jars.

    A run that is `whole` loads what others load, too: only such a one writes the archive.
    """

    def __init__(self, jars, further, whole):
        # An archive is good for jars in this order only, and for no other ones in front of them.
        self.jars = sorted(map(str, pathlib.Path(jars).glob("*.jar")))
        self.further = list(map(str, further))
        of_jars = [(jar, os.stat(jar).st_size, os.stat(jar).st_mtime_ns) for jar in self.jars]
        key = hashlib.sha256(repr((version(), of_jars)).encode()).hexdigest()[:16]
        self.name = pathlib.Path(jars).name
        self.archive = CACHE / f"{self.name}-{key}.jsa"
        self.whole, self.classes = whole, None

    def words(self):
        """What a JVM is started with."""
        words = ["-cp", os.pathsep.join([*self.jars, *self.further])]
        if self.archive.exists():
            return [f"-XX:SharedArchiveFile={self.archive}", *words]
        if not self.whole:
            return words
        handle, self.classes = tempfile.mkstemp(prefix="o3-classes-")
        os.close(handle)
        return [f"-XX:DumpLoadedClassList={self.classes}", *words]

    def keep(self):
        """Writes the archive of what a JVM has loaded, after it has ended; where that fails there is none."""
        if self.classes is None:
            return
        classes, self.classes = self.classes, None
        with tempfile.TemporaryDirectory(prefix=f".{self.name}-", dir=CACHE) as folder:
            new = pathlib.Path(folder) / "jsa"
            command = ["java", "-Xshare:dump", f"-XX:SharedClassListFile={classes}", f"-XX:SharedArchiveFile={new}"]
            command += ["-Xlog:disable", "-Xlog:all=error:stderr", "-cp", os.pathsep.join(self.jars)]
            said = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            os.unlink(classes)
            if said.returncode != 0 or not new.exists():
                text = said.stdout.decode(errors="replace")[-1000:]
                print(f"no class data archive for {self.name} ({said.returncode}): {text}", file=sys.stderr)
                return
            # Of jars or a JDK that are no longer here.
            for old in CACHE.glob(f"{self.name}-*.jsa"):
                old.unlink(missing_ok=True)
            new.replace(self.archive)


class Programs:
    """One JVM that runs programs of src, one after the other (Runner)."""

    def __init__(self, jars, classes, folder, whole):
        self.class_path = ClassPath(jars, [os.environ["O3_JAVA_RUNNER"], *classes], whole)
        statuses, theirs = os.pipe()
        command = ["java", *FLAGS, f"-Dnative.lib.tmp.dir={folder}", *self.class_path.words()]
        command += ["Runner", f"/dev/fd/{theirs}"]
        self.process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, pass_fds=[theirs])
        os.close(theirs)
        self.statuses = os.fdopen(statuses, "rb", buffering=0)

    def run(self, conf, local, program, *words):
        """The status of a program; 1 when the JVM ends."""
        request = [str(word) for word in (conf, local, program, *words)]
        assert not any(mark in word for word in request for mark in "\t\n"), request
        sys.stdout.flush()
        try:
            self.process.stdin.write(("\t".join(request) + "\n").encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        status = self.statuses.read(1)
        if status:
            return status[0]
        print(f"the JVM of {program} ended with {self.process.wait()}")
        return 1

    def running(self):
        return self.process.poll() is None

    def stop(self):
        """Ends the JVM."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.statuses.close()
        self.class_path.keep()
