#!/usr/bin/env python3
"""Self-consistency guidelines: prints where a collective takes longer than another way to do the
same. guidelines.c says what is compared with what, and after whom.

    guidelines.py                           Towpath, 2, 4 and 8 ranks (five minutes)
    guidelines.py --groups 0                the control: operations against themselves
    guidelines.py --library towpath,mpich,openmpi,intel --ranks 4 --groups 1,6
    guidelines.py --hosts 2 --ranks 8       ranks on hosts, which are network namespaces
    guidelines.py --hosts 8 --ranks 64 --network '--mtu 9000 --slow host0=1gbit' --sizes 1024,65536

A guideline is violated if the median of its left side exceeds that of its right side by more than
the tolerance, which is 1.1 unless guidelines.c names another one; if the left side also exceeds the
right one of the same round in three quarters of the rounds; and if both are so again in a second
run of the violated rows, with twice as many rounds of batches twice as long. So noise is hardly
reported, but on a busy machine it hides violations. The exit status is 1 if a guideline is
violated. Builds and other benchmarks are kept out by build/lock.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import hosts
import libraries
from libraries import environments

# Seconds between two lines of progress.
PAUSE = 10
# A second run measures so many times longer, in rounds and in seconds of a batch.
LONGER = 2
SHARE = 0.75
# Processes of the last minute that show that the machine is not idle.
BUSY = 1
COLUMNS = ["library", "ranks", "mode", "group", "left", "right", "bytes", "left median",
           "right median", "unit", "ratio", "tolerance"]


@dataclass
class Row:
    """One guideline at one size, and the figures of its rounds."""

    group: str
    left: str
    right: str
    size: str
    unit: str
    factor: float
    extra: float
    lefts: list
    rights: list

    @staticmethod
    def of(words):
        """The row that a line of the program says."""
        figures = [float(word) for word in words[7:]]
        return Row(*words[:5], float(words[5]), float(words[6]), figures[::2], figures[1::2])

    @property
    def name(self):
        """How the program is told to measure this row again."""
        return f"{self.left}:{self.right}@{self.size}"

    def exceeds(self, left, right):
        return left > self.factor * right + self.extra

    def is_violated(self):
        rounds = [self.exceeds(*pair) for pair in zip(self.lefts, self.rights)]
        enough = sum(rounds) >= SHARE * len(rounds)
        return enough and self.exceeds(*self.medians())

    def medians(self):
        return statistics.median(self.lefts), statistics.median(self.rights)

    def cells(self):
        left, right = self.medians()
        ratio = f"{left / right:.2f}" if right else "-"
        tolerance = f"{self.factor:g}" + (f" and {self.extra:g} {self.unit}" if self.extra else "")
        return [self.group, self.left, self.right, self.size, f"{left:.4g}", f"{right:.4g}",
                self.unit, ratio, tolerance]


@dataclass
class Case:
    """A library with so many ranks and a mode of the program."""

    library: libraries.Library
    settings: dict
    launch: list
    ranks: int
    mode: str

    def __str__(self):
        return f"{self.library.name}, {self.ranks} ranks, {self.mode}"


@contextmanager
def stopped_hog():
    """A process that computes whenever it is told to continue; its number."""
    hog = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    hog.send_signal(signal.SIGSTOP)
    try:
        yield hog.pid
    finally:
        hog.kill()
        hog.wait()


def command(case, options, which, longer, hog):
    """What measures some rows of a case."""
    fits = case.ranks <= libraries.CORES and options.hosts == 1
    pin = ["pin=" + ",".join(str(core) for core in range(libraries.CORES))] if fits else []
    words = [*case.launch, libraries.program(case.library, "guidelines"), case.mode,
             options.seconds * longer, options.rounds * longer, which, *options.sizes.split(","),
             f"hog={hog}", *pin]
    return [str(word) for word in words]


def read_rows(case, lines):
    """The rows that a running program prints, with a line of progress now and then."""
    rows, expected, said = [], "?", time.monotonic()
    for line in lines:
        words = line.split()
        if words[:1] == ["rows"]:
            expected = words[1]
        elif len(words) > 7:
            rows.append(Row.of(words))
        if time.monotonic() - said > PAUSE:
            said = time.monotonic()
            print(f"   {case}: {len(rows)} of {expected} rows", flush=True)
    return rows


def measure(case, options, which, longer=1):
    """The rows of one run; raises where it did not end well."""
    environment = environments.clean_environment(**case.settings)
    with stopped_hog() as hog:
        process = subprocess.Popen(command(case, options, which, longer, hog), text=True,
                                   env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE)
        watchdog = threading.Timer(options.limit, process.terminate)
        watchdog.start()
        try:
            rows = read_rows(case, process.stdout)
            status = process.wait()
        finally:
            watchdog.cancel()
            process.terminate()
    if status:
        raise SystemExit(f"{case}: ended with {status} after {len(rows)} rows")
    return rows


def check(case, options):
    """Prints the guidelines that a case violates, and how many it keeps; how many it violates."""
    started = time.monotonic()
    rows = measure(case, options, options.groups)
    suspected = [row.name for row in rows if row.is_violated()]
    again = measure(case, options, ",".join(suspected), LONGER) if suspected else []
    violated = [row for row in again if row.is_violated()]
    for row in violated:
        first = [case.library.name, str(case.ranks), case.mode]
        print("| " + " | ".join(first + row.cells()) + " |")
    groups = Counter(f"group {row.group}" for row in violated)
    where = ", ".join(f"{group}: {count}" for group, count in groups.items()) or "none"
    print(f"   {case}: {len(rows) - len(violated)} guidelines held, {len(violated)} violated "
          f"({where}; {time.monotonic() - started:.0f} s)", flush=True)
    return len(violated)


def cases_on_one_host(options):
    for library in chosen(options):
        for ranks in options.ranks:
            launch = [library.prefix / "bin" / "mpiexec", *library.options, "-n", ranks]
            for mode in options.modes:
                yield Case(library, library.settings, launch, ranks, mode)


def cases_on_hosts(options):
    """As `cases_on_one_host`, in the namespaces of the hosts."""
    names = [library.name for library in chosen(options)]
    for subject in hosts.subjects([], options.prefix):
        for ranks in options.ranks if subject.name in names else []:
            network = hosts.Network("", "", [], ranks=ranks, hosts=options.hosts, pinned=False,
                                    mapping="cyclic" if options.cyclic else "block")
            launch = hosts.launcher(subject.library, network)
            for mode in options.modes:
                settings = hosts.settings_of(subject, network)
                yield Case(subject.library, settings, launch, ranks, mode)


def chosen(options):
    return libraries.libraries(options.library.split(","), options.prefix)


def check_all(options):
    """Checks all cases where this process is; how many guidelines are violated."""
    if os.getloadavg()[0] > BUSY:
        print("   other programs compute: fewer violations stand out than on an idle machine")
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|")
    cases = cases_on_hosts(options) if options.hosts > 1 else cases_on_one_host(options)
    return sum(check(case, options) for case in cases)


def build(options):
    for library in chosen(options):
        binary = libraries.program(library, "guidelines")
        binary.parent.mkdir(parents=True, exist_ok=True)
        link = ["-lmpi"] if library.name == "intel" else []
        words = [*library.compiler, "-O2", libraries.HERE / "guidelines.c", "-o", binary, *link]
        environments.command(words, f"bench-{library.name}-guidelines.log",
                             env=environments.clean_environment())


def run_inside(options):
    """Makes the hosts and checks everything there; the exit status."""
    network = ["--hosts", str(options.hosts), *options.network.split()]
    words = [sys.executable, hosts.TEST_HOSTS, *network, "--", sys.executable, __file__,
             *sys.argv[1:], "--inside"]
    return subprocess.run([str(word) for word in words]).returncode


def parse():
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("--library", default="towpath",
                        help="towpath, mpich, openmpi, intel: some, separated by commas")
    parser.add_argument("--prefix", type=lambda text: Path(text).absolute(),
                        default=environments.BUILD / "install", help="where Towpath is installed")
    parser.add_argument("--ranks", type=lambda text: [int(word) for word in text.split(",")],
                        default=[2, 4, 8])
    parser.add_argument("--modes", type=lambda text: text.split(","), default=["back", "sync"],
                        help="calls one behind the other, or with a barrier before each")
    parser.add_argument("--groups", default="all",
                        help="1 to 11, 0 for the control, or rows such as gather:gatherv@1024")
    parser.add_argument("--sizes", default="8,64,1024,8192,65536,262144,1048576", help="bytes")
    parser.add_argument("--rounds", type=int, default=7, help="of the first run")
    parser.add_argument("--seconds", type=float, default=0.001, help="of a batch of calls")
    parser.add_argument("--limit", type=float, default=600, help="seconds of a run at most")
    parser.add_argument("--hosts", type=int, default=1, help="so many namespaces as hosts")
    parser.add_argument("--cyclic", action="store_true", help="deal the ranks out over the hosts")
    parser.add_argument("--network", default="--mtu 9000",
                        help="options of tests/hosts/hosts.py for the hosts")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = parse()
    if options.inside:
        return 1 if check_all(options) else 0
    with environments.lock():
        build(options)
        if options.hosts == 1:
            return 1 if check_all(options) else 0
        return run_inside(options)


if __name__ == "__main__":
    sys.exit(main())
