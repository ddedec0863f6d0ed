"""Draws the figures of run.py from its CSV file: latency, bandwidth and rate over the message size, and how the collectives
compare with the best peer: plot.py results.csv picture.png."""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as pyplot  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent))
from figures import ALL, FAR, NEAR, Figures  # noqa: E402
from groups import COLLECTIVES  # noqa: E402

UNITS = {"latency": "half round trip, microseconds", "bandwidth": "MB/s, window 64", "rate": "messages per second, window 64"}
COLOURS = {"towpath": "#c0392b", "intel": "#2471a3", "mpich": "#7d8a8c", "openmpi": "#b9770e"}
SIZES = {8: "#f5b7b1", 4096: "#e06666", 65536: "#8e2a20"}


def draw_sizes(axis, name, figures, phase):
    """One line for each library over the message size."""
    sizes = sorted(size for ranks, kind, size in figures.of(phase) if ranks == 2 and kind == name)
    for library, colour in COLOURS.items():
        points = [(max(size, 1), figures.median(phase, (2, name, size), library)) for size in sizes]
        points = [point for point in points if point[1] is not None]
        if points:
            width = 2.5 if library == "towpath" else 1.2
            axis.plot(*zip(*points), marker="o", markersize=2.5, linewidth=width, color=colour, label=library)
    axis.set(xlabel="bytes", ylabel=UNITS[name], title=f"{name}, 2 ranks, cores {phase}")
    axis.grid(alpha=0.3)
    if sizes:
        axis.set(xscale="log", yscale="log")
        axis.legend()


def draw_collectives(axis, ranks, figures):
    """One group of bars for each collective; 1 is the best peer."""
    for offset, (size, colour) in zip((-0.27, 0, 0.27), SIZES.items()):
        heights = [(place, figures.ratio(ALL, (ranks, name, size))[0]) for place, name in enumerate(COLLECTIVES)]
        places = [(place + offset, height) for place, height in heights if height is not None]
        if places:
            axis.bar(*zip(*places), width=0.25, color=colour, label=f"{size} bytes")
    barrier = figures.ratio(ALL, (ranks, "barrier", 0))[0]
    if barrier is not None:
        axis.bar([COLLECTIVES.index("barrier")], [barrier], width=0.25, color="#7d8a8c")
    axis.axhline(1, color="black", linewidth=1)
    axis.set_xticks(range(len(COLLECTIVES)), COLLECTIVES, rotation=30)
    axis.set(title=f"collectives, {ranks} ranks, all rounds", ylabel="time / time of the best peer", ylim=(0, 1.6))
    axis.grid(axis="y", alpha=0.3)


def main(source, picture):
    figures = Figures(source)
    figure, axes = pyplot.subplots(3, 3, figsize=(15, 13))
    for row, phase in zip(axes, (NEAR, FAR)):
        for axis, name in zip(row, UNITS):
            draw_sizes(axis, name, figures, phase)
    crowds = sorted({ranks for ranks, name, _ in figures.keys() if name == "barrier"})
    for axis, ranks in zip(axes[2], crowds):
        draw_collectives(axis, ranks, figures)
    if crowds:
        axes[2][0].legend()
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:3])
