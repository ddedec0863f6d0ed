#!/usr/bin/env python3
"""Collectives as Intel's IMB programs measure them, the same binaries on Towpath, MPICH and Intel
MPI in turn: the mean time of each blocking call (IMB-MPI1), `t_pure` of each nonblocking one
(IMB-NBC), and how much of it overlaps with computing.

    imb.py                        2, 4 and 8 ranks, five rounds (about 40 minutes)
    imb.py --ranks 2 --rounds 1 --only IMB-MPI1
    imb.py --table                the table again, from recorded figures

A ratio is Towpath's time divided by that of the best peer in the same round, and the table has the
median over the rounds; rows above 1 are listed.
"""

import argparse
import csv
import re
import statistics
import subprocess
import time
from collections import defaultdict
from itertools import product
from pathlib import Path

import libraries
import measuring
from libraries import OUT, environments

CSV = OUT / "imb.csv"
COLUMNS = ["date", "round", "line", "library", "program", "ranks", "benchmark", "bytes", "column",
           "value"]
NAMES = ["allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "bcast", "gather",
         "gatherv", "reduce", "reduce_scatter", "scatter", "scatterv", "barrier"]
BENCHMARKS = {"IMB-MPI1": [name.capitalize() for name in NAMES],
              "IMB-NBC": [f"I{name}" for name in NAMES]}
COLUMN = {"IMB-MPI1": "t_avg[usec]", "IMB-NBC": "t_pure[usec]"}
OVERLAP = "overlap[%]"
# Sizes at which overlap counts, with two ranks.
OVERLAPPED = (1 << 16, 1 << 20)
LONGEST = 22  # the power of two of the largest message
LIMIT = 240  # seconds of a run


def rows_of(output, wanted):
    """(benchmark, bytes, column, value) of the tables that IMB has printed."""
    benchmark, header = None, []
    for line in output.splitlines():
        words = line.split()
        if line.startswith("# Benchmarking"):
            benchmark, header = words[2], []
        elif "#repetitions" in words:
            header = words
        elif header and len(words) == len(header) and re.fullmatch(r"[\d.]+", words[0]):
            row = dict(zip(header, words))
            for column in wanted:
                if column in row:
                    yield benchmark, int(row.get("#bytes", 0)), column, float(row[column])


def measure(library, program, ranks, sample):
    """One run of a program by a library; no rows if it failed, those that it printed if it ran too
    long."""
    binary = environments.venv("intel") / "bin" / program
    settings = {"LD_LIBRARY_PATH": library.prefix / "lib", **library.settings}
    if library.name == "mpich" and ranks > libraries.CORES:
        settings["MPIR_CVAR_CH4_PROGRESS_THROTTLE"] = "1"
    command = [library.prefix / "bin" / "mpiexec", *library.options, "-n", ranks, binary,
               "-npmin", ranks, "-iter", 1000, "-time", sample, "-msglog", f"3:{LONGEST}",
               "-mem", 2, *BENCHMARKS[program]]
    try:
        run = subprocess.run([str(word) for word in command],
                             env=environments.clean_environment(**settings), capture_output=True,
                             text=True, timeout=LIMIT, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as late:
        print(f"   {library.name} {program} {ranks}: still ran after {LIMIT} s", flush=True)
        whole_lines = (late.stdout or b"").decode().rpartition("\n")[0]
        return list(rows_of(whole_lines, [COLUMN[program], OVERLAP]))
    if run.returncode:
        print(f"   {library.name} {program} {ranks}: ended with {run.returncode}: "
              f"{run.stderr[-300:]}", flush=True)
        return []
    return list(rows_of(run.stdout, [COLUMN[program], OVERLAP]))


def measure_all(options):
    chosen = libraries.libraries(["towpath", "mpich", "intel"], options.prefix)
    CSV.parent.mkdir(parents=True, exist_ok=True)
    libraries.build(chosen, [])
    programs = [program for program in BENCHMARKS if re.search(options.only, program)]
    with environments.lock(), open(CSV, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for number, program, ranks in product(range(options.rounds), programs, options.ranks):
            started, line = time.monotonic(), measuring.line_nanoseconds()
            for library in chosen:
                before = [time.strftime("%Y-%m-%d %H:%M"), number, f"{line:.0f}", library.name]
                for row in measure(library, program, ranks, options.seconds):
                    writer.writerow([*before, program, ranks, *row])
            file.flush()
            seconds = f"{time.monotonic() - started:.0f} s"
            print(f"round {number + 1}: {program} with {ranks} ranks in {seconds}", flush=True)


def read():
    """Figures as {(program, ranks, benchmark, bytes, column): {round: {library: value}}}."""
    figures = defaultdict(lambda: defaultdict(dict))
    with open(CSV, newline="") as file:
        for row in csv.DictReader(file):
            key = (row["program"], int(row["ranks"]), row["benchmark"], int(row["bytes"]),
                   row["column"])
            figures[key][int(row["round"])][row["library"]] = float(row["value"])
    return figures


def compared(rounds, best):
    """Towpath's median, the peers', and the median of the ratio; None if there is no pair."""
    pairs = [(by["towpath"], best(value for name, value in by.items() if name != "towpath"))
             for by in rounds.values() if "towpath" in by and len(by) > 1]
    if not pairs:
        return None
    ratios = [own / peer for own, peer in pairs if own > 0 and peer > 0]
    own, peer = (statistics.median(values) for values in zip(*pairs))
    return own, peer, statistics.median(ratios) if ratios else 1.0


def print_table():
    """The geometric mean of each program and number of ranks, and the rows that miss the bar."""
    ratios, slower, overlaps = defaultdict(list), [], []
    for (program, ranks, benchmark, size, column), rounds in sorted(read().items()):
        found = compared(rounds, max if column == OVERLAP else min)
        if found is None:
            continue
        own, peer, ratio = found
        if column != OVERLAP:
            ratios[program, ranks].append(ratio)
            if ratio > 1:
                slower.append(f"| {program} | {ranks} | {benchmark} | {size} | {own:.2f} | "
                              f"{peer:.2f} | {ratio:.2f} |")
        elif ranks == 2 and size in OVERLAPPED:
            overlaps.append(f"| {benchmark} | {size} | {own:.0f} | {peer:.0f} |")
    print("| program | ranks | rows | geometric mean | rows above 1 |\n|---|---|---|---|---|")
    for (program, ranks), values in sorted(ratios.items()):
        above = sum(value > 1 for value in values)
        mean = statistics.geometric_mean(values)
        print(f"| {program} | {ranks} | {len(values)} | {mean:.2f} | {above} |")
    print("\n| program | ranks | benchmark | bytes | Towpath, us | best peer, us | ratio |")
    print("|---|---|---|---|---|---|---|")
    print("\n".join(slower))
    if overlaps:
        print("\n| overlap, 2 ranks | bytes | Towpath, % | best peer, % |\n|---|---|---|---|")
        print("\n".join(overlaps))


@environments.segments_swept()
def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=lambda text: [int(word) for word in text.split(",")],
                        default=[2, 4, 8])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="programs that this regular expression finds")
    parser.add_argument("--seconds", type=float, default=0.02, help="of one size")
    parser.add_argument("--prefix", type=Path,
                        help="where Towpath is installed, if not in build/install")
    parser.add_argument("--table", action="store_true",
                        help="only print the table of recorded figures")
    options = parser.parse_args()
    if not options.table:
        measure_all(options)
    print_table()


if __name__ == "__main__":
    main()
