"""scripts/unit: which tests get no second try, and when flaky tests fail a run."""

import contextlib
import importlib.machinery
import importlib.util
import io
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "unit"
LOADER = importlib.machinery.SourceFileLoader("unit", str(SCRIPT))
unit = importlib.util.module_from_spec(importlib.util.spec_from_loader("unit", LOADER))
LOADER.exec_module(unit)

SOURCE = """
#[test]
fn first() {
    if true {
    }
}

fn helper() {}

mod inner {
    #[tokio::test(flavor = "multi_thread")]
    #[cfg(unix)]
    async fn second() {
        helper();
    }
}
"""

REPORT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run">
  <testsuite name="om::om_tests">
    <testcase name="ha::one" classname="om::om_tests" timestamp="2026-11-28T18:00:00.000+00:00" time="1.5"/>
    <testcase name="ha::two" classname="om::om_tests" timestamp="2026-11-28T18:00:00.000+00:00" time="2.5">
      <flakyFailure timestamp="2026-11-28T18:00:00.000+00:00" time="1" message="m" type="test failure">
        <system-err>it was late</system-err>
      </flakyFailure>
    </testcase>
    <testcase name="ha::three" classname="om::om_tests" timestamp="2026-11-28T18:00:00.000+00:00" time="3.5">
      <failure message="m" type="test failure">text</failure>
    </testcase>
  </testsuite>
</testsuites>
"""


class FixedLoad:
    def at(self, _):
        return 7.0


def judged(flaky, before):
    with contextlib.redirect_stderr(io.StringIO()) as said:
        reasons = unit.judge([{"test": name, "load": 7.0} for name in flaky], before, "0123456789abcdef")
    return reasons, said.getvalue()


def earlier(*names, whole=True):
    return {"commit": "fedcba9876543210", "whole": whole, "flaky": [{"test": name} for name in names]}


class Flaky(unittest.TestCase):
    def test_two_in_a_run_are_told_of_and_three_fail_it(self):
        reasons, said = judged(["a", "b"], [])
        self.assertEqual(reasons, [])
        self.assertIn("FLAKY a (load 7.0, commit 0123456789ab): make unit TEST='a'", said)
        self.assertEqual(len(judged(["a", "b", "c"], [])[0]), 1)

    def test_the_same_twice_in_ten_runs_fails(self):
        nine = [earlier("a"), *[earlier()] * 8]
        self.assertEqual(len(judged(["a"], nine)[0]), 1)
        self.assertEqual(judged(["b"], nine)[0], [])
        self.assertEqual(judged(["a"], [*nine, earlier()])[0], [], "ten runs ago")
        few = [earlier(whole=False)] * 20
        self.assertEqual(len(judged(["a"], [*nine, *few])[0]), 1, "runs of some tests do not count")

    def test_a_report_tells_failed_from_flaky(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(REPORT)
            file.flush()
            tests, failed, flaky = unit.read_report(file.name, FixedLoad())
        self.assertEqual(len(tests), 3)
        self.assertEqual(failed, ["om::om_tests ha::three"])
        self.assertEqual(flaky, [{"test": "om::om_tests ha::two", "load": 7.0, "said": "it was late"}])


class Changed(unittest.TestCase):
    def test_tests_have_the_lines_from_their_attribute_to_their_end(self):
        self.assertEqual(unit.tests_of(SOURCE), [("first", 2, 6), ("second", 11, 15)])

    def test_a_test_that_a_macro_names_hides_none(self):
        source = "#[test]\nfn $name() {\n}\n\n#[test]\nfn third() {\n}\n"
        self.assertEqual(unit.tests_of(source), [("third", 5, 7)])

    def test_they_are_found_whatever_the_settings_of_git_are(self):
        with tempfile.TemporaryDirectory() as directory:
            self.addCleanup(setattr, unit, "ROOT", unit.ROOT)
            unit.ROOT = Path(directory)

            def git(*arguments):
                who = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
                subprocess.run(["git", *who, *arguments], cwd=directory, check=True, stdout=subprocess.DEVNULL)

            git("init", "--quiet")
            source = Path(directory, "a.rs")
            source.write_text(SOURCE)
            git("add", "--all")
            git("commit", "--quiet", "-m", "test: begin")
            for setting in ("diff.noprefix", "diff.mnemonicPrefix"):
                git("config", setting, "true")
            git("config", "color.ui", "always")
            source.write_text(SOURCE.replace("helper();", "helper(); helper();"))
            self.assertEqual(unit.changed_tests("HEAD"), {"second"})
            self.assertIsNone(unit.changed_tests("0123456789"), "there is no such commit")
            self.assertIsNone(unit.changed_tests(None))

    def test_they_get_no_second_try_whatever_their_group(self):
        for names, expected in [({"first", "second"}, "test(/(^|::)(first|second)$/)"), (None, "all()")]:
            with tempfile.TemporaryDirectory() as directory:
                unit.TARGET = Path(directory)
                text = unit.config(names).read_text()
            # The first override that says something wins.
            first, *others = text.split("[[profile.default.overrides]]")[1:]
            self.assertEqual(first.strip(), f"filter = '{expected}'\nretries = 0")
            self.assertTrue(any("retries = 1" in override for override in others))

    def test_a_failure_is_repeated_by_its_name(self):
        self.assertEqual(unit.expression("om::om_tests ha::one"), "binary_id(om::om_tests) & test(ha::one)")
        self.assertEqual(unit.expression("om::om_tests "), "binary_id(om::om_tests)")
        self.assertEqual(unit.expression("ha::"), "test(ha::)")


if __name__ == "__main__":
    unittest.main()
