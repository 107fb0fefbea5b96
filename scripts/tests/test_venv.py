"""clients/python/venv: calls at the same time make one environment, and each gets a whole one."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / "clients" / "python" / "venv"

# In the place of python3: `-m venv DIR` makes a directory with a pip that takes until a file is there.
PYTHON = """#!/usr/bin/env bash
set -euo pipefail
echo begun >> "$WORK/made"
mkdir -p "$3/bin"
cat > "$3/bin/pip" <<'PIP'
#!/usr/bin/env bash
touch "$WORK/installing"
until [ -e "$WORK/go" ]; do sleep 0.01; done
[ ! -e "$WORK/fails" ] || exit 1
touch "$(dirname "$0")/tool"
PIP
chmod +x "$3/bin/pip"
"""


class Venv(unittest.TestCase):
    def setUp(self):
        self.work = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.work)
        programs = self.work / "programs"
        programs.mkdir()
        (programs / "python3").write_text(PYTHON)
        (programs / "python3").chmod(0o755)
        self.requirements = self.work / "requirements.txt"
        self.requirements.write_text("a==1\n")
        path, cache = f"{programs}:{os.environ['PATH']}", str(self.work / "cache")
        self.environment = {**os.environ, "PATH": path, "XDG_CACHE_HOME": cache, "WORK": str(self.work)}

    def begin(self):
        process = subprocess.Popen(
            [VENV, self.requirements], env=self.environment, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        """Ends a call and what it began, also after a test that failed."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.communicate()

    def until(self, what, holds):
        until = time.monotonic() + 120
        while not holds():
            self.assertLess(time.monotonic(), until, what)
            time.sleep(0.01)

    def ended(self, process):
        """Where it says that the environment is, and whether that was whole."""
        said, _ = process.communicate(timeout=120)
        return process.returncode, (Path(said.strip()) / "bin" / "tool").exists()

    def waits_for_lock(self, process):
        """Whether the call is in flock, its child: what it waits for is the lock alone."""
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        names = [Path(f"/proc/{child}/comm").read_text().strip() for child in children]
        return names == ["flock"]

    def made(self):
        return (self.work / "made").read_text().count("begun")

    def test_a_call_waits_for_one_that_makes_it_and_makes_none_itself(self):
        first = self.begin()
        self.until("it installs", (self.work / "installing").exists)
        second = self.begin()
        is_past = lambda: second.poll() is not None or self.made() > 1
        self.until("the other one waits", lambda: is_past() or self.waits_for_lock(second))
        self.assertFalse(is_past(), "it did not wait for the environment")
        (self.work / "go").touch()
        self.assertEqual([self.ended(first), self.ended(second)], [(0, True), (0, True)])
        self.assertEqual(self.made(), 1)

    def test_one_that_failed_is_made_anew(self):
        for name in ("go", "fails"):
            (self.work / name).touch()
        self.assertEqual(self.ended(self.begin())[0], 1)
        (self.work / "fails").unlink()
        self.assertEqual(self.ended(self.begin()), (0, True))
        self.assertEqual(self.made(), 2)
        self.assertEqual(self.ended(self.begin()), (0, True))
        self.assertEqual(self.made(), 2, "one that is whole is kept")


if __name__ == "__main__":
    unittest.main()
