#!/usr/bin/env python3
"""The four figures of "Awareness of MPI Virtual Process Topologies on the Single-Chip Cloud Computer" (Christgau and Schnor, 2012)
from the strict channel of this library: PNG and CSV under build/bench/scc.

    scc.py                   measures and draws, after `make build`; a minute on two free cores
    scc.py --docs            copies the figures to docs/ too
    scc.py --draw            draws again what was measured

Real processes under mpiexec exchange real messages through sections of 8 KiB buffers; the library counts the lines, chunks and
header lines that it moves and looks at. Model time is what the chip would have taken for these counts, by the constants below.
Real time is what this machine took, with 46 of 48 processes asleep: `nice -n -15 python3 benchmarks/scc.py` keeps others away.
"""

import argparse
import csv
import shutil
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Behind all others: a file of tests/ has the name of a package that matplotlib needs.
sys.path.append(str(HERE.parent / "tests"))
import environments  # noqa: E402

ROOT = environments.ROOT
OUT = environments.BUILD / "bench" / "scc"
PROGRAM = ROOT / "target" / "quick" / "scc"
MPIEXEC = environments.BUILD / "install" / "bin" / "mpiexec"

# Microseconds: a chunk (handshake), a polled header (an uncached read by a P54C at 533 MHz), a line moved, each hop of a line.
CHUNK, POLL, LINE, HOP = 2.0, 1.0, 0.36, 0.0145
# A grid point of the heat solver: some hundred cycles.
POINT = 0.2
SIDE, ITERATIONS = 512, 4

FIGURES = ["distance", "processes", "topology", "heat"]
BANDWIDTH = ["series", "bytes", "model_MBps", "real_MBps", "seconds", "chunks", "lines", "line_hops", "polls"]
HEAT = ["processes", "layout", "model_us_per_iteration", "speed_up", "worst_rank", "points", "chunks", "lines", "line_hops", "polls",
        "sum"]
DISTANCES = {0: "0,1", 5: "0,10", 8: "0,47"}
STARTED = [2, 12, 24, 48]
SOLVERS = [1, 2, 4, 6, 8, 12, 16, 24, 32, 48]


def model(chunks, lines, line_hops, polls):
    """What the chip takes for that, in microseconds."""
    return chunks * CHUNK + lines * LINE + line_hops * HOP + polls * POLL


def cores(started):
    """The last process on core 47, eight hops from the first."""
    return ",".join(str(core) for core in [*range(started - 1), 47])


def start(ranks, words, **settings):
    """Lines of numbers that the program prints."""
    environment = environments.clean_environment(TOWPATH_CHANNEL="strict", **settings)
    command = [MPIEXEC, "-n", ranks, PROGRAM, *words]
    result = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, timeout=300)
    if result.returncode:
        raise SystemExit(f"{' '.join(str(word) for word in command)} ended with {result.returncode}:\n{result.stderr}")
    return [line.split(",")[1:] for line in result.stdout.splitlines()]


def bandwidth(series, ranks, shape="flat", **settings):
    """One row for each message size."""
    rows = []
    for _, size, seconds, *counts in start(ranks, ["pingpong", shape], **settings):
        size, seconds, counts = int(size), float(seconds), [int(count) for count in counts]
        rows.append([series, size, 2 * size / model(*counts), 2 * size / seconds / 1e6, seconds, *counts])
    return rows


def interleaved(launches, *measured):
    """Of several launches of each series the fastest row for each message size; A B C A B C, since the machine changes."""
    fastest = {}
    for _ in range(launches):
        for row in (row for one in measured for row in one()):
            key = tuple(row[:2])
            if key not in fastest or fastest[key][3] < row[3]:
                fastest[key] = row
    return list(fastest.values())


def heat():
    """The solver's time is that of its slowest rank: its points, the lines and chunks it writes, the headers it polls."""
    table, sums = [], set()
    alone = SIDE * SIDE * POINT
    for ranks in SOLVERS:
        for layout in ["flat", "grid"]:
            ranked = []
            for _, rank, iterations, points, *counts, total in start(ranks, ["heat", layout, SIDE, ITERATIONS]):
                counts = [int(count) for count in counts]
                time = int(points) * POINT + model(*counts) / int(iterations)
                ranked.append((time, [int(rank), int(points), *counts, total]))
                sums.add(total)
            time, worst = max(ranked)
            table.append([ranks, layout, time, alone / time, *worst])
    if len(sums) != 1:
        raise SystemExit(f"the solver's result depends on the layout or on the number of processes: {sorted(sums)}")
    return table


