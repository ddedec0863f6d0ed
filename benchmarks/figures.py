"""Recorded figures by the speed that the machine had: reading the CSV file of run.py, medians and ratios."""

import csv
import re
import statistics
from collections import defaultdict

from libraries import BARE, BEFORE, BUILDS, OWN

COLUMNS = ["date", "group", "round", "phase", "line_before", "line_after", "library", "ranks", "name", "bytes", "value"]
MORE_IS_BETTER = {"bandwidth", "rate", "overlap"}
UNITS = {"bandwidth": "MB/s", "rate": "1/s", "overlap": "% hidden", "memory": "kB per rank", "halo-memory": "kB per rank",
         "halo-shared": "kB per rank", "start": "ms", "idle-load": "% of a core"}
# Bounds of the line ping-pong in nanoseconds: two hardware threads of one core, two cores with a shared cache, two that are far apart.
NEAR, SHARED, FAR = "near", "shared", "far"
BOUNDS = ((NEAR, 45), (SHARED, 110), (FAR, float("inf")))
# A round whose runs saw several speeds: of a short group it is repeated and does not count, of a long one it does.
MIXED, CHANGING = "mixed", "changing"
ALL = "all"
# A median of fewer rounds than these is not to be relied on.
ENOUGH = 5


def phase_of(line):
    """The speed of the machine, by its line ping-pong."""
    return next(phase for phase, bound in BOUNDS if line <= bound)


class Figures:
    """Everything of a CSV file: {(ranks, name, bytes): {library: {round: value}}} for each phase, and for all rounds that count."""

    def __init__(self, path):
        self.phases = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
        self.lines = defaultdict(lambda: defaultdict(list))
        self.date = "-"
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                self._add(row)

    def _add(self, row):
        key = (int(row["ranks"]), row["name"], int(row["bytes"]))
        self.date = row["date"]
        if row["phase"] == MIXED:
            return
        for phase in {row["phase"], ALL} - {CHANGING}:
            self.phases[phase][key][row["library"]][int(row["round"])] = float(row["value"])
            self.lines[phase][key] += [float(row["line_before"]), float(row["line_after"])]

    def keys(self):
        """(ranks, name, bytes) of all rows, in the order of the file."""
        return list(self.phases[ALL])

    def of(self, phase):
        """The figures of a phase."""
        return self.phases[phase]

    def row(self, phase, key):
        """{library: {round: value}} of a row; empty where it was not measured."""
        return self.phases[phase].get(key, {})

    def rounds(self, phase, key, library=OWN):
        """How many rounds a row has in a phase."""
        return len(self.row(phase, key).get(library, {}))

    def median(self, phase, key, library=OWN):
        """A library's median; None where it has none."""
        values = self.row(phase, key).get(library)
        return statistics.median(values.values()) if values else None

    def ratio(self, phase, key):
        """Times slower than the best peer, and the name of that."""
        return ratio(key[1], self.row(phase, key))

    def ratios_to_before(self, phase, key, build=OWN, allowed=0.0):
        """For each round in which both have a figure that is not zero, how many times slower a build is
        than the earlier one, where each call may take `allowed` microseconds longer."""
        _, name, size = key
        of, before = (self.row(phase, key).get(which, {}) for which in (build, BEFORE))
        both = [number for number, value in of.items() if value and before.get(number)]
        return [slower(name, size, of[number], before[number], allowed) for number in both]


def measure_of(name):
    """The measure of a row: what stands before the kind and the place of the buffers."""
    head = re.split("[-@]", name)[0]
    return head if head in UNITS or head == "latency" else name


def slower(name, size, value, before, allowed):
    """How many times slower a figure is than another of its row, if it may take `allowed` microseconds longer."""
    if measure_of(name) in MORE_IS_BETTER:
        # Microseconds of a message from its rate or its bandwidth; what is hidden has none.
        of_one = {"rate": 1e6, "bandwidth": size}.get(measure_of(name))
        return slower("", size, of_one / value, of_one / before, allowed) if of_one else before / value
    return (value - (allowed if unit_of(name) == "us" else 0)) / before


def unit_of(name):
    return UNITS.get(measure_of(name), "us")


def ratio(name, by_library, peers=None):
    """Median over the rounds of "times slower than the best peer of this round", and the name of
    the best peer overall. Peers are all libraries but Towpath, unless they are named."""
    own = by_library.get(OWN, {})
    more = measure_of(name) in MORE_IS_BETTER
    better = max if more else min
    peers = peers or by_library.keys() - {*BUILDS, BARE}
    peers = {library: by_library[library] for library in peers if by_library.get(library)}
    ratios = []
    for number, value in own.items():
        others = [rounds[number] for rounds in peers.values() if number in rounds]
        if others and value:
            ratios.append(better(others) / value if more else value / better(others))
    best = better(peers, key=lambda library: statistics.median(peers[library].values())) if peers else "-"
    return (statistics.median(ratios) if ratios else None), best
