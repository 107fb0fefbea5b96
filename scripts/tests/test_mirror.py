"""scripts/mirror: a folder is the same as the clone, and what was the same is left alone."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

MIRROR = Path(__file__).resolve().parents[1] / "mirror"


class Mirror(unittest.TestCase):
    def setUp(self):
        self.work = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.work)
        self.built = self.work / "built"
        self.folder = self.work / "folder"
        self.clone("clone")

    def clone(self, name):
        """A clone with a few files; further ones have the same files, as new ones."""
        self.source = self.work / name
        (self.source / "scripts").mkdir(parents=True)
        shutil.copy(MIRROR, self.source / "scripts" / "mirror")
        self.git("init", "--quiet")
        self.write("a/one.rs", "one")
        self.write("a/two.rs", "two")
        self.write(".gitignore", "ignored\n")
        self.write("ignored", "not copied")

    def git(self, *arguments):
        subprocess.run(["git", *arguments], cwd=self.source, check=True, stdout=subprocess.DEVNULL)

    def write(self, name, text):
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def mirror(self):
        subprocess.run(
            [self.source / "scripts" / "mirror", self.folder, self.built], check=True, stderr=subprocess.DEVNULL
        )
        return {
            str(path.relative_to(self.folder)): path.stat().st_mtime_ns
            for path in self.folder.rglob("*")
            if path.is_file() and path.name != ".git"
        }

    def test_another_clone_with_the_same_files_changes_no_time(self):
        before = self.mirror()
        self.assertEqual(set(before), {".gitignore", "a/one.rs", "a/two.rs", "scripts/mirror"})
        self.clone("another")
        self.assertEqual(self.mirror(), before)

    def test_what_differs_is_newer_than_what_was_built(self):
        before = self.mirror()
        # The clock was set back since: what was built is of tomorrow.
        self.built.touch()
        tomorrow = self.built.stat().st_mtime_ns + 86_400 * 10**9
        os.utime(self.built, ns=(tomorrow, tomorrow))
        self.write("a/one.rs", "another")
        after = self.mirror()
        self.assertGreater(after.pop("a/one.rs"), tomorrow)
        before.pop("a/one.rs")
        self.assertEqual(after, before)
        self.assertEqual((self.folder / "a/one.rs").read_text(), "another")

    def test_what_is_gone_goes(self):
        self.mirror()
        (self.source / "a/two.rs").unlink()
        (self.folder / "left").mkdir()
        (self.folder / "left" / "behind").write_text("by a test")
        self.assertEqual(set(self.mirror()), {".gitignore", "a/one.rs", "scripts/mirror"})
        self.assertFalse((self.folder / "left").exists())

    def test_files_become_folders_links_and_programs(self):
        self.write("b", "a file")
        self.mirror()
        (self.source / "b").unlink()
        self.write("b/inner", "a file in a folder")
        os.chmod(self.source / "a/one.rs", 0o755)
        (self.source / "a/two.rs").unlink()
        (self.source / "a/two.rs").symlink_to("one.rs")
        self.mirror()
        self.assertEqual((self.folder / "b/inner").read_text(), "a file in a folder")
        self.assertTrue(os.access(self.folder / "a/one.rs", os.X_OK))
        self.assertEqual(os.readlink(self.folder / "a/two.rs"), "one.rs")
        shutil.rmtree(self.source / "b")
        self.write("b", "a file again")
        self.mirror()
        self.assertEqual((self.folder / "b").read_text(), "a file again")

    def test_a_link_to_a_folder_becomes_a_folder(self):
        (self.source / "link").symlink_to("a")
        self.mirror()
        self.assertEqual(os.readlink(self.folder / "link"), "a")
        (self.source / "link").unlink()
        self.write("link/one.rs", "behind the link")
        self.mirror()
        self.assertFalse((self.folder / "link").is_symlink())
        self.assertEqual((self.folder / "link/one.rs").read_text(), "behind the link")
        self.assertEqual((self.folder / "a/one.rs").read_text(), "one")

    def test_a_repository_within_the_clone_is_left_out(self):
        self.write("nested/file", "of another repository")
        subprocess.run(["git", "init", "--quiet", str(self.source / "nested")], check=True)
        self.assertNotIn("nested/file", self.mirror())

    def test_git_in_the_folder_is_that_of_the_clone(self):
        self.git("add", "--all")
        self.git("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "-m", "test: begin")
        self.mirror()
        said = subprocess.run(
            ["git", "log", "--format=%s"], cwd=self.folder, check=True, stdout=subprocess.PIPE, text=True
        )
        self.assertEqual(said.stdout.strip(), "test: begin")


if __name__ == "__main__":
    unittest.main()
