"""The networks of hosts.py: their hosts and links, who is measured on them, and what."""

import re
from dataclasses import dataclass

import bars

# The root of a gather on a coprocessor: behind a slow link, with a fifth of a core for all ranks.
SLOW_LINK, WEAK_ROOT = "host0=1gbit", "host0=1000/5000"
BITS = {"gbit": 1e9, "mbit": 1e6}
ROOT_SIZES = (8, 1024, 4096, 16384, 65536)
ROOT_NETWORKS = {
    "gather-slow-link": "root behind 1 Gbit/s",
    "gather-weak-root": "root's host has a fifth of a core",
    "gather-weak-root-slow-link": "root behind 1 Gbit/s with a fifth of a core",
}
# Bytes of all ranks together, where a link bounds a gather.
TOTALS = (65536, 262144, 1048576)
PAIR = ["latency:1", "latency:1024", "latency:8192", "latency:65536", "latency:1048576",
        "bandwidth:1048576", "rate:1024"]
EVERY_SIZE = [f"latency:{size}" for size in bars.SIZES]
TO_ALL = [*(f"{what}:{size}" for size in (65536, 8192, 1024)
            for what in ("broadcast", "unicasts")), "barrier:0", "allreduce:8", "allreduce:32768"]
OWN = "^(towpath|before)$"
EVERYBODY = ("towpath|before|mpich|mpich-unthrottled|openmpi|openmpi-without-han|intel|"
             "intel-yields")


