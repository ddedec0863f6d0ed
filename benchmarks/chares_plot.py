"""Draws the table of chares.py from its CSV file: times, and how many times a copy costs more than
none: chares_plot.py table.csv picture.png."""

import csv
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as pyplot  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent))
from chares import CHARM, PUBLISHED  # noqa: E402


def main(source, picture):
    with open(source, newline="") as file:
        figures = {(way, size): float(value) for way, size, value in csv.reader(file)}
    sizes = sorted((size for way, size in figures if way == "copied"), key=float)
    numbers = [float(size) for size in sizes]
    figure, (times, ratios) = pyplot.subplots(1, 2, figsize=(12, 5))
    for way, colour in zip(("copied", "posted", "onecopy", "viewed"),
                           ("#2471a3", "#c0392b", "#7d8a8c", "#b9770e")):
        times.plot(numbers, [figures[way, size] for size in sizes], marker="o", markersize=3,
                   color=colour, label={"onecopy": "one copy alone", "posted": "nocopypost",
                                        "viewed": "nocopy, read in place"}.get(way, way))
    times.plot(numbers, [CHARM[number][0] for number in numbers], ":", color="black",
               label="Charm++ 8.0.1, nocopy (earlier)")
    times.set(xscale="log", yscale="log", xlabel="MB", ylabel="one way, microseconds",
              title="An array between two chares of one host")
    ratios.plot(numbers, [figures["copied", size] / figures["posted", size] for size in sizes],
                marker="o", color="#c0392b", label="copied / nocopypost")
    ratios.plot(numbers, [figures[PUBLISHED, size] for size in sizes], marker="s", color="black",
                label="as published (Blue Gene/Q, between nodes)")
    ratios.axhline(1, color="#7d8a8c", linewidth=1)
    ratios.set(xscale="log", xlabel="MB", ylabel="ratio", ylim=(0, None),
               title="What zero-copy parameters gain")
    for axis in (times, ratios):
        axis.grid(alpha=0.3)
        axis.legend()
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:3])
