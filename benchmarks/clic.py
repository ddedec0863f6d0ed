#!/usr/bin/env python3
"""The figure of the slides on CLIC (University of Granada, 2003) for today's CLIC: bandwidth by message size for {0-copy, 1-copy} x {MTU
1500, 9000}, the latency of an empty message, and the size that reaches half of the largest bandwidth. PNG and CSV under build/bench/clic.

    clic.py                  measures and draws; two minutes on two free cores
    clic.py --rounds 2 --append      two rounds more of the same figure (45 s)
    clic.py --docs           copies figure and table to docs/ too
    clic.py --draw           draws again what was measured

Two ranks on two hosts, which are network namespaces joined by a veth pair, play ping-pong with each size; the bandwidth is the size over
half a round trip, the median of several interleaved launches. All messages go by CLIC's frames; TOWPATH_CLIC_COPY=1 makes the second
kind. Nothing is measured unless short and long messages are CLIC's.
"""

import argparse
import csv
import shutil
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import hosts
from hosts import environments

OUT = environments.BUILD / "bench" / "clic"
# Of all launches: MTU, copies, bytes, microseconds.
RECORD = OUT / "record.csv"
DOCS = environments.ROOT / "docs"
SIZES = [0] + [1 << power for power in range(23)]
LARGEST = SIZES[-1]
MTUS = [1500, 9000]
COPIES = {0: "0-copy", 1: "1-copy"}
COLUMNS = ["series", "bytes", "rounds", "us", "MBps"]


def series_of(mtu, copies):
    return f"{COPIES[copies]}, MTU {mtu}"


def network_of(mtu):
    return hosts.Network(str(mtu), f"--mtu {mtu}", [f"latency:{size}" for size in SIZES])


def subject_of(copies, options):
    library = hosts.libraries.Library("towpath", options.prefix, [options.prefix / "bin" / "mpicc"])
    return hosts.Subject("towpath-clic", library, {"TOWPATH_NETWORK": "clic", "TOWPATH_CLIC_BULK": "frames",
                                                   "TOWPATH_CLIC_COPY": str(copies)})


def measure_inside(mtu, options):
    """In the namespaces of the hosts: half round trips in microseconds of one launch of each kind, as lines of "copies,bytes,us"."""
    network = network_of(mtu)
    for copies in COPIES:
        for size in (1, LARGEST):
            problem = hosts.goes_astray(subject_of(copies, options), network, f"latency:{size}")
            if problem:
                raise SystemExit(f"nothing is measured: with messages of {size} bytes, {problem}")
    for copies in COPIES:
        found = hosts.measure(subject_of(copies, options), network)
        if len(found) != len(SIZES):
            raise SystemExit("nothing is measured: the job did not end well")
        for _, size, value in found:
            print(f"figure,{copies},{size},{value}", flush=True)


def measure_all(options):
    """Some rounds of everything, each an entry of the record."""
    OUT.mkdir(parents=True, exist_ok=True)
    if not options.append:
        RECORD.unlink(missing_ok=True)
    for _ in range(options.rounds):
        for mtu in MTUS:
            inner = ["--inside", str(mtu), "--prefix", str(options.prefix)]
            command = [sys.executable, hosts.TEST_HOSTS, "--mtu", str(mtu), "--", sys.executable, __file__, *inner]
            result = subprocess.run(command, stdout=subprocess.PIPE, text=True)
            if result.returncode:
                raise SystemExit(f"the measurement with MTU {mtu} ended with {result.returncode}")
            with open(RECORD, "a") as file:
                file.writelines(f"{mtu}{line[6:]}\n" for line in result.stdout.splitlines() if line.startswith("figure,"))


