"""What goes wrong in a round, on which nodes, and how it is undone."""

from cluster import Failed, wait_for
from network import CLIENT

# How long a victim is away, in seconds; a path that is cut is so for longer, because connections take time to notice.
AWAY, CUT = (1.5, 4.0), (2.0, 8.0)
# Within this time all nodes must be back after a fault.
BACK_WITHIN = 60

ROLES = [("om", "leader"), ("om", "follower"), ("scm", "leader"), ("scm", "follower"), ("datanode", "any")]
# One of these happens each round; when all have happened they are shuffled again.
PROCESSES = [(how, role, part) for how in ("kill", "stop") for role, part in ROLES]
PROCESSES += [("kill", "om", "leader"), ("kill", "datanode", "any")]
GATEWAYS = [("kill", "gateway", "any"), ("stop", "gateway", "any")]
# cut: no node hears it, it hears none. parted: as cut, but clients still reach it: a leader that does not know that it no
# longer is one. mute, deaf: the same in one direction, among servers. late, lossy: its packets come 50 to 150 ms late and
# out of order, or one of ten does not come. split: a minority of every role is parted from the rest.
PATHS = [(how, role, part) for how in ("cut", "parted", "mute", "deaf", "late", "lossy") for role, part in ROLES]
PATHS += [("split", "minority", "any")] * 2


def order(dice, rounds, faults):
    """So many faults in random order, each kind as often as any other; a short run has one OM leader kill at least."""
    chosen = []
    while len(chosen) < rounds:
        portion = faults[:]
        dice.shuffle(portion)
        chosen += portion
    chosen = chosen[:rounds]
    if ("kill", "om", "leader") in faults and ("kill", "om", "leader") not in chosen:
        chosen[0] = ("kill", "om", "leader")
    return chosen


def victims(cluster, role, part, dice):
    """The nodes that it happens to."""
    if role == "minority":
        return [dice.choice(cluster.oms), dice.choice(cluster.scms), *dice.sample(cluster.datanodes, 2)]
    if role in ("datanode", "gateway"):
        return [dice.choice(cluster.datanodes if role == "datanode" else cluster.gateways)]
    wait_for(f"a leader of {role}", BACK_WITHIN, lambda: cluster.leader(role))
    leader = cluster.leader(role)
    if leader is None:
        raise Failed(f"{role} has lost its leader by itself")
    others = [node for node in (cluster.oms if role == "om" else cluster.scms) if node is not leader]
    return [leader if part == "leader" else dice.choice(others)]


class Fault:
    """One fault, from its beginning to its end."""

    def __init__(self, cluster, fault, dice):
        self.cluster = cluster
        self.how, role, part = fault
        self.kind = f"{self.how} {role} {part}".removesuffix(" any")
        self.victims = victims(cluster, role, part, dice)
        self.away = dice.uniform(*(CUT if fault in PATHS else AWAY))

    def __str__(self):
        return " ".join(node.name for node in self.victims)

    def may_be_down(self):
        return self.victims if self.how == "kill" else []

    def _paths(self, outwards, inwards, client):
        """The paths between the victims and all others."""
        mine = [node.name for node in self.victims]
        others = [node.name for node in self.cluster.nodes if node not in self.victims]
        others += [CLIENT] if client else []
        pairs = [(one, other) for one in mine for other in others]
        return (pairs if outwards else []) + ([(b, a) for a, b in pairs] if inwards else [])

    def begin(self):
        network, target = self.cluster.network, self.victims[0]
        match self.how:
            case "kill":
                target.kill()
            case "stop":
                target.stop()
            case "cut":
                network.cut(self._paths(True, True, True))
            case "parted" | "split":
                network.cut(self._paths(True, True, False))
            case "mute":
                network.cut(self._paths(True, False, False))
            case "deaf":
                network.cut(self._paths(False, True, False))
            case "late":
                network.worsen(self._paths(True, True, True), 50, 100, 0.0)
            case "lossy":
                network.worsen(self._paths(True, True, True), 0, 1, 0.1)

    def end(self):
        match self.how:
            case "kill":
                self.victims[0].start()
            case "stop":
                self.victims[0].resume()
            case _:
                self.cluster.network.heal()