@dataclass
class Network:
    """Hosts and their links, and what is measured on them."""

    name: str
    options: str
    figures: list
    who: str = "^(?!towpath$|forced-linear$|openmpi-without-han$)"
    ranks: int = 2
    hosts: int = 2
    anew: bool = False  # made again for each run, because something happens to it
    pinned: bool = True
    rounds: int = 9  # unless others are asked for
    # How ranks lie on hosts: in blocks of the same or of unequal lengths, or cyclic, which is rank
    # r on host r modulo the number of hosts.
    mapping: str = "block"
    collectives: bool = False  # `figures` are arguments of benchmarks/collective.c
    seconds: int = 70  # longest run

    def places(self):
        """The number of ranks on each host; an unequal mapping has 3, 1, 2 and 2 on four hosts."""
        each = self.ranks // self.hosts
        if self.mapping != "unequal":
            return [each] * self.hosts
        return [each * (3, 1, 2, 2)[place % 4] // 2 for place in range(self.hosts)]

    def last_of_first_host(self):
        """The highest rank of the first host."""
        place = self.places()[0] - 1
        return place * self.hosts if self.mapping == "cyclic" else place

    def slow_rate(self):
        """Bits per second of the first host's link where that is slow, or None."""
        found = re.search(r"--slow host0=(\d+)([gm]bit)", self.options)
        return found and int(found[1]) * BITS[found[2]]


def clusters(name, hosts, ranks, pinned=False, mapping="block"):
    """Collectives of many ranks, each after a barrier, by links without limit and of 10 Gbit/s."""
    long = ["bcast", "reduce", "allreduce", "gather", "scatter", "reduce-scatter", "scan",
            "iallreduce"]
    short = ["barrier", *long, "allgather", "alltoall", "ialltoall"]
    forced = "|towpath-tcp|towpath-clic" if pinned else ""
    for rate, options in ("", ""), ("-10gbit", " --rate 10gbit"):
        for suffix, some, sizes in ("", short, [8, 1024, 32768]), ("-1mib", long, [1 << 20]):
            yield Network(
                f"cluster-{name}{suffix}{rate}", f"--hosts {hosts}{options}",
                ["span", "0.06", ",".join(some), *map(str, sizes), "until=2"],
                f"^({EVERYBODY}{forced})$", ranks=ranks, hosts=hosts, pinned=pinned,
                mapping=mapping, rounds=1, collectives=True, seconds=60)


def slow_root(name, options, ranks=64,
              who="^(towpath|before|mpich|openmpi|intel|mpich-unthrottled|intel-yields)$"):
    """Gathers to a host that is slower than the others, each after a barrier."""
    return Network(
        f"gather-{name}", f"--hosts 8 {options}",
        ["fixed-span", "0.3", "nothing,gather", *map(str, ROOT_SIZES), "until=2"],
        who, ranks=ranks, hosts=8, pinned=False, rounds=1, collectives=True, seconds=100)


def slow_links():
    """Gathers of so many bytes in all to a host behind a slow link: some hosts, ranks, mappings,
    and two roots on that host. Towpath alone."""
    for hosts, ranks in (4, 8), (8, 8), (4, 64), (8, 64), (4, 256), (8, 256):
        each = ranks // hosts
        for mapping in ("block", "cyclic", "unequal") if each > 1 else ("block",):
            suffix = "" if mapping == "block" else f"-{mapping}"
            network = Network(f"link-{hosts}x{each}{suffix}", f"--hosts {hosts} --slow {SLOW_LINK}",
                              [], OWN, ranks=ranks, hosts=hosts, pinned=False, rounds=1,
                              mapping=mapping, collectives=True)
            sizes = [str(total // ranks) for total in TOTALS]
            root = network.last_of_first_host()
            for at in (0, root) if root else (0,):
                name = network.name + (f"-root{at}" if at else "")
                figures = ["fixed-span", "0.3", "nothing,gather", *sizes, "until=2", f"root={at}"]
                yield Network(**{**vars(network), "name": name, "figures": figures})


def link_bound(rate):
    """Long collectives with one slow host."""
    return Network(f"link-8x1-long-{rate}", f"--hosts 8 --slow host0={rate}",
                   ["fixed-span", "0.3", "nothing,bcast,allreduce", str(1 << 20), "until=2"], OWN,
                   ranks=8, hosts=8, pinned=False, rounds=3, collectives=True)


def traffic(ranks):
    """What crosses the slow link in both directions: vectors, and one block of each rank."""
    options = f"--hosts 8 --slow {SLOW_LINK}"
    for what, names, sizes in (
            ("vectors", "barrier,bcast,reduce,allreduce,scan,ibcast,ireduce,iallreduce",
             (8, 1024, *TOTALS)),
            ("blocks", "gather,scatter,allgather,alltoall,reduce-scatter,iallgather,ialltoall",
             (8, *(total // ranks for total in TOTALS)))):
        yield Network(f"traffic-8x{ranks // 8}-{what}", options,
                      ["traffic", "0", names, *map(str, sizes)], OWN, ranks=ranks, hosts=8,
                      pinned=False, rounds=1, collectives=True, seconds=240)


NETWORKS = [
    Network("1500", "--mtu 1500", PAIR),
    Network("9000", "--mtu 9000", PAIR),
    # What a program gets that chooses nothing.
    *(Network(name, f"--mtu {mtu}", EVERY_SIZE, "^towpath$|mpich|^openmpi(-cubic)?$|intel",
              pinned=pinned)
      for name, (mtu, pinned) in bars.DEFAULT.items()),
    Network("gigabit", "--rate 1gbit", ["bandwidth:1048576"], "towpath-|bare"),
    Network("two-gigabits", "--rate 1gbit --rails 2", ["bandwidth:1048576"], "towpath-|bare"),
    Network("dying", "--rate 1gbit --rails 2 --kill-rail 1 --after 2", ["whole:4"], "towpath-",
            anew=True, rounds=3),
    Network("lossy", "--rate 1gbit --kernel-loss 1", ["bandwidth:1048576"], "towpath-clic"),
    Network("eight", "--hosts 8 --mtu 9000", TO_ALL, "towpath-", ranks=8, hosts=8),
    # A rank of Intel MPI takes 120 MB: 256 of them are more than the machine has, and what the
    # system ends then may be anything.
    *clusters("8x1", 8, 8),
    *clusters("8x1-pinned", 8, 8, pinned=True),
    *clusters("8x8", 8, 64),
    *clusters("6x8-cyclic", 6, 48, mapping="cyclic"),
    slow_root("slow-link", f"--slow {SLOW_LINK}"),
    slow_root("weak-root", f"--weak {WEAK_ROOT}"),
    slow_root("weak-root-slow-link", f"--slow {SLOW_LINK} --weak {WEAK_ROOT}"),
    slow_root("weak-root-slow-link-256", f"--slow {SLOW_LINK} --weak {WEAK_ROOT}", ranks=256,
              who="^(towpath|before|forced-linear)$"),
    *slow_links(),
    # Where the processors of one machine cannot fill a link of 1 Gbit/s, the slower one shows it.
    link_bound("1gbit"),
    link_bound("200mbit"),
    *traffic(8),
    *traffic(64),
    Network("start", "--hosts 8", ["start"], "towpath-|^mpich$", ranks=256, hosts=8, pinned=False,
            rounds=3),
]
