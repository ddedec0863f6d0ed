"""Draws how long gathers to a slow root take, from the CSV file of hosts.py: slow_root.py hosts.csv
picture.png. The axes are those of the published figures: bytes of each rank, and the latency."""

import statistics
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as pyplot  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from hosts import read  # noqa: E402
from networks import ROOT_NETWORKS, ROOT_SIZES  # noqa: E402

FIGURE = "gather-fixed-span"
OWN = "towpath"
COLOURS = {OWN: "#c0392b", "intel": "#2471a3", "intel-yields": "#85c1e9", "mpich": "#7d8a8c",
           "mpich-unthrottled": "#bfc9ca", "openmpi": "#b9770e"}


def medians(figures, network, subject):
    """Sizes, and milliseconds for each; only those that were measured."""
    found = {}
    for size in ROOT_SIZES:
        by_round = figures.get((network, FIGURE, size), {}).get(subject)
        if by_round:
            found[size] = statistics.median(by_round.values()) / 1000
    return found


def draw(axis, figures, network, title):
    own = medians(figures, network, OWN)
    for subject, colour in COLOURS.items():
        points = medians(figures, network, subject)
        if points:
            axis.plot(points.keys(), points.values(), "o-", color=colour, label=subject)
    peers = [medians(figures, network, subject) for subject in COLOURS if subject != OWN]
    for size, value in own.items():
        others = [points[size] for points in peers if size in points]
        if others:
            gain = 100 * (1 - value / min(others))
            axis.annotate(f"−{gain:.0f} %", (size, value), textcoords="offset points",
                          xytext=(0, -14), ha="center", fontsize=8, color=COLOURS[OWN])
    absent = [subject for subject in COLOURS if not medians(figures, network, subject)]
    note = f"; no figure: {', '.join(absent)}" if absent else ""
    axis.set(xscale="log", yscale="log", title=title + note, xlabel="bytes of each rank",
             ylabel="time of a gather (ms)")
    axis.set_xticks(ROOT_SIZES, [f"{size // 1024} KB" if size >= 1024 else f"{size} B"
                                 for size in ROOT_SIZES])
    axis.minorticks_off()
    axis.margins(y=0.12)
    axis.grid(alpha=0.3)
    axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))


def main(source, picture):
    figures = read(source)
    measured = {network for network, _, _ in figures}
    networks = {name: title for name, title in ROOT_NETWORKS.items() if name in measured}
    figure, axes = pyplot.subplots(1, len(networks), figsize=(10 * len(networks), 5), squeeze=False)
    for axis, (network, title) in zip(axes[0], networks.items()):
        draw(axis, figures, network, title)
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:3])
