"""clients/java/jvm.py, with a stand-in for java: statuses of programs, and when a class data archive is made and used."""

import contextlib
import importlib.util
import io
import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

SOURCE = Path(__file__).resolve().parents[2] / "clients" / "java" / "jvm.py"
JAVA = """#!/usr/bin/env python3
import os, sys
words = sys.argv[1:]
with open(os.environ["SAID"], "a") as said:
    print(" ".join(words), file=said)
option = lambda name: next((word.split("=", 1)[1] for word in words if word.startswith(f"-XX:{name}=")), None)
if words == ["-version"]:
    print("a JDK", file=sys.stderr)
elif "-Xshare:dump" in words:
    if os.environ.get("DUMP_FAILS"):
        sys.exit("no space")
    open(option("SharedArchiveFile"), "w").write(open(option("SharedClassListFile")).read())
else:
    if option("DumpLoadedClassList"):
        open(option("DumpLoadedClassList"), "w").write("classes")
    statuses = open(words[-1], "wb", buffering=0)
    for line in sys.stdin:
        conf, local, program, *rest = line.rstrip("\\n").split("\\t")
        if program == "Exit":
            sys.exit(int(rest[0]))
        statuses.write(bytes([int(rest[0])]))
"""


class Jvm(unittest.TestCase):
    def setUp(self):
        self.work = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.work)
        self.said = self.work / "said"
        java = self.work / "bin" / "java"
        java.parent.mkdir()
        java.write_text(JAVA)
        java.chmod(0o755)
        self.jars = self.work / "tools-1"
        self.jars.mkdir()
        for name in ("b.jar", "a.jar"):
            (self.jars / name).write_text(name)
        self.cache = self.work / "cache"
        self.cache.mkdir()
        self.environment = {
            "PATH": f"{java.parent}:{os.environ['PATH']}",
            "SAID": str(self.said),
            "O3_JAVA_CACHE": str(self.cache),
            "O3_JAVA_RUNNER": "/runner",
        }
        changed = mock.patch.dict(os.environ, self.environment)
        changed.start()
        self.addCleanup(changed.stop)
        spec = importlib.util.spec_from_file_location("jvm", SOURCE)
        self.jvm = importlib.util.module_from_spec(spec)
        with mock.patch.object(sys, "dont_write_bytecode", True):
            spec.loader.exec_module(self.jvm)

    def programs(self, whole=False):
        return self.jvm.Programs(self.jars, ["/classes"], self.work, whole)

    def started(self):
        """A JVM that runs no program: what it and the one that writes the archive were started with."""
        self.said.unlink(missing_ok=True)
        self.programs(whole=True).stop()
        return [line for line in self.said.read_text().splitlines() if line != "-version"]

    def test_every_program_has_its_status(self):
        programs = self.programs()
        self.addCleanup(programs.stop)
        self.assertEqual([programs.run("conf", "local", "P", status) for status in (0, 1, 255, 0)], [0, 1, 255, 0])
        self.assertTrue(programs.running())

    def test_a_jvm_that_ends_fails_its_program_and_each_that_follows(self):
        programs = self.programs()
        self.addCleanup(programs.stop)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(programs.run("conf", "local", "Exit", 0), 1)
            self.assertFalse(programs.running())
            self.assertEqual(programs.run("conf", "local", "P", 0), 1)
        self.assertIn("the JVM of Exit ended with 0", said.getvalue())

    def test_jars_are_in_order_and_before_what_is_in_no_archive(self):
        self.assertIn(f"-cp {self.jars}/a.jar:{self.jars}/b.jar:/runner:/classes Runner", self.started()[0])

    def test_a_whole_run_makes_the_archive_and_later_runs_use_it(self):
        self.programs(whole=False).stop()
        self.assertEqual(list(self.cache.iterdir()), [])
        first, dump = self.started()
        self.assertIn("-XX:DumpLoadedClassList=", first)
        self.assertIn("-Xshare:dump", dump)
        (archive,) = self.cache.iterdir()
        (second,) = self.started()
        self.assertIn(f"-XX:SharedArchiveFile={archive} ", second)

    def test_another_jar_has_another_archive_and_the_old_one_is_removed(self):
        self.started()
        (old,) = self.cache.iterdir()
        (self.jars / "a.jar").write_text("another")
        self.assertEqual(len(self.started()), 2)
        (new,) = self.cache.iterdir()
        self.assertNotEqual(new, old)

    def test_without_an_archive_the_run_is_as_good(self):
        with mock.patch.dict(os.environ, {"DUMP_FAILS": "yes"}), contextlib.redirect_stderr(io.StringIO()) as said:
            self.started()
        self.assertEqual(list(self.cache.iterdir()), [])
        self.assertIn("no space", said.getvalue())


if __name__ == "__main__":
    unittest.main()
