"""The tables of benchmarks/pack.c: every layout beside the best peer and beside the loop written by hand, with geometric means.

Figures are those that run.py recorded in one phase: {(ranks, "kind/layout", bytes): {library: {round: value}}}. Ratios here say how many times
faster Towpath is (1 or more: not behind), each the median over the rounds of a comparison within one round.
"""

import math
import statistics

SPEEDS = ("pack", "unpack")  # GB/s; the hand loop of the same program is hand-pack, hand-unpack
OWN = "towpath"


def is_layout(name):
    return "/" in name and "@" not in name


def _median(values):
    values = list(values)
    return statistics.median(values) if values else None


def _faster(own, others, more_is_better):
    """Median over the rounds of "times faster than the best of the others in this round"."""
    ratios = []
    for number, value in own.items():
        found = [rounds[number] for rounds in others if number in rounds]
        if found and value:
            ratios.append(value / max(found) if more_is_better else min(found) / value)
    return _median(ratios)


def slower(own, other):
    """Median over the rounds of own time / the time of another in the same round; None without a common round."""
    return _median(value / other[number] for number, value in own.items() if other.get(number))


def _cell(value):
    return "-" if value is None else f"{value:.2f}" if value < 100 else f"{value:.0f}"


class _Section:
    """One table and the ratios of its columns."""

    def __init__(self, title, columns):
        self.lines = ["", f"### {title}", "", "| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
        self.ratios = {}

    def add(self, layout, size, cells, ratios):
        for name, value in ratios.items():
            if value:
                self.ratios.setdefault(name, []).append((value, f"{layout} {size}"))
        self.lines.append(f"| {layout} | {size} | " + " | ".join(_cell(value) for value in [*cells, *ratios.values()]) + " |")

    def text(self):
        summary = []
        for name, found in self.ratios.items():
            mean = math.exp(statistics.fmean(math.log(value) for value, _ in found))
            worst, where = min(found)
            summary.append(f"* {name}: geometric mean {mean:.2f}, worst {worst:.2f} ({where}), {len(found)} rows")
        return [*self.lines, "", *summary]


def _peers(figures):
    return sorted({library for by_library in figures.values() for library in by_library} - {OWN})


def _rounds(figures, kind, ranks, layout, size, library=OWN):
    return figures.get((ranks, f"{kind}/{layout}", size), {}).get(library, {})


def _speed_section(figures, kind, phase):
    peers = _peers(figures)
    title = f"MPI_{kind.capitalize()}, GB of payload a second, {phase} phase"
    section = _Section(title, ["layout", "bytes", "memcpy", "hand loop", OWN, *peers, "x best peer", "x hand loop"])
    for (ranks, name, size), by_library in figures.items():
        if not name.startswith(f"{kind}/"):
            continue
        layout = name.split("/")[1]
        own, hand = by_library.get(OWN, {}), _rounds(figures, f"hand-{kind}", ranks, layout, size)
        cells = [_median(_rounds(figures, "memcpy", ranks, layout, size).values()), _median(hand.values())]
        cells += [_median(by_library.get(library, {}).values()) for library in (OWN, *peers)]
        others = [by_library[library] for library in peers if library in by_library]
        section.add(layout, size, cells, {"x best peer": _faster(own, others, True), "x hand loop": _faster(own, [hand], True)})
    return section.text()


def _message_section(figures, phase):
    peers = _peers(figures)
    title = f"Messages with a datatype on both sides, half a round trip in microseconds, {phase} phase"
    ratios = ["x MPI_Pack and MPI_Unpack", "x packing by hand", *(f"x {peer}" for peer in peers)]
    section = _Section(title, ["layout", "bytes", "the row alone", "MPI_Pack", "by hand", OWN, *peers, *ratios])
    for (ranks, name, size), by_library in figures.items():
        if not name.startswith("typed/"):
            continue
        layout = name.split("/")[1]
        row, packed, hand = (_rounds(figures, kind, ranks, layout, size) for kind in ("row", "packed", "by-hand"))
        own = by_library.get(OWN, {})
        cells = [_median(rounds.values()) for rounds in (row, packed, hand, own)]
        cells += [_median(by_library.get(library, {}).values()) for library in peers]
        against = [packed, hand, *(by_library.get(peer, {}) for peer in peers)]
        section.add(layout, size, cells, {name: _faster(own, [other], False) for name, other in zip(ratios, against)})
    return section.text()


def sections(figures, phase):
    """Markdown lines for all figures of pack.c in a phase; none where there are none."""
    found = {key: value for key, value in figures.items() if is_layout(key[1])}
    kinds = {name.split("/")[0] for _, name, _ in found}
    text = []
    for kind in SPEEDS:
        if kind in kinds:
            text += _speed_section(found, kind, phase)
    return text + (_message_section(found, phase) if "typed" in kinds else [])
