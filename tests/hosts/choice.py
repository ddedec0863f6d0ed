#!/usr/bin/env python3
"""Which transport a job takes between hosts when nobody says anything, on networks of several kinds.

    choice.py --prefix DIRECTORY    with an installed Towpath (bin, lib); all rows
    choice.py --filter REGEX        only some of the rows

Each row runs tests/hosts/ways.c, whose ranks exchange messages of all sizes, and compares what `towpath info --routes` says of each pair
of hosts with what is expected there. What the first host has sent shows whether that is true.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import rows  # noqa: E402
import traffic  # noqa: E402
import ways  # noqa: E402

CLIC = "clic over eth0 by Ethernet frames"
TCP = "tcp, since "
NO_SOCKETS = "host does not allow its ranks packet sockets (CAP_NET_RAW)"
ALSO = " (The network between hosts cannot be used: the system refuses to open a packet socket (Operation not permitted"
REFUSED = "clic over eth0 by UDP" + ALSO
SWALLOWED = TCP + "Ethernet frames of the type 0x88b5 do not arrive, while UDP does"
ROUTE = re.compile(r"host (\d+) \(rank \d+\): (.*?)(?=; host \d+ \(rank |$)")
WITHOUT_RAW = ["setpriv", "--bounding-set=-net_raw"]


@dataclass
class Row:
    """A job, and how each host is to reach the others: the beginning of what is said of a pair, by their numbers."""

    name: str
    network: str
    hosts: str
    expected: dict
    before: list = field(default_factory=list)
    settings: dict = field(default_factory=dict)
    # What most of the first host's frames are: see traffic.py.
    by: str = ""


ALL_FRAMES = {"TOWPATH_CLIC_BULK": "frames"}
ROWS = [
    Row("two hosts, one cable", "--hosts 2", "host0,host1", {(0, 1): CLIC}, settings=ALL_FRAMES, by="clic"),
    Row("large messages by a connection", "--hosts 2 --mtu 9000", "host0,host1", {(0, 1): CLIC + "; large messages by tcp"}),
    Row("one bridge", "--hosts 4 --kernels", "host0,host1,host2",
        {(0, 1): CLIC, (0, 2): CLIC, (1, 2): CLIC}, settings=ALL_FRAMES, by="clic"),
    Row("two rails", "--rails 2", "host0,host1", {(0, 1): CLIC + " and eth1 by Ethernet frames"}, by="clic"),
    Row("a wire that loses", "--loss 1 --duplicate 1 --reorder 1 --seed 3", "host0,host1", {(0, 1): CLIC}, settings=ALL_FRAMES, by="clic"),
    Row("a switch that passes nothing but IP", "--swallow frames", "host0,host1", {(0, 1): SWALLOWED}, by="tcp"),
    Row("a switch that passes no UDP", "--swallow udp", "host0,host1", {(0, 1): TCP + "UDP does not arrive"}, by="tcp"),
    Row("a router between", "--hosts 2 --segments 2", "host0,host1",
        {(0, 1): TCP + "it shares no network with this host"}, by="tcp"),
    Row("two segments", "--hosts 4 --segments 2 --kernels", "host0,host1,host2,host3",
        {(0, 1): TCP, (0, 2): CLIC, (0, 3): TCP, (1, 2): TCP, (1, 3): CLIC, (2, 3): TCP}),
    Row("without CAP_NET_RAW", "--hosts 2", "host0,host1", {(0, 1): TCP + "this " + NO_SOCKETS + ALSO}, WITHOUT_RAW, by="tcp"),
    Row("without CAP_NET_RAW, frames wanted", "--hosts 2", "host0,host1", {(0, 1): REFUSED}, WITHOUT_RAW,
        {"TOWPATH_NETWORK": "clic", **ALL_FRAMES}, by="clic"),
    Row("many ranks on a host", "--hosts 3 --kernels", "host0:1,host1:1,host2:5",
        {(0, 1): CLIC, (0, 2): TCP + "that host has more than 4 ranks", (2, 1): TCP + "this host has more"}),
    Row("ranks that share a processor", "--hosts 2", "host0:2,host1:2", {(0, 1): TCP + "ranks of this host share processors"},
        ["taskset", "-c", "0"], by="tcp"),
    Row("hosts that share a processor", "--hosts 2", "host0,host1",
        {(0, 1): TCP + "ranks of this host share processors"}, ["taskset", "-c", "0"], by="tcp"),
    Row("machines with a processor each", "--hosts 2 --kernels", "host0,host1", {(0, 1): CLIC},
        ["taskset", "-c", "0"]),
    Row("connections wanted", "--hosts 2", "host0,host1", {(0, 1): "tcp, as TOWPATH_NETWORK=tcp says"}, settings={"TOWPATH_NETWORK": "tcp"}, by="tcp"),
]


def ran(options):
    """On the first host: runs the job, and prints what became of it, with what this host has sent meanwhile, as JSON."""
    run = os.environ["HOSTS_RUN"]
    places = [part.partition(":")[::2] for part in options.places.split(",")]
    count = sum(int(ranks or 1) for _, ranks in places)
    command = [options.prefix / "bin/mpiexec", "-l", "--hosts", options.places, "--launcher", f"{run} {{host}}", "-n", count,
               *options.before, options.binary, options.prefix / "bin/towpath"]
    before, started = traffic.sent(), time.monotonic()
    job = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         timeout=ways.LIMIT)
    counts = [now - then for now, then in zip(traffic.sent(), before)]
    print(json.dumps({"status": job.returncode, "output": job.stdout, "ranks": count, "counts": counts, "seconds": time.monotonic() - started}))


def routes(output):
    """What the first rank of each host says: by the other host's number, in the order of the hosts."""
    shown = [report["routes"]["0"]["why"] for report in ways.reports(output)]
    return [{int(host): route for host, route in ROUTE.findall(said)} for said in shown]


def judge(row, outcome):
    """What is wrong."""
    if outcome["status"] or outcome["output"].split().count("ok") != outcome["ranks"]:
        return [f"the job ended with {outcome['status']}"]
    said = routes(outcome["output"])
    problems = []
    for (one, other), expected in row.expected.items():
        found = said[one].get(other, "nothing")
        if not found.startswith(expected):
            problems.append(f"host {one} reaches host {other} so: {found}; expected: {expected}")
        # Both ends go the same way, for reasons of their own.
        if said[other].get(one, "nothing").split()[0] != found.split()[0]:
            problems.append(f"host {other} reaches host {one} so: {said[other].get(one)}, but the other way: {found}")
    wrong = traffic.problem(row.by, outcome["counts"]) if row.by else None
    return problems + ([wrong] if wrong else [])


def run_row(prefix, binary, row):
    """Problems (None: not tested here), what was seen, and the job's output."""
    words = [__file__, "--prefix", prefix, "--places", row.hosts, "--binary", binary]
    words += [f"--before={word}" for word in row.before]
    outcome, instead = ways.on_hosts(row.network, words, row.settings)
    if instead:
        return instead
    return judge(row, outcome), f"{outcome['seconds']:.1f} s in the job", outcome["output"]


def main():
    parser = rows.parser(__doc__)
    for inner in ("--places", "--binary"):
        parser.add_argument(inner, help=argparse.SUPPRESS)
    parser.add_argument("--before", action="append", default=[], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.places:
        return ran(options)
    return rows.run_all(options, ways.compiled, [(row.name, row) for row in ROWS], run_row)


if __name__ == "__main__":
    sys.exit(main())
