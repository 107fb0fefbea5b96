"""scripts/beside, and clients/run by it: a command that fails fails the run, and no output is cut into pieces."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BESIDE = ROOT / "scripts" / "beside"
# What clients/java/run has as lanes.
LANES = re.findall(r'^    "(\w+)": \(', (ROOT / "clients/java/judge.py").read_text(), re.MULTILINE)


def beside(*words, at_once="2", interval="20"):
    environment = {**os.environ, "BESIDE_INTERVAL": interval}
    return subprocess.run([BESIDE, at_once, *words], capture_output=True, text=True, timeout=60, env=environment)


class Beside(unittest.TestCase):
    def setUp(self):
        self.work = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.work)

    def meet(self, own, other):
        """A line for bash: goes on when the other command is here, too; neither ends before the other began."""
        return f"touch {self.work}/{own}; until [ -e {self.work}/{other} ]; do sleep 0.01; done"

    def test_they_run_at_the_same_time_and_what_each_prints_is_in_one_piece(self):
        one = f"echo one 1; {self.meet('a', 'b')}; echo one 2 >&2; echo one 3"
        two = f"echo two 1; {self.meet('b', 'a')}; echo two 2; echo two 3 >&2"
        done = beside("one", one, "two", two)
        self.assertEqual(done.returncode, 0, done.stderr)
        pieces = ["one 1\none 2\none 3\n", "two 1\ntwo 2\ntwo 3\n"]
        self.assertIn(done.stdout, ["".join(pieces), "".join(reversed(pieces))])
        self.assertIn("== one: 0 min 0", done.stderr)

    def test_one_that_fails_fails_the_run_whichever_it_is(self):
        for statuses in ([3, 0], [0, 3]):
            done = beside("one", f"exit {statuses[0]}", "two", f"exit {statuses[1]}")
            self.assertEqual(done.returncode, 3, statuses)
            self.assertEqual(done.stderr.count(", exit 3\n"), 1)

    def test_one_that_fails_lets_the_others_end(self):
        other = f"until [ -e {self.work}/failed ]; do sleep 0.01; done; sleep 0.2; echo whole"
        done = beside("one", f"touch {self.work}/failed; exit 1", "two", other)
        self.assertEqual((done.returncode, done.stdout), (1, "whole\n"))

    def test_one_that_is_killed_fails_the_run(self):
        self.assertEqual(beside("one", "kill -9 $$", "two", "true").returncode, 137)

    def test_what_runs_is_told_now_and_then(self):
        done = beside("one", "sleep 0.5", "two", "true", interval="0.1")
        self.assertIn("still running: one 0 min 00 s\n", done.stderr)

    def test_no_more_run_at_once_than_it_is_told(self):
        alone = f"mkdir {self.work}/here && sleep 0.2 && rmdir {self.work}/here"
        self.assertEqual(beside("one", alone, "two", alone, "three", alone, at_once="1").returncode, 0)
        third = f"[ -e {self.work}/a ]"
        self.assertEqual(beside("one", self.meet("a", "b"), "two", self.meet("b", "a"), "three", third).returncode, 0)

    def test_without_a_command_for_each_name_nothing_runs(self):
        self.assertEqual(beside("one", f"touch {self.work}/ran", "two").returncode, 2)
        self.assertEqual(beside("one", f"touch {self.work}/ran", at_once="0").returncode, 2)
        self.assertFalse((self.work / "ran").exists())

    def test_its_end_is_theirs(self):
        pid = self.work / "pid"
        line = f"sleep 600 & echo $! >{pid}.new; mv {pid}.new {pid}; wait"
        running = subprocess.Popen([BESIDE, "1", "one", line], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not pid.exists():
            self.assertIsNone(running.poll())
            time.sleep(0.01)
        running.send_signal(signal.SIGTERM)
        self.assertEqual(running.wait(timeout=60), 143)
        sleeper = Path("/proc") / pid.read_text().strip() / "stat"
        # Its parent is gone: it may be left as a zombie.
        until = time.monotonic() + 60
        while sleeper.exists() and sleeper.read_text().rsplit(")", 1)[1].split()[0] != "Z":
            self.assertLess(time.monotonic(), until, "it still runs")
            time.sleep(0.01)


class Clients(unittest.TestCase):
    def run_with(self, **statuses):
        """Runs clients/run with parts that only end with a status."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "scripts").mkdir()
            shutil.copy(BESIDE, root / "scripts")
            self.script(root / "scripts" / "setup", "true")
            (root / "clients").mkdir()
            shutil.copy(ROOT / "clients" / "run", root / "clients")
            self.script(root / "clients" / "python" / "run", f"echo python; exit {statuses.get('python', 0)}")
            self.script(root / "clients" / "python" / "venv", "true")
            lines = [f"{lane}) echo {lane}; exit {statuses.get(lane, 0)} ;;" for lane in LANES]
            self.script(root / "clients" / "java" / "run", f'case "$*" in {" ".join(lines)} esac; exit 99')
            environment = {**os.environ, "O3_BIN": "/bin/true"}
            done = subprocess.run([root / "clients" / "run"], capture_output=True, text=True, env=environment, timeout=60)
            return done.returncode, sorted(done.stdout.split())

    def script(self, path, text):
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/usr/bin/env bash\n{text}\n")
        path.chmod(0o755)

    def test_a_part_that_fails_fails_the_run(self):
        parts = sorted(["python", *LANES])
        self.assertEqual(self.run_with(), (0, parts))
        for part in parts:
            self.assertEqual(self.run_with(**{part: 4}), (4, parts), part)


if __name__ == "__main__":
    unittest.main()
