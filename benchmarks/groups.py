"""What run.py measures: groups of figures, each printed by one short run of a program."""

import os
from dataclasses import dataclass, field

from libraries import BARE, CORES

KIB, MIB = 1 << 10, 1 << 20
LARGEST = 4 * MIB
# Where the send and the receive buffer begin behind a page.
OFFSETS = ["0/0", "16/16", "64/2048", "16/0", "1/3"]
# Up to here latency is measured at these offsets.
LARGEST_AT_OFFSETS = 64 * KIB
KINDS = ["same", "fresh", "const", "owned", "malloc"]
COLLECTIVES = ["barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall", "gather"]
ROOTED = ["bcast", "reduce", "gather"]
NEIGHBORS = ["neighbor-alltoall", "neighbor-allgather", "neighbor-ialltoall", "neighbor-persistent", "neighbor-by-hand"]
# What communicators.c makes; each name also with "-used" behind it.
CONSTRUCTORS = ["dup", "split", "split_type", "create", "cart", "cart-reorder", "graph", "dist_graph"]
# Each with MPI_Wait.
NONBLOCKING = ["ibarrier", "ibcast", "ireduce", "iallreduce", "iallgather", "ialltoall"]
# The ways in which collectives are called: see collective.c.
MODES = ["back", "fixed", "sync", "unequal"]
SIZES = [8 << power for power in range(14)]
# Parts of the layouts of pack.c that one run measures.
TYPED_PARTS = 20
# Sides of matrices that are transposed.
SIDES = [1024, 2048]
# Seconds for which a library starts and ends a job, by its ranks: the mean of all, for the forecast of the whole time.
STARTS = {1: 0.3, 2: 0.4, 4: 0.5, 8: 0.8, 256: 20}
PINNED = "pin=" + ",".join(str(core) for core in sorted(os.sched_getaffinity(0)))


@dataclass
class Group:
    """Figures that one program run prints."""

    name: str
    program: str
    arguments: list
    ranks: int
    limit: float = 25
    of_peers: list = None  # arguments of the peers, where only their part of the figures is needed
    settings: dict = field(default_factory=dict)
    own: bool = False  # compares ways of Towpath with each other
    bare: bool = False  # two copies without a library take part
    rounds: int = 99  # at most
    phased: bool = True  # short enough for one speed of the machine: rounds with several are repeated
    seconds: float = 0.5  # of a run without start and end, about

    def expected(self, taking_part):
        """Seconds of one round, about."""
        start = STARTS.get(self.ranks, self.ranks / 8)
        return sum(self.seconds + (0 if library.name == BARE else start) + 0.03 for library in taking_part)


def point_to_point():
    """Messages between two pinned ranks."""
    def group(name, first, last, **more):
        suffix = f"-{first}" if name == "bandwidth" else ""
        return Group(name + suffix, "point_to_point", [name, first, last, PINNED], 2, **more)

    found = [group("latency", 0, LARGEST), group("bandwidth", 1, 64 * KIB), group("bandwidth", 128 * KIB, LARGEST, seconds=1)]
    found += [group(f"latency@{offsets}", 0, LARGEST_AT_OFFSETS, bare=True) for offsets in OFFSETS]
    settings = {"malloc": {"TOWPATH_MALLOC": "1"}}
    found += [group(f"{measure}-{kind}", 16 * KIB, LARGEST, settings=settings.get(kind, {}), seconds=1)
              for kind in KINDS for measure in ("latency", "bandwidth")]
    found += [group(name, 16 * KIB, LARGEST) for name in ("exchange", "exchange-owned")]
    return found + [group(name, MIB, MIB) for name in ("overlap", "overlap-owned")]


def pieces(names, ranks):
    """Names of collectives that one run measures: with more ranks than cores each figure takes longer."""
    each = 4 if ranks <= CORES else 2
    return [names[at:at + each] for at in range(0, len(names), each)]


def collectives(ranks):
    """Every collective in every mode, and exchanges of whole jobs; pinned where each rank has a core."""
    found, pinned = [], [PINNED] if ranks <= CORES else []
    for mode in MODES:
        for names in pieces(ROOTED if mode == "fixed" else COLLECTIVES, ranks):
            budget = 0.008 if ranks <= CORES else 0.02
            found.append(Group(f"collectives-{mode}-{ranks}-{names[0]}", "collective", [mode, budget, ",".join(names), *SIZES, *pinned], ranks,
                               seconds=0.8))
    found.append(Group(f"neighbors-{ranks}", "collective", ["back", 0.02, ",".join(NEIGHBORS), 8, 1024, 16384, *pinned], ranks))
    words = ["back", 0.02, ",".join(NONBLOCKING), 8, KIB, 16 * KIB, 256 * KIB, *pinned]
    found.append(Group(f"nonblocking-{ranks}", "collective", words, ranks))
    found.append(Group(f"halo-{ranks}", "halo", [0.02, KIB, 16 * KIB, *pinned], ranks))
    found.append(Group(f"communicators-{ranks}", "communicators", [0.02, *pinned], ranks))
    found += [Group(f"transpose-{ranks}-{side}", "transpose", [side, 5, *pinned], ranks, seconds=1) for side in SIDES]
    return found


