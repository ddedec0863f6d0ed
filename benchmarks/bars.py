"""The bars that hosts.py compares its figures with."""

import statistics
from dataclasses import dataclass

UNITS = {"latency": "us", "bandwidth": "MB/s", "rate": "1/s", "broadcast": "us", "unicasts": "us", "barrier": "us", "allreduce": "us", "whole": "MB/s", "start": "s"}
MORE_IS_BETTER = {"bandwidth", "rate", "whole"}
# A row misses when its median passes the bar by more than this part.
MARGIN = 0.03
LINE_RATE = 125.0  # MB/s of a link of 1 Gbit/s
MIB = 1 << 20


@dataclass
class Bar:
    """A figure of one subject divided by that of others in the same round; by the best of them where there are several."""

    what: str
    own: str
    network: str
    figure: tuple
    against: tuple
    bar: float
    other: tuple = None  # network and figure of the others, where they differ: medians are divided then


def both(*names):
    """Peers with the system's congestion control and with cubic."""
    return tuple(name + kind for name in names for kind in ("", "-cubic"))


# Every size at which Towpath's default choice is measured, and the networks for that by name: MTU,
# and whether ranks are pinned.
SIZES = [1 << power for power in range(23)]
DEFAULT = {f"default {mtu}{'' if pinned else ', unpinned'}": (mtu, pinned) for mtu in (1500, 9000) for pinned in (True, False)}
CUBIC = ("mpich-cubic", "openmpi-cubic", "intel-cubic")
BARS = [
    Bar("1 B one way", "towpath-clic", "1500", ("latency", 1), ("bare",), 0.6),
    Bar("1 B one way", "towpath-clic", "1500", ("latency", 1), both("mpich", "openmpi"), 0.4),
    Bar("1 B one way", "towpath-clic", "1500", ("latency", 1), both("intel"), 0.5),
    Bar("1 B one way", "towpath-tcp", "1500", ("latency", 1), ("bare",), 1.15),
    Bar("1 B one way", "towpath-tcp", "9000", ("latency", 1), ("bare",), 1.15),
    Bar("1 KB one way", "towpath-clic", "9000", ("latency", 1024), ("bare",), 0.65),
    Bar("8 KB one way", "towpath-clic", "9000", ("latency", 8192), ("bare",), 0.9),
    *(Bar("1 MB one way", "towpath-clic", mtu, ("latency", MIB), against, bar)
      for mtu in ("1500", "9000") for against, bar in ((("bare",), 1.1), (("mpich-cubic", "openmpi-cubic"), 0.7))),
    *(Bar("bandwidth, 1 MB", "towpath-clic", mtu, ("bandwidth", MIB), against, bar)
      for mtu in ("1500", "9000") for against, bar in ((("bare",), 0.85), (CUBIC, 1.0))),
    *(Bar(f"{size} B one way", "towpath", network, ("latency", size), both("mpich", "openmpi", "intel"), 1.0)
      for network in DEFAULT for size in SIZES),
    Bar("messages a second, 1 KB", "towpath-clic", "1500", ("rate", 1024), ("bare",), 2.0),
    Bar("two links of 1 Gbit/s against one", "towpath-clic", "two-gigabits", ("bandwidth", MIB), ("towpath-clic",), 1.9,
        ("gigabit", "bandwidth", MIB)),
    Bar("a link dies, against one alone", "towpath-clic", "dying", ("whole", MIB), ("towpath-clic",), 1.0, ("gigabit", "bandwidth", MIB)),
    Bar("1 % of frames lost, against the line rate", "towpath-clic", "lossy", ("bandwidth", MIB), (LINE_RATE,), 0.9),
    Bar("64 KB to 7 hosts against unicasts", "towpath-clic", "eight", ("broadcast", 65536), ("towpath-clic",), 0.7, ("eight", "unicasts", 65536)),
    *(Bar("start of 256 ranks on 8 hosts, s", f"towpath-{name}", "start", ("start", 0), (1.0,), 5.0) for name in ("tcp", "clic", "ofi")),
]


def ratio(bar, figures):
    """Median over the rounds of own figure / best of the others, and the rounds; None where something was not measured."""
    own = figures.get((bar.network, *bar.figure), {}).get(bar.own)
    if not own:
        return None, 0
    if isinstance(bar.against[0], float):
        return statistics.median(own.values()) / bar.against[0], len(own)
    by_subject = figures.get(bar.other or (bar.network, *bar.figure), {})
    others = [by_subject[name] for name in bar.against if by_subject.get(name)]
    if not others:
        return None, 0
    best = max if bar.figure[0] in MORE_IS_BETTER else min
    if bar.other and bar.other[0] != bar.network:
        return statistics.median(own.values()) / best(statistics.median(rounds.values()) for rounds in others), len(own)
    ratios = [value / best(rounds[number] for rounds in others if number in rounds)
              for number, value in own.items() if any(number in rounds for rounds in others)]
    return (statistics.median(ratios), len(ratios)) if ratios else (None, 0)


def said(holds):
    """The verdict about a bar; nothing where there is none."""
    return "" if holds is None else "met" if holds else "MISSED"


def verdicts(figures, some):
    """A table with one line for each of some bars."""
    text = [f"A bar is missed when the measured ratio passes it by more than {MARGIN:.0%}.", "",
            "| what | who | against | network | bar | measured | rounds | verdict |", "|---|---|---|---|---|---|---|---|"]
    for bar in some:
        value, rounds = ratio(bar, figures)
        more = bar.figure[0] in MORE_IS_BETTER
        holds = value is not None and (value >= bar.bar * (1 - MARGIN) if more else value <= bar.bar * (1 + MARGIN))
        verdict = "not measured" if value is None else said(holds)
        against = ", ".join(str(one) for one in bar.against) if bar.other is None else " ".join(str(word) for word in bar.other)
        shown = "-" if value is None else f"{value:.2f}"
        text.append(f"| {bar.what} | {bar.own} | {against} | {bar.network} | {'>=' if more else '<='} {bar.bar:g} | {shown} | {rounds} | {verdict} |")
    return text
