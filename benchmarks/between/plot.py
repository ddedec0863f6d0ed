"""Draws the figures of hosts.py from its CSV file: how long Towpath and its peers take between two hosts, against one bare TCP
connection: plot.py hosts.csv picture.png."""

import statistics
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as pyplot  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import bars  # noqa: E402
from hosts import read  # noqa: E402

COLOURS = {"towpath-clic": "#c0392b", "towpath-tcp": "#e59866", "intel-cubic": "#2471a3", "mpich-cubic": "#7d8a8c", "openmpi-cubic": "#b9770e"}
NETWORKS = {"1500": "frames of 1500 bytes", "9000": "frames of 9000 bytes"}
FIGURES = {("latency", 1): "1 B", ("latency", 1024): "1 KB", ("latency", 8192): "8 KB", ("latency", 65536): "64 KB", ("latency", 1 << 20): "1 MB",
           ("bandwidth", 1 << 20): "stream\nof 1 MB", ("rate", 1024): "stream\nof 1 KB"}
# What takes longer is cut off here, and its number written at its end.
HIGHEST = 2.2


def against_bare(name, by_subject, subject):
    """Median over the rounds of how much longer a subject takes than the bare connection; None where it was not measured."""
    own, bare = by_subject.get(subject, {}), by_subject.get("bare", {})
    ratios = [own[number] / bare[number] for number in own if number in bare]
    if not ratios:
        return None
    median = statistics.median(ratios)
    return 1 / median if name in bars.MORE_IS_BETTER else median


def draw(axis, network, figures):
    """One group of bars for each figure; 1 is the bare connection."""
    width = 0.8 / len(COLOURS)
    for place, (subject, colour) in enumerate(COLOURS.items()):
        for group, (name, size) in enumerate(FIGURES):
            value = against_bare(name, figures.get((network, name, size), {}), subject)
            if value is None:
                continue
            at = group + (place - (len(COLOURS) - 1) / 2) * width
            axis.bar(at, min(value, HIGHEST), width=width, color=colour, label=subject if group == 0 else None)
            if value > HIGHEST:
                axis.text(at, HIGHEST, f"{value:.0f}", ha="center", va="bottom", fontsize=7)
    axis.axhline(1, color="black", linewidth=1)
    axis.set_xticks(range(len(FIGURES)), FIGURES.values())
    axis.set(title=f"two hosts, {NETWORKS[network]}", ylabel="time / time of bare TCP (cubic)", ylim=(0, HIGHEST + 0.15))
    axis.grid(axis="y", alpha=0.3)
    axis.legend(loc="upper left")


def main(source, picture):
    figures = read(source)
    figure, axes = pyplot.subplots(1, 2, figsize=(15, 5))
    for axis, network in zip(axes, NETWORKS):
        draw(axis, network, figures)
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:3])
