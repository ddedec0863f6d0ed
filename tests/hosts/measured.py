#!/usr/bin/env python3
"""The links between hosts are measured while a job runs: a slow host becomes a leaf of broadcasts.

    measured.py --prefix DIRECTORY    with an installed Towpath (bin, lib); all rows
    measured.py --filter REGEX        only some of the rows

Each row runs tests/hosts/measured.c without a topology file. The kernel reports 10 Gbit/s for all
links, also for that of the host that a rule of the kernel slows down.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import rows  # noqa: E402
import ways  # noqa: E402
from topology import OWN_SYSTEM, SYSTEM  # noqa: E402
from tune import bits  # noqa: E402

# Bits per second of the slow host, and how far off a short measurement may be.
RATE = 40e6
NEAR = 0.5
HOST = 2
SLOW = f"--slow host{HOST}={RATE / 1e6:.0f}mbit"
# How many times its payload a host that passes nothing on may send, and one that passes it on
# sends at least.
LEAF = 0.1
PASSED_ON = 0.8
# Run on the host.
SLOW_DOWN = f"tc qdisc add dev eth0 root tbf rate {RATE / 1e6:.0f}mbit burst 16kb limit 1mb"
SPEED_UP = "tc qdisc del dev eth0 root"
OFF = {"TOWPATH_MEASURE_LINKS": "0"}


@dataclass
class Row:
    """Jobs, one after another: their hosts, ranks on each, communicators, the root and a late
    rank; whether the slow host is to be found (None: there is none); and what is done to its
    network before a job and meanwhile.
    """

    network: str
    jobs: int = 1
    ranks: int = 1
    communicators: int = 1
    root: int = 1
    late: int = -1
    is_found: bool | None = True
    settings: dict = field(default_factory=dict)
    before: str | None = None
    change: str | None = None


ROWS = {
    "a slow host becomes a leaf": Row(f"--hosts 4 {SLOW}"),
    "a slow host broadcasts": Row(f"--hosts 4 {SLOW}", root=2,
                                   settings={"TOWPATH_COLLECTIVE": "bcast:binomial"}),
    "several ranks on each host": Row(f"--hosts 4 {SLOW}", ranks=3, root=3),
    "an allgather measures": Row(f"--hosts 4 {SLOW}", settings={"FIRST_IS_ALLGATHER": "1"}),
    "what another communicator has measured": Row(f"--hosts 4 {SLOW}", communicators=3),
    "a rank comes late": Row(f"--hosts 4 {SLOW}", late=3),
    "no measurement": Row(f"--hosts 4 {SLOW}", is_found=False, settings=OFF),
    "a slow host broadcasts, no measurement": Row(f"--hosts 4 {SLOW}", root=2, is_found=False,
        settings={"TOWPATH_COLLECTIVE": "bcast:binomial", **OFF}),
    "a link becomes slow": Row("--hosts 4", root=HOST, change=SLOW_DOWN),
    "a link becomes fast": Row("--hosts 4", is_found=False, before=SLOW_DOWN, change=SPEED_UP),
    "equal hosts": Row("--hosts 4", jobs=20, ranks=2, is_found=None),
    "many ranks on equal hosts": Row("--hosts 8", jobs=5, ranks=8, is_found=None),
}


def ran(options):
    """On the first host: runs the jobs, and prints what became of them as JSON."""
    row = ROWS[options.row]
    hosts = os.environ["HOSTS_NAMES"].split(",")
    if row.before:
        enter = [os.environ["HOSTS_RUN"], hosts[HOST], "sh", "-c", row.before]
        subprocess.run(enter, check=True)
    launcher = f"{os.environ['HOSTS_RUN']} {{host}} unshare --mount sh -c {OWN_SYSTEM}"
    where = ["--hosts", ",".join(f"{host}:{row.ranks}" for host in hosts), "--launcher", launcher]
    command = [options.prefix / "bin/mpiexec", *where, "-n", row.ranks * len(hosts), options.binary,
               options.prefix / "bin/towpath", row.communicators, row.root, row.late]
    if row.change:
        command += [row.ranks * HOST, row.change]
    jobs = [subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           timeout=ways.LIMIT) for _ in range(row.jobs)]
    print(json.dumps({"statuses": [job.returncode for job in jobs],
                      "output": "".join(job.stdout for job in jobs),
                      "ranks": row.jobs * row.ranks * len(hosts)}))


def judge(row, outcome):
    """What is wrong."""
    output = outcome["output"]
    if any(outcome["statuses"]) or output.split().count("ok") != outcome["ranks"]:
        return [f"the jobs ended with {outcome['statuses']}"]
    said = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    reports = [report["hosts"] for report in said if "hosts" in report]
    count = row.jobs * (row.communicators + (row.change is not None))
    problems = [] if len(reports) == count else [f"{len(reports)} reports"]
    for number, report in enumerate(reports):
        rates = [line["rate"] for line in report.values()]
        expected = [SYSTEM] * len(rates)
        is_slow = row.is_found if row.change is None else (row.change == SLOW_DOWN) == (number > 0)
        if is_slow:
            found = rates[HOST]
            is_near = found.endswith("(measured)") and abs(bits(found) - RATE) < NEAR * RATE
            expected[HOST] = found if is_near else f"about {RATE / 1e6:.0f} Mbit/s (measured)"
        if rates != expected:
            problems.append(f"the rates are {rates}; expected: {expected}")
    for copies in (report["copies"] for report in said if "copies" in report):
        problems += judge_copies(row, copies)
    return problems


def judge_copies(row, copies):
    """What is wrong in how many times their payload the hosts of all ranks send."""
    if row.is_found is None:
        return []
    slow = copies[HOST * row.ranks]
    is_root = row.root // row.ranks == HOST
    most, least = (1 + LEAF, 2 * PASSED_ON) if is_root else (LEAF, PASSED_ON)
    is_leaf = slow <= most
    if is_leaf != row.is_found or (not is_leaf and slow < least):
        return [f"the slow host sends {slow} times what is broadcast"]
    return []


def run_row(prefix, binary, name):
    """Problems (None: not tested here), what was seen, and the job's output."""
    row = ROWS[name]
    words = [__file__, "--prefix", prefix, "--row", name, "--binary", binary]
    settings = {"TOWPATH_NETWORK": "tcp", "TOWPATH_TOPOLOGY": "none", **row.settings}
    outcome, instead = ways.on_hosts(row.network, words, settings)
    if instead:
        return instead
    return judge(row, outcome), "", outcome["output"]


if __name__ == "__main__":
    sys.exit(ways.main(__doc__, ROWS, (), ran, run_row, program="measured"))
