"""Disks that the kernel limits to a number of bytes, or of reads, per second.

Each is a file system on a loop device over memory; the blkio throttle applies to this process and
its children. Needs root.
"""

import os
import shutil
import subprocess

THROTTLE = "/sys/fs/cgroup/blkio"


def run(*command):
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.strip()


class HeldDisks:
    def __init__(self, mounts, megabytes=None, reads=None):
        self.memory = f"/dev/shm/held-disks.{os.getpid()}"
        self.group = f"{THROTTLE}/held-disks.{os.getpid()}"
        self.loops = []
        os.makedirs(self.memory)
        os.makedirs(self.group)
        try:
            for number, mount in enumerate(mounts):
                self.add(f"{self.memory}/{number}", mount, megabytes, reads)
        except BaseException:
            self.end()
            raise
        with open(f"{self.group}/cgroup.procs", "w") as file:
            file.write(str(os.getpid()))

    def add(self, image, mount, megabytes, reads):
        run("truncate", "-s", "4G", image)
        loop = run("losetup", "-f", "--show", image)
        self.loops.append(loop)
        run("mkfs.ext4", "-q", "-E", "lazy_itable_init=1,lazy_journal_init=1", loop)
        os.makedirs(mount, exist_ok=True)
        run("mount", "-o", "discard,noinit_itable", loop, mount)
        os.rmdir(f"{mount}/lost+found")
        with open(f"/sys/block/{os.path.basename(loop)}/dev") as file:
            device = file.read().strip()
        limits = {}
        if megabytes:
            limits |= {f"{way}_bps": megabytes << 20 for way in ("read", "write")}
        if reads:
            limits["read_iops"] = reads
            # One access per chunk, rather than one per piece of it.
            run("blockdev", "--setra", "16384", loop)
        for limit, value in limits.items():
            with open(f"{self.group}/blkio.throttle.{limit}_device", "w") as file:
                file.write(f"{device} {value}")

    def end(self):
        with open(f"{THROTTLE}/cgroup.procs", "w") as file:
            file.write(str(os.getpid()))
        for loop in self.loops:
            subprocess.run(["umount", loop], capture_output=True)
            subprocess.run(["losetup", "-d", loop], capture_output=True)
        shutil.rmtree(self.memory, ignore_errors=True)
        os.rmdir(self.group)
