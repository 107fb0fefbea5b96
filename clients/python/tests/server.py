"""A server under test: `o3 server` in a process of its own, told ready by its own line."""

import json
import os
import queue
import signal
import subprocess
import threading

READY_WITHIN = 60


class Server:
    """`o3 server --dir DIR`; the directory outlives the process, so it can be killed and started again."""

    def __init__(self, directory, log, *arguments):
        self.directory = directory
        self.log = log
        self.arguments = arguments
        self.process = None
        self.ready = None

    def start(self):
        command = [os.environ["O3_BIN"], "server", "--dir", str(self.directory), "--json"]
        command += ["-D", "trioxide.server.ports=free", *self.arguments]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        self.ready = self._wait_for_ready()
        return self

    def _wait_for_ready(self):
        lines = queue.Queue()

        def read():
            for line in self.process.stdout:
                lines.put(line)
            lines.put(None)

        threading.Thread(target=read, daemon=True).start()
        while True:
            try:
                line = lines.get(timeout=READY_WITHIN)
            except queue.Empty:
                self.kill()
                raise AssertionError(f"not ready within {READY_WITHIN} s, see {self.log}")
            if line is None:
                raise AssertionError(f"ended before it was ready, see {self.log}:\n{self.tail()}")
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if event.get("event") == "ready":
                return event

    def tail(self):
        with open(self.log, errors="replace") as log:
            return "".join(log.readlines()[-20:])

    @property
    def endpoint(self):
        return self.ready["s3"]

    @property
    def access_key(self):
        return self.ready["access_key"]

    @property
    def secret_key(self):
        return self.ready["secret_key"]

    def kill(self):
        """As a power loss of the process: nothing gets a chance to tidy up."""
        self._end(signal.SIGKILL)

    def stop(self):
        """As an operator stops it; returns the exit status."""
        return self._end(signal.SIGTERM)

    def _end(self, how):
        if self.process is None:
            return None
        process, self.process = self.process, None
        process.send_signal(how)
        try:
            return process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError("did not stop within 30 s")
