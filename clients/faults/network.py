"""A network of namespaces on one bridge, in which any path can be cut or made bad, each direction for itself.

Every node has a namespace of its own with one address on the bridge; the judging process is on the bridge and is called CLIENT.
Addresses are resolved by fixed neighbour entries, and those are the switches: the entry that a node has for another one names
that one's station, one where nobody is (the packet is lost without a word), or the relay, which passes it on late, not at all
or out of order. The run is in a network namespace itself, so that nothing of this is seen from outside and all of it goes
with its processes.
"""

import atexit
import os
import subprocess
import sys
import time

CLIENT = "client"
PREFIX = "10.99.0."
NOWHERE = "02:ff:00:00:00:ff"
RELAY = "02:ff:00:00:00:01"
# So long a packet may take that is to come, on a machine that has much else to do, and so long one is waited for that is
# not to come, in seconds.
PATIENCE = {True: 20, False: 0.5}
HERE = os.path.dirname(os.path.abspath(__file__))


class NoNetwork(Exception):
    """This machine does not let us have such a network."""


def run(*command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode != 0:
        raise NoNetwork(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def station(address):
    """The hardware address of an address."""
    return "02:00:" + ":".join(f"{int(part):02x}" for part in address.split("."))


class Network:
    """All namespaces. Node 1 is the judging process."""

    def __init__(self):
        self.addresses = {CLIENT: PREFIX + "1"}
        self.holders = {}
        self.relay = None
        # (from, to) of the paths that are not as they should be.
        self.changed = set()
        atexit.register(self.end)
        if any(" lo " not in line for line in run("ip", "-o", "addr").splitlines()):
            raise NoNetwork("not in a network namespace of its own; start it by clients/faults/run")
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "net", "type", "bridge")
        run("ip", "link", "set", "net", "address", station(self.addresses[CLIENT]), "mtu", "9000", "up")
        run("ip", "addr", "add", self.addresses[CLIENT] + "/24", "dev", "net")

    def add(self, name):
        """A node; returns its address."""
        number = len(self.addresses) + 1
        address = PREFIX + str(number)
        # The namespace lives as long as somebody is in it.
        holder = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.holders[name] = holder
        if not holder.stdout.readline():
            raise NoNetwork(f"unshare --net: {holder.stderr.read().decode().strip()}")
        link = f"port{number}"
        run("ip", "link", "add", link, "mtu", "9000", "type", "veth", "peer", "name", "eth0", "mtu", "9000", "netns", str(holder.pid))
        run("ip", "link", "set", link, "master", "net", "up")
        self.addresses[name] = address
        commands = ["link set lo up", f"link set eth0 address {station(address)} up", f"addr add {address}/24 dev eth0"]
        commands += ["route add default dev eth0"]
        self._batch(name, commands)
        for other in self.addresses:
            if other != name:
                self._point(name, {other: station(self.addresses[other])})
                self._point(other, {name: station(address)})
        return address

    def enter(self, name):
        """What to put before a command that is to run at a node."""
        return [] if name == CLIENT else ["nsenter", f"--net=/proc/{self.holders[name].pid}/ns/net", "--"]

    def _batch(self, name, commands):
        run(*self.enter(name), "ip", "-batch", "-", text="\n".join(commands) + "\n")

    def _point(self, name, to):
        device = "net" if name == CLIENT else "eth0"
        self._batch(
            name,
            [f"neigh replace {self.addresses[other]} lladdr {where} dev {device} nud permanent" for other, where in to.items()],
        )

    def _paths(self, paths, where):
        by_sender = {}
        for sender, receiver in paths:
            by_sender.setdefault(sender, {})[receiver] = where or station(self.addresses[receiver])
        for sender, to in by_sender.items():
            self._point(sender, to)
        self.changed = self.changed - set(paths) if where is None else self.changed | set(paths)

    def cut(self, paths):
        """Packets on these paths, pairs of sender and receiver, vanish."""
        self._paths(paths, NOWHERE)

    def worsen(self, paths, delay_ms, jitter_ms, loss):
        """Packets on these paths come late, out of order, or not at all."""
        self.relay = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "relay.py"), RELAY, str(delay_ms), str(jitter_ms), str(loss)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        name = self.relay.stdout.readline().strip()
        if not name:
            raise NoNetwork("the relay did not start: is there /dev/net/tun?")
        run("ip", "link", "set", name, "master", "net", "mtu", "9000", "up")
        self.relay.stdin.write("go\n")
        self.relay.stdin.flush()
        self.relay.stdout.readline()
        self._paths(paths, RELAY)

    def heal(self):
        """All paths are as they should be."""
        self._paths(self.changed, None)
        self._end_relay()

    def _end_relay(self):
        if self.relay is not None:
            self.relay.kill()
            self.relay.wait()
            self.relay = None

    def prove(self, one, other):
        """Shows that packets go both ways, and that a cut, also of one way, and a delay are what they say they are."""
        expected = [
            ("whole", lambda: None, (True, True)),
            ("cut one way", lambda: self.cut([(one, other)]), (False, True)),
            ("cut", lambda: self.cut([(one, other), (other, one)]), (False, False)),
            ("healed", self.heal, (True, True)),
            ("lost at the relay", lambda: self.worsen([(other, one)], 0, 0, 1.0), (True, False)),
            ("healed again", self.heal, (True, True)),
            ("late at the relay", lambda: self.worsen([(one, other)], 200, 0, 0.0), (True, True)),
        ]
        for what, change, arrives in expected:
            change()
            began = time.monotonic()
            seen = (self._arrives(one, other, arrives[0]), self._arrives(other, one, arrives[1]))
            if seen != arrives:
                raise NoNetwork(f"{what}: packets arrive {seen}, not {arrives}")
            if "late" in what and time.monotonic() - began < 0.2:
                raise NoNetwork("the relay does not delay anything")
        self.heal()

    def _arrives(self, sender, receiver, expected):
        """Whether one packet gets from here to there, as it should or should not."""
        address = self.addresses[receiver]
        listen = (
            "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
            f"s.bind(('{address}', 9)); s.settimeout({PATIENCE[expected]}); print(flush=True); s.recv(9)"
        )
        send = f"import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('{address}', 9))"
        listener = subprocess.Popen(
            [*self.enter(receiver), sys.executable, "-I", "-S", "-c", listen], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        listener.stdout.readline()
        run(*self.enter(sender), sys.executable, "-I", "-S", "-c", send)
        return listener.wait() == 0

    def end(self):
        self._end_relay()
        for holder in self.holders.values():
            holder.kill()
            holder.wait()
        self.holders = {}
