#!/usr/bin/env python3
"""Are collectives right, whichever ranks share a host, and whatever the topology file says?
tests/mpi/collectives/mixture draws forms, operations, types, roots, lengths and communicators. Each
row runs it several times: in turns as its name says, and with a random topology file.

    mappings.py --prefix DIRECTORY   with an installed Towpath (bin, lib); all rows
    mappings.py --filter REGEX       only some of the rows
    mappings.py --batches N          this many batches of up to 12 calls in each row
    mappings.py --seed N             other draws
"""

import argparse
import os
import random
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import environments  # noqa: E402
import hosts  # noqa: E402
import rows  # noqa: E402


@dataclass
class Row:
    """A job: its hosts, its ranks, and how they are mapped."""

    name: str
    hosts: int
    ranks: int
    each: tuple = ()  # ranks of each host, before the list starts over; () divides them evenly
    by_node: bool = False
    network: str = "tcp"
    slower: int = 1  # so many times fewer batches
    slow: str = ""  # the hosts that the topology file says to be behind slow links


ROWS = [
    Row("consecutive ranks", 3, 9),
    Row("cyclic", 3, 8, by_node=True),
    Row("unequal", 3, 9, each=(1, 6, 2)),
    Row("alone on its host", 2, 6, each=(5, 1)),
    Row("the list starts over", 3, 11, each=(2, 1, 1)),
    Row("more than a star", 2, 20, each=(12, 8), slower=8),
    Row("frames", 3, 7, each=(3, 1, 3), network="clic"),
    Row("one rank on each host", 4, 4),
    Row("the first host is slow", 3, 7, each=(3, 2, 2), slow="host0"),
    Row("two slow hosts of four", 4, 4, slow="host[1-2]"),
    Row("four hosts", 4, 9, each=(2, 1, 4, 2)),
    Row("four hosts, cyclic", 4, 10, by_node=True),
]
LIMIT = 150
# So many batches have the same topology file at most.
BATCHES_OF_A_FILE = 500
SECONDS_PER_BATCH = 0.5
TOPOLOGY = """[default]
rate = "10Gbit"

[[link]]
hosts = "{slow}"
rate = "1Gbit"
"""


def random_topology(seed, hosts):
    """The text of a topology file with random links, groups, leaders and processors."""
    draw = random.Random(seed)

    def link():
        rate = draw.choice(["10Mbit", "1Gbit", "10Gbit"])
        half_duplex = draw.choice(["true", "false"])
        latency = draw.choice(["5us", "100us", "10ms"])
        return f'rate = "{rate}"\nlatency = "{latency}"\nhalf_duplex = {half_duplex}\n'

    names = [f"host{number}" for number in range(hosts)]
    text = f"[default]\n{link()}"
    for name in names:
        if draw.random() < 0.3:
            text += f'[[link]]\nhosts = "{name}"\n{link()}'
        leads = draw.choice(["true", "true", "false"])
        speed = draw.choice([1, 1, 0.1])
        text += f'[[host]]\nhosts = "{name}"\nleads = {leads}\nprocessor = {speed}\n'
    draw.shuffle(names)
    racks = [members for members in (names[:2], names[2:]) if members]
    for rack, members in enumerate(racks):
        text += f'[[group]]\nname = "rack{rack}"\nhosts = "{",".join(members)}"\n{link()}'
    if draw.random() < 0.5:
        text += f'[[group]]\nname = "site"\ngroups = ["rack0"]\n{link()}'
    return text


def inside(prefix, binary, row, topology, arguments):
    """On the first host: becomes the job."""
    names = os.environ["HOSTS_NAMES"].split(",")
    if row.each:
        names = [f"{name}:{ranks}" for name, ranks in zip(names, row.each)]
    options = ["-bynode"] if row.by_node else []
    options += ["--topology", topology] if topology else []
    options += ["--launcher", f"{os.environ['HOSTS_RUN']} {{host}}"]
    command = [prefix / "bin/mpiexec", "-n", row.ranks, "--hosts", ",".join(names), *options]
    words = [str(word) for word in [*command, binary, *arguments]]
    os.execv(words[0], words)


def run_part(prefix, binary, row, seed, batches, topology):
    """Problems of a part of a row, whose topology file has this text (None: there is none)."""
    command = [sys.executable, HERE / "hosts.py", "--hosts", row.hosts, "--", sys.executable]
    command += [__file__, "--prefix", prefix, "--binary", binary, "--inside", row.name]
    command += ["--seed", seed, "--batches", batches]
    settings = {"TOWPATH_NETWORK": row.network}
    limit = LIMIT + SECONDS_PER_BATCH * batches
    with tempfile.TemporaryDirectory() as directory:
        if topology:
            file = Path(directory) / "topology.toml"
            file.write_text(topology)
            command += ["--topology", file]
        return rows.job(command, settings, row.ranks, limit)


def run_row(prefix, binary, row, seed, batches):
    """Problems of a row (None: not tested here), why it was not tested, and the job's output."""
    parts = max(2, -(-batches // BATCHES_OF_A_FILE))
    for part in range(parts):
        drawn = seed * 1000 + part
        own = TOPOLOGY.format(slow=row.slow) if row.slow else None
        topology = random_topology(drawn, row.hosts) if part % 2 else own
        problems, why, output = run_part(
            prefix, binary, row, drawn, -(-batches // parts), topology
        )
        if problems:
            files = ["topology file:", topology or "none"]
            return [*problems, f"in part {part}, mixture's seed {drawn}", *files], "", output
        if problems is None:
            break
    return problems, why, output


def main():
    parser = rows.parser(__doc__)
    parser.add_argument("--batches", type=int, default=48)
    parser.add_argument("--seed", type=int, default=1)
    for inner in ("--binary", "--inside", "--topology"):
        parser.add_argument(inner, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        row = next(row for row in ROWS if row.name == options.inside)
        arguments = [options.seed, options.batches]
        return inside(options.prefix, options.binary, row, options.topology, arguments)
    prefix = rows.begin(options)
    if prefix is None:
        return hosts.SKIPPED
    binary = environments.compiled_test(prefix, "collectives/mixture")
    counted = rows.Rows()
    for number, row in enumerate(ROWS):
        if re.search(options.filter, row.name):
            seed, batches = options.seed + number, max(1, options.batches // row.slower)
            counted.run(row.name, lambda: run_row(prefix, binary, row, seed, batches))
    return counted.end()


if __name__ == "__main__":
    sys.exit(main())
