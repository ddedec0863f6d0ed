#!/usr/bin/env python3
"""The figure of the slides on CLIC (University of Granada) for today's CLIC: bandwidth by message size for {0-copy, 1-copy} x {MTU 1500,
9000}, the latency of an empty message, and the size that reaches half of the largest bandwidth. PNG and CSV under build/bench/clic.

    clic.py                  measures and draws; two minutes on two free cores
    clic.py --docs           copies figure and table to docs/ too
    clic.py --draw           draws again what was measured

Two ranks on two hosts, which are network namespaces joined by a veth pair, play ping-pong with each size; the bandwidth is the size over
half a round trip, the median of several interleaved launches. TOWPATH_CLIC_COPY=1 makes the second kind. Nothing is measured unless the
frames are CLIC's.
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
DOCS = environments.ROOT / "docs"
SIZES = [0] + [1 << power for power in range(23)]
MTUS = [1500, 9000]
COPIES = {0: "0-copy", 1: "1-copy"}
COLUMNS = ["series", "bytes", "us", "MBps"]


def series_of(mtu, copies):
    return f"{COPIES[copies]}, MTU {mtu}"


def network_of(mtu):
    return hosts.Network(str(mtu), f"--mtu {mtu}", [f"latency:{size}" for size in SIZES])


def subject_of(copies, options):
    library = hosts.run.Library("towpath", options.prefix, [options.prefix / "bin" / "mpicc"])
    return hosts.Subject("towpath-clic", library, {"TOWPATH_NETWORK": "clic", "TOWPATH_CLIC_COPY": str(copies)})


def measure_inside(mtu, options):
    """In the namespaces of the hosts: half round trips in microseconds of all launches, as lines of "copies,bytes,us"."""
    network = network_of(mtu)
    for copies in COPIES:
        problem = hosts.goes_astray(subject_of(copies, options), network)
        if problem:
            raise SystemExit(f"nothing is measured: {problem}")
    for _ in range(options.rounds):
        for copies in COPIES:
            for _, size, value in hosts.measure(subject_of(copies, options), network):
                print(f"figure,{copies},{size},{value}", flush=True)


def measure(options):
    found = defaultdict(list)
    for mtu in MTUS:
        inner = ["--inside", str(mtu), "--rounds", str(options.rounds), "--prefix", str(options.prefix)]
        command = [sys.executable, hosts.TEST_HOSTS, "--mtu", str(mtu), "--", sys.executable, __file__, *inner]
        result = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if result.returncode:
            raise SystemExit(f"the measurement with MTU {mtu} ended with {result.returncode}")
        for line in result.stdout.splitlines():
            if line.startswith("figure,"):
                _, copies, size, value = line.split(",")
                found[series_of(mtu, int(copies)), int(size)].append(float(value))
    OUT.mkdir(parents=True, exist_ok=True)
    with open(OUT / "clic.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for (series, size), values in found.items():
            value = statistics.median(values)
            writer.writerow([series, size, f"{value:.4g}", f"{size / value:.4g}"])


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


def draw():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot

    figure, axis = pyplot.subplots(figsize=(9, 5.6))
    for (series, points), colour in zip(read().items(), ["#2471a3", "#b9770e", "#c0392b", "#7d8a8c"]):
        points = points[1:]
        axis.plot([size for size, _, _ in points], [speed for _, _, speed in points], marker="o", markersize=3, color=colour, label=series)
        best = max(speed for _, _, speed in points)
        axis.plot([half_power(points)], [best / 2], marker="D", markersize=6, color=colour, linestyle="none")
    axis.set_xscale("log", base=2)
    axis.set_xticks([4 ** power for power in range(12)],
                    ["1", "4", "16", "64", "256", "1 Ki", "4 Ki", "16 Ki", "64 Ki", "256 Ki", "1 Mi", "4 Mi"], rotation=45)
    axis.set(xlabel="message size, bytes", ylabel="bandwidth, MB/s (size / half round trip)", title="CLIC between two hosts", ylim=(0, None))
    axis.grid(alpha=0.3)
    axis.legend()
    figure.text(0.01, 0.005, "Two network namespaces of one machine, joined by a veth pair: frames are copies in memory. Diamonds: half of the largest "
                "bandwidth.", fontsize=7, color="#444444", va="bottom")
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    figure.savefig(OUT / "clic.png", dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="launches of each series")
    parser.add_argument("--prefix", type=lambda text: Path(text).absolute(), default=environments.BUILD / "install", help="where Towpath is installed")
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
            measure(options)
    # Drawn in an environment that has matplotlib, which comes first: a file of tests/ has the name of a package that it needs.
    code = f"import matplotlib.pyplot, sys; sys.path.insert(0, {str(hosts.HERE)!r}); import clic; clic.draw()"
    environments.command([environments.venv("plot") / "bin" / "python", "-c", code], "clic-plot.log")
    print(summary())
    if options.docs:
        for kind in ("csv", "png"):
            shutil.copy(OUT / f"clic.{kind}", DOCS / f"clic.{kind}")


if __name__ == "__main__":
    main()
