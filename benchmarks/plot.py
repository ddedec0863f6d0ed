"""Draws latency and bandwidth over the message size from the CSV file of run.py: plot.py results.csv plot.png."""

import csv
import statistics
import sys
from collections import defaultdict

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as pyplot  # noqa: E402


def main(source, picture):
    values = defaultdict(lambda: defaultdict(list))
    with open(source, newline="") as file:
        for row in csv.DictReader(file):
            if row["ranks"] == "2" and row["name"] in ("latency", "bandwidth", "rate"):
                values[row["name"], row["library"]][int(row["bytes"])].append(float(row["value"]))
    figure, axes = pyplot.subplots(1, 3, figsize=(15, 5))
    units = {"latency": "half round trip, microseconds", "bandwidth": "MB/s, window 64", "rate": "messages per second, window 64"}
    for axis, (name, unit) in zip(axes, units.items()):
        for (kind, library), sizes in sorted(values.items()):
            if kind == name:
                points = sorted((max(size, 1), statistics.median(list_of)) for size, list_of in sizes.items())
                width = 2.5 if library == "towpath" else 1.2
                axis.plot(*zip(*points), marker="o", markersize=3, linewidth=width, label=library)
        axis.set(xscale="log", yscale="log", xlabel="bytes", ylabel=unit, title=name)
        axis.grid(alpha=0.3)
        axis.legend()
    figure.tight_layout()
    figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:3])