def long_collectives(ranks):
    """Collectives of long vectors and blocks."""
    pinned = [PINNED] if ranks <= CORES else []
    sizes = [size * KIB for size in (128, 512, 1024, 4096)]
    names = [*COLLECTIVES[1:], "scatter", "reduce-scatter"]
    words = {name: ["back", 0.05, name, *sizes, *pinned] for name in names}
    return [Group(f"long-{ranks}-{name}", "collective", words[name], ranks, limit=120, seconds=2)
            for name in names]


def typed():
    """Messages with gaps, a few layouts in each run. Ways to pack are compared with each other for Towpath only."""
    found = []
    for part in range(TYPED_PARTS):
        which = ["", f"{part}/{TYPED_PARTS}", PINNED]
        found.append(Group(f"typed-{part}", "pack", ["messages", *which], 2, of_peers=["typed", *which]))
    return found


def crowded(ranks):
    """More ranks than cores, unpinned; runs are too long for one speed of the machine."""
    found = [Group(f"collectives-{ranks}", "collective", ["back", 0.05, ",".join(COLLECTIVES), 8, 4096, 65536], ranks, limit=200, seconds=5),
             Group(f"neighbors-{ranks}", "collective", ["back", 0.05, ",".join(NEIGHBORS), 8, 1024, 16384], ranks, limit=200, seconds=3)]
    found.append(Group(f"communicators-{ranks}", "communicators", [0.05], ranks, limit=200, seconds=5))
    found += [Group(f"crowd-{kind}", "crowd", [kind, size, "0.3"], ranks, limit=120) for kind, size in (("ring", 1024), ("halo", 1024), ("pair", 8))]
    fixed = {"TOWPATH_ARENA_BYTES": "131072", "TOWPATH_HOT_SENDS": "0"}
    found += [Group(f"topology-{kind}", "topology", [kind, 16384, 8, 2000], ranks, limit=300, settings=fixed, own=True, seconds=5)
              for kind in ("declared", "undeclared", "changing")]
    found += [Group(f"halo-memory-{many}", "memory", ["halo"], many, limit=120) for many in (ranks, 256)]
    found.append(Group("busy-8", "busy", ["0.5"], 8, limit=120, seconds=3))
    return found


def gathers():
    """Gathers from more and more ranks than cores, to one root and to one after another; short calls
    of very many ranks."""
    def group(name, ranks, mode, *arguments):
        words = [mode, 0.05, *arguments]
        return Group(f"{name}-{ranks}-{mode}", "collective", words, ranks, limit=120, seconds=1)

    found = []
    for ranks in (8, 16, 48, 64, 128, 256):
        modes = ["fixed", "back", *(["fixed-sync"] if ranks in (48, 256) else [])]
        found += [group("gather", ranks, mode, "gather", 8, 4096, 65536) for mode in modes]
    return [*found, group("short", 256, "back", "barrier,bcast,allreduce", 8)]


def whole_jobs(crowd):
    """What a job costs that does nothing, what it costs while it waits, and packing in one process."""
    found = [Group(f"start-{ranks}", "start", [], ranks, limit=120, rounds=3 if ranks > crowd else 99, seconds=0) for ranks in (2, 8, crowd, 256)]
    found += [Group(f"memory-{ranks}", "memory", [], ranks, limit=120) for ranks in (2, 8, crowd)]
    found += [Group("idle", "idle", ["5"], 2, seconds=3), Group("pack", "pack", ["memory", "", "0/1", PINNED], 1, limit=300, seconds=8)]
    return found


def first_messages():
    """The first messages of a pair, and what the later ones take."""
    sizes = [size * KIB for size in (2, 4, 8, 16, 64, 128)]
    kinds = ("declared", "strangers")
    return [Group(f"first-{kind}-{size}", "first", [kind, size], 2) for size in sizes for kind in kinds]


def groups(crowd):
    """Everything. What is too long for one speed of the machine has few rounds."""
    long = crowded(crowd) + gathers() + whole_jobs(crowd)
    long += [group for ranks in (2, 4, 8) for group in long_collectives(ranks)]
    for group in long:
        group.phased = False
        group.rounds = min(group.rounds, 3 if group.ranks >= crowd else 5)
    short = [group for ranks in (2, 4, 8) for group in collectives(ranks)]
    return [*point_to_point(), *first_messages(), *short, *typed(), *long]