def summarize():
    """The figure's table: medians of all rounds."""
    found = defaultdict(list)
    for line in RECORD.read_text().splitlines():
        mtu, copies, size, value = line.split(",")
        found[int(mtu), int(copies), int(size)].append(float(value))
    with open(OUT / "clic.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for (mtu, copies, size), values in sorted(found.items()):
            value = statistics.median(values)
            writer.writerow([series_of(mtu, copies), size, len(values), f"{value:.4g}", f"{size / value:.4g}"])


def read():
    """Sizes, microseconds and MB/s of each series."""
    found = defaultdict(list)
    with open(OUT / "clic.csv", newline="") as file:
        for row in csv.DictReader(file):
            found[row["series"]].append((int(row["bytes"]), float(row["us"]), float(row["MBps"])))
    return found


def half_power(points):
    """The size that reaches half of the largest bandwidth, on a straight line between the two sizes around it."""
    half = max(speed for _, _, speed in points) / 2
    before = points[0]
    for point in points:
        if point[2] >= half:
            rise = (half - before[2]) / (point[2] - before[2]) if point[2] > before[2] else 1
            return before[0] + rise * (point[0] - before[0])
        before = point
    return points[-1][0]


def summary():
    text = ["| series | empty message, us | largest bandwidth, MB/s | half of it at, bytes |", "|---|---|---|---|"]
    for series, points in read().items():
        best = max(speed for _, _, speed in points)
        text.append(f"| {series} | {points[0][1]:.2f} | {best:.0f} | {half_power(points):.0f} |")
    return "\n".join(text) + "\n"


# Of each kind: colour, line.
LOOKS = {"0-copy, MTU 9000": ("#1a5276", "-"), "1-copy, MTU 9000": ("#1a5276", "--"),
         "0-copy, MTU 1500": ("#ba4a00", "-"), "1-copy, MTU 1500": ("#ba4a00", "--")}
UNITS = {0: "", 10: "Ki", 20: "Mi"}


def size_in_words(size):
    """1536 as 1.5 KiB."""
    power = max(power for power in UNITS if size >= 1 << power)
    return f"{size / (1 << power):.3g} {UNITS[power]}B"


def label_ends(axis, ends):
    """Names the lines at their right ends, moved apart where they would cover each other. `ends` are names, colours and heights."""
    least = 0.055 * axis.get_ylim()[1]
    height = None
    for name, colour, wanted in sorted(ends, key=lambda end: -end[2]):
        height = wanted if height is None else min(wanted, height - least)
        axis.annotate(name, (LARGEST * 1.6, height), color=colour, va="center", fontsize=9, annotation_clip=False)


def draw_bandwidth(axis, series):
    ends, highest = [], 0
    for name, points in series.items():
        colour, line = LOOKS[name]
        best, half = max(speed for _, _, speed in points), half_power(points)
        highest = max(best, highest)
        axis.plot([size for size, _, _ in points], [speed for _, _, speed in points], linestyle=line, linewidth=1.6, color=colour)
        axis.plot([half], [best / 2], marker="D", markersize=6, color=colour, markerfacecolor=colour if line == "-" else "white", linestyle="none")
        ends.append((f"{name}: half at {size_in_words(half)}", colour, points[-1][2]))
    axis.set_ylim(0, 1.05 * highest)
    axis.set_ylabel("bandwidth, MB/s (size / half round trip)")
    return ends


def draw():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot

    figure, (linear, times) = pyplot.subplots(1, 2, figsize=(12, 5), width_ratios=[1.25, 1])
    series = {name: [point for point in points if point[0]] for name, points in read().items()}
    ends = draw_bandwidth(linear, series)
    for name, points in series.items():
        colour, line = LOOKS[name]
        times.plot([size for size, _, _ in points], [us for _, us, _ in points], linestyle=line, linewidth=1.6, color=colour)
    times.set_yscale("log")
    times.set_yticks([2, 5, 10, 20, 50, 100, 200, 500, 1000], ["2", "5", "10", "20", "50", "100", "200", "500", "1000"])
    times.minorticks_off()
    times.set(ylabel="half round trip, us", title="Time of a message", ylim=(1, None))
    linear.set_title("Bandwidth, as in the figure of the original")
    for axis in (linear, times):
        axis.set_xscale("log", base=2)
        axis.set_xticks([4 ** power for power in range(12)],
                        ["1", "4", "16", "64", "256", "1 Ki", "4 Ki", "16 Ki", "64 Ki", "256 Ki", "1 Mi", "4 Mi"], rotation=45)
        axis.set_xlabel("message size, bytes")
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    label_ends(linear, ends)
    empty = [points[0][1] for points in read().values()]
    times.annotate(f"empty message: {min(empty):.2f} to {max(empty):.2f} us", (0.03, 0.92), xycoords="axes fraction", fontsize=9)
    figure.text(0.01, 0.01, "CLIC between two hosts that are network namespaces of one machine, joined by a veth pair of that MTU: frames are "
                "copies in memory, no card is involved. Diamonds: half of the largest bandwidth.", fontsize=8, color="#444444", va="bottom")
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    figure.savefig(OUT / "clic.png", dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="launches of each series")
    parser.add_argument("--prefix", type=lambda text: Path(text).absolute(), default=environments.BUILD / "install", help="where Towpath is installed")
    parser.add_argument("--append", action="store_true", help="add rounds to what was measured before")
    parser.add_argument("--draw", action="store_true", help="draw what was measured before")
    parser.add_argument("--docs", action="store_true", help="copy figure and table to docs/")
    parser.add_argument("--inside", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        measure_inside(options.inside, options)
        return
    if not options.draw:
        with environments.lock():
            hosts.build([subject_of(0, options)])
            measure_all(options)
    summarize()
    # Drawn in an environment that has matplotlib, which comes first: a file of tests/ has the name of a package that it needs.
    code = f"import matplotlib.pyplot, sys; sys.path.insert(0, {str(hosts.HERE)!r}); import clic; clic.draw()"
    environments.command([environments.venv("plot") / "bin" / "python", "-c", code], "clic-plot.log")
    print(summary())
    if options.docs:
        for kind in ("csv", "png"):
            shutil.copy(OUT / f"clic.{kind}", DOCS / f"clic.{kind}")


if __name__ == "__main__":
    main()
