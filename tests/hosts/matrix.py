#!/usr/bin/env python3
"""The matrix of `make stress`: mpi4py's own suite and the C programs over several hosts, by each transport, on good and bad wires.

    matrix.py                           everything that is built
    matrix.py --networks tcp,clic       these transports (TOWPATH_NETWORK)
    matrix.py --only 'tcp.*9000'        some of the rows
    matrix.py --core --only '2 hosts 1500'     what CI runs: the C programs that exchange most

Each row proves that it went by its transport: the share of the first host's frames that were TCP's is compared with what is expected.
Ends with a table and "N passed, N failed" over all rows.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import hosts  # noqa: E402
import traffic  # noqa: E402

TESTS = Path(__file__).resolve().parent.parent
# The transports that Towpath has.
NETWORKS = ["tcp", "clic"]
# Transports that see each frame: these run over wires with faults as well. Behind TCP the system's own protocol is tested.
BY_FRAMES = ["clic"]
FAULTS = ["--loss", "1", "--duplicate", "1", "--reorder", "1", "--seed", "4"]
RANKS = {2: [2, 4], 4: [4]}
# Of the core each program runs over each transport, with each of its numbers of ranks over one of
# them.
ABIS = {"tcp": "mpich", "clic": "standard"}
CORE = ["--filter", "^(point_to_point|communicators|collectives|topologies)/"]
# The same over a wire with faults takes longer.
FAULTY_CORE = ["--filter", "^(point_to_point|collectives)/"]


@dataclass
class Row:
    """One suite over one network."""

    suite: str
    network: str
    hosts: int
    mtu: int
    faulty: bool

    @property
    def name(self):
        return f"{self.suite} {self.network} {self.hosts} hosts {self.mtu}" + (" faulty" if self.faulty else "")

    def command(self):
        network = ["--hosts", self.hosts, "--mtu", self.mtu, *(FAULTS if self.faulty else [])]
        if self.suite == "mpi4py":
            words = [TESTS / "external/mpi4py_suite.py", *network, "--ranks", *RANKS[self.hosts], "--timeout", 1800]
        else:
            core = FAULTY_CORE if self.faulty else CORE
            share = ["--abi", ABIS[self.network], "--fewer", *core] if self.suite == "core" else ["--abi", "mpich"]
            words = [TESTS / "mpi/run.py", *share, *network, "--timeout", 300]
        return [sys.executable, *(str(word) for word in words)]


def rows(networks, suites):
    return [Row(suite, network, count, mtu, faulty) for network in networks for suite in suites for count in (2, 4) for mtu in (1500, 9000)
            for faulty in ((False, True) if network in BY_FRAMES else (False,))]


def run(row):
    """Passed and failed tests of a row and seconds; what failed is shown at once."""
    print(f"== {row.name}", flush=True)
    started = time.monotonic()
    # Large messages by frames too, which would go by a connection on a fast link.
    environment = {**os.environ, "TOWPATH_NETWORK": row.network, "TOWPATH_CLIC_BULK": "frames", traffic.SHOWN: "1"}
    result = subprocess.run(row.command(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                            env=environment)
    lines = [line for line in result.stdout.splitlines() if not line.startswith("ok ")]
    print("\n".join("   " + line for line in lines), flush=True)
    found = re.findall(r"^(\d+) passed, (\d+) failed", result.stdout, re.MULTILINE)
    passed, failed = (int(found[-1][0]), int(found[-1][1])) if found else (0, 1)
    if result.returncode and not failed:
        failed = 1
    problem = traffic.problem(row.network, traffic.said(result.stdout))
    if problem:
        print(f"   FAIL {problem}")
        failed += 1
    return passed, failed, time.monotonic() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", type=lambda text: text.split(","), default=NETWORKS, help="transports, separated by commas")
    parser.add_argument("--core", action="store_true", help="a part of the C programs only")
    parser.add_argument("--only", default="", help="a regular expression for the rows' names")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    chosen = [row for row in rows(options.networks, ["core"] if options.core else ["C", "mpi4py"]) if re.search(options.only, row.name)]
    if options.list:
        print("\n".join(row.name for row in chosen))
        return 0
    reason = hosts.forbidden()
    if reason:
        print(f"skipped: {reason}")
        return hosts.SKIPPED
    # An exception, so that what runs is ended too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    results = [(row, *run(row)) for row in chosen]
    print("\n| suite | transport | hosts | MTU | wire | passed | failed | seconds |\n|---|---|---|---|---|---|---|---|")
    for row, passed, failed, seconds in results:
        wire = "1 % lost, doubled, late" if row.faulty else "good"
        print(f"| {row.suite} | {row.network} | {row.hosts} | {row.mtu} | {wire} | {passed} | {failed} | {seconds:.0f} |")
    passed, failed = sum(result[1] for result in results), sum(result[2] for result in results)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