def write(name, heading, rows):
    with open(OUT / f"{name}.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(heading)
        writer.writerows([f"{value:.4g}" if isinstance(value, float) else value for value in row] for row in rows)


def measure():
    OUT.mkdir(parents=True, exist_ok=True)
    wait = {"TOWPATH_STRICT_LINE_NANOSECONDS": round(1000 * LINE), "TOWPATH_STRICT_HOP_NANOSECONDS": round(1000 * HOP)}
    rows = [row for hops, places in DISTANCES.items() for row in bandwidth(f"distance {hops}", 2, TOWPATH_STRICT_CORES=places)]
    rows += [row for hops, places in DISTANCES.items()
             for row in bandwidth(f"distance {hops}, waiting", 2, TOWPATH_STRICT_CORES=places, **wait)]
    write("distance", BANDWIDTH, rows)
    write("processes", BANDWIDTH,
          [row for started in STARTED for row in bandwidth(f"{started} processes", started, TOWPATH_STRICT_CORES=cores(started))])
    rows = interleaved(
        3,
        lambda: bandwidth("1-D topology, 2 header lines", 48, "ring", TOWPATH_STRICT_HEADER_LINES=2),
        lambda: bandwidth("1-D topology, 3 header lines", 48, "ring", TOWPATH_STRICT_HEADER_LINES=3),
        lambda: bandwidth("no topology", 48),
    )
    write("topology", BANDWIDTH, rows)
    write("heat", HEAT, heat())


def read(name):
    with open(OUT / f"{name}.csv", newline="") as file:
        return list(csv.DictReader(file))


def curves(name, column):
    """Message sizes and bandwidths of each series."""
    found = defaultdict(list)
    for row in read(name):
        found[row["series"]].append((int(row["bytes"]), float(row[column])))
    return found


def summary():
    """What the slides' axes allow, and what came out; how much a topology gives back."""
    top = {series: max(value for _, value in points) for name in FIGURES[:3] for series, points in curves(name, "model_MBps").items()}
    real = {series: dict(points) for series, points in curves("topology", "real_MBps").items()}
    ring, three, flat = (series for series in real)
    lines = []

    def say(what, value, holds):
        lines.append(f"{'met   ' if holds else 'MISSED'} {what}: {value}")

    say("2 processes, distance 0, (80, 90] MB/s", f"{top['distance 0']:.1f}", 80 < top["distance 0"] <= 90)
    say("2 processes, distance 8, (60, 70] MB/s", f"{top['distance 8']:.1f}", 60 < top["distance 8"] <= 70)
    falls = [top[f"{started} processes"] for started in STARTED]
    say("fewer MB/s with more processes", ", ".join(f"{value:.1f}" for value in falls), falls == sorted(falls, reverse=True))
    say("48 processes, 1-D topology, 2 lines, (25, 30] MB/s", f"{top[ring]:.1f}", 25 < top[ring] <= 30)
    say("3 lines below 2 lines", f"{top[three]:.1f}", top[three] < top[ring])
    say("1-D topology over no topology, model time, at least 4", f"{top[ring] / top[flat]:.1f}", top[ring] >= 4 * top[flat])
    ratio = statistics.median(real[ring][size] / real[flat][size] for size in real[flat] if size >= 4096)
    say("the same in real time, median of the sizes from 4 KiB up", f"{ratio:.1f}", ratio >= 4)
    best = [max(real[series].values()) for series in (ring, flat)]
    say("the same in real time, best size of each", f"{best[0]:.0f} / {best[1]:.0f} MB/s = {best[0] / best[1]:.1f}", best[0] >= 4 * best[1])
    speed = {(int(row["processes"]), row["layout"]): float(row["speed_up"]) for row in read("heat")}
    say("heat solver, 48 processes, speed-up with and without topology", f"{speed[48, 'grid']:.1f} / {speed[48, 'flat']:.1f}",
        speed[48, "grid"] > speed[48, "flat"])
    return lines


def size_axis(axis, title, unit):
    axis.set(xscale="log", xlabel="message size, bytes", ylabel=f"bandwidth, MB/s ({unit})", title=title)
    axis.set_xscale("log", base=2)
    axis.set_xticks([4 ** power for power in range(1, 12)],
                    ["4", "16", "64", "256", "1 Ki", "4 Ki", "16 Ki", "64 Ki", "256 Ki", "1 Mi", "4 Mi"], rotation=45)
    axis.grid(alpha=0.3)


def draw():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot

    colours = ["#2471a3", "#b9770e", "#c0392b", "#7d8a8c"]

    def plot(axis, name, column):
        series = [item for item in curves(name, column).items() if "waiting" not in item[0]]
        for (label, points), colour in zip(series, colours):
            axis.plot(*zip(*points), marker="o", markersize=3, color=colour, label=label)

    def save(figure, name, note):
        figure.text(0.01, 0.005, note, fontsize=7, color="#444444", va="bottom")
        figure.tight_layout(rect=(0, 0.05, 1, 1))
        figure.savefig(OUT / f"{name}.png", dpi=110)
        pyplot.close(figure)

    constants = (f"Model time: {CHUNK:g} us for each chunk + {POLL:g} us for each header polled + ({LINE:g} us + {1000 * HOP:g} ns for each hop) "
                 "for each line, for the counts of the real code.")
    figure, axis = pyplot.subplots(figsize=(8, 5.2))
    plot(axis, "distance", "model_MBps")
    size_axis(axis, "2 processes at Manhattan distances 0, 5 and 8", "model time")
    axis.legend()
    save(figure, "distance", constants)

    figure, axis = pyplot.subplots(figsize=(8, 5.2))
    plot(axis, "processes", "model_MBps")
    size_axis(axis, "Distance 8; 2 active processes of so many started", "model time")
    axis.legend()
    save(figure, "processes", constants)

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(13, 5.4))
    plot(left, "topology", "model_MBps")
    size_axis(left, "48 processes, 2 of them active, distance 8", "model time")
    left.legend()
    plot(right, "topology", "real_MBps")
    size_axis(right, "The same processes on this machine", "real time")
    right.set(yscale="log")
    right.legend()
    save(figure, "topology", constants + "\nReal time: 48 processes on 2 cores, 46 of them asleep; the fastest of several rounds; the machine was shared with other work.")

    figure, axis = pyplot.subplots(figsize=(8, 5.2))
    for (layout, label), colour in zip({"grid": "2-D topology declared", "flat": "no topology"}.items(), colours[::2]):
        points = [(int(row["processes"]), float(row["speed_up"])) for row in read("heat") if row["layout"] == layout]
        axis.plot(*zip(*points), marker="o", markersize=4, color=colour, label=label)
    axis.plot([1, 48], [1, 48], color="#aaaaaa", linewidth=1, linestyle="--", label="ideal")
    axis.set(xlabel="processes", ylabel="speed-up (model time)", title=f"Heat solver, {SIDE} x {SIDE} points, parts in two dimensions",
             xticks=SOLVERS, xlim=(0, 50), ylim=(0, 50))
    axis.grid(alpha=0.3)
    axis.legend()
    save(figure, "heat", f"Model time of the slowest rank: {POINT:g} us for each grid point, and for the counts of the real code (what it wrote, and what\n"
         f"it polled to find what came) {CHUNK:g} us for each chunk + {POLL:g} us for each header polled + ({LINE:g} us + {1000 * HOP:g} ns for each hop) for each line.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", action="store_true", help="draw what was measured before")
    parser.add_argument("--docs", action="store_true", help="copy the figures to docs/")
    options = parser.parse_args()
    if options.draw:
        return draw()
    if not MPIEXEC.exists():
        sys.exit(f"{MPIEXEC.relative_to(ROOT)} does not exist; run make build first")
    with environments.lock():
        build = ["cargo", "build", "--profile", "quick", "-p", "towpath-programs", "--features", "scc", "--bin", "scc"]
        environments.command(build, "scc-build.log", cwd=ROOT)
        measure()
    environments.command([environments.venv("plot") / "bin" / "python", __file__, "--draw"], "scc-plot.log")
    lines = summary()
    print("\n".join(lines))
    if options.docs:
        for name in FIGURES:
            for kind in ("csv", "png"):
                shutil.copy(OUT / f"{name}.{kind}", ROOT / "docs" / "scc" / f"{name}.{kind}")
    return 1 if any(line.startswith("MISSED") for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
