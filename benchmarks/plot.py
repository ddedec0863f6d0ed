"""Draws the figures of run.py from its CSV file: latency, bandwidth and rate over the message size, and how the collectives
compare with the best peer: plot.py results.csv picture.png."""

import statistics
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as pyplot  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent))
from run import COLLECTIVES, ratio, read  # noqa: E402

UNITS = {"latency": "half round trip, microseconds", "bandwidth": "MB/s, window 64", "rate": "messages per second, window 64"}
COLOURS = {"towpath": "#c0392b", "intel": "#2471a3", "mpich": "#7d8a8c", "openmpi": "#b9770e"}
SIZES = {8: "#f5b7b1", 4096: "#e06666", 65536: "#8e2a20"}


def draw_sizes(axis, name, figures):
    """One line for each library over the message size."""
    for library, colour in COLOURS.items():
        points = [(max(size, 1), statistics.median(by_library[library].values()))
                  for (ranks, kind, size), by_library in sorted(figures.items())
                  if ranks == 2 and kind == name and by_library.get(library)]
        if points:
            width = 2.5 if library == "towpath" else 1.2
            axis.plot(*zip(*points), marker="o", markersize=3, linewidth=width, color=colour, label=library)
    axis.set(xscale="log", yscale="log", xlabel="bytes", ylabel=UNITS[name], title=f"{name}, 2 ranks")
    axis.grid(alpha=0.3)
    axis.legend()


def draw_collectives(axis, ranks, figures):
    """One group of bars for each collective; 1 is the best peer."""
    for offset, (size, colour) in zip((-0.27, 0, 0.27), SIZES.items()):
        heights = [(place, ratio(name, figures[ranks, name, size])[0]) for place, name in enumerate(COLLECTIVES)
                   if (ranks, name, size) in figures]
        places = [(place + offset, height) for place, height in heights if height is not None]
        if places:
            axis.bar(*zip(*places), width=0.25, color=colour, label=f"{size} bytes")
    barrier = ratio("barrier", figures[ranks, "barrier", 0])[0] if (ranks, "barrier", 0) in figures else None
    if barrier is not None:
        axis.bar([COLLECTIVES.index("barrier")], [barrier], width=0.25, color="#7d8a8c")
    axis.axhline(1, color="black", linewidth=1)
    axis.set_xticks(range(len(COLLECTIVES)), COLLECTIVES, rotation=30)
    axis.set(title=f"collectives, {ranks} ranks on 2 cores", ylabel="time / time of the best peer", ylim=(0, 1.6))
    axis.grid(axis="y", alpha=0.3)
    axis.legend()


def main(source, picture):
    figures, _, _ = read(source)
    figure, axes = pyplot.subplots(2, 3, figsize=(15, 9))
    for axis, name in zip(axes[0], UNITS):
        draw_sizes(axis, name, figures)
    crowds = sorted({ranks for ranks, name, _ in figures if name == "barrier"})
    for axis, ranks in zip(axes[1], crowds):
        draw_collectives(axis, ranks, figures)
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:3])
