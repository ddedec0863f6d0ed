#!/usr/bin/env python3
"""Measures chares: the programs in benchmarks/chares, in alternation, and raw MPI in the same jobs.

    chares.py                              all rows, with build/install
    chares.py --rounds 3 --parts messages  some: table, messages, many, balance, mpich, hosts
    chares.py --picture table.png          and a picture of the table

Prints tables of medians, the bars of each row, and the line ping-pong before and after each round.
The figures of Charm++ and of the first publication are not of the same run: they are constants.
"""

import argparse
import csv
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import environments  # noqa: E402
import tables  # noqa: E402

SOURCES = ROOT / "benchmarks/chares"
OUT = environments.BUILD / "bench/chares"
CPP = ["messages", "scale", "balance"]
PARTS = ("table", "messages", "many", "balance", "mpich", "hosts")
MESSAGE_SIZES = (8, 64, 1024, 16384, 65536, 131072, 1 << 20)
# Overhead over raw MPI: microseconds, and a part of the time.
OVERHEAD, OVERHEAD_PART = 0.3, 0.05
# Columns of the table's program, behind the size in MB.
WAYS = ("copied", "viewed", "given", "posted", "onecopy")
PUBLISHED = "published"
# One way of Charm++ 8.0.1's own ping-pong, microseconds, the best of its builds for each size in
# MB: nocopy or nocopypost, and marshalled. Measured once, on a machine of this kind.
CHARM = {0.125: (16, 34.8), 0.25: (56.9, 65.3), 0.5: (110.3, 130.8), 1: (65, 322), 2: (319.6, 444),
         4: (1112, 2935), 8: (3655, 9731), 16: (2723, 23383), 32: (8707, 47001), 64: (13728, 96266)}


def run(words, limit=600, **settings):
    """What a command says."""
    environment = environments.clean_environment(**settings)
    result = subprocess.run([str(word) for word in words], env=environment, cwd=OUT, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=limit)
    if result.returncode:
        raise SystemExit(f"{words[0]} ended with {result.returncode}: {result.stdout[-500:]}")
    return result.stdout


def build(prefix):
    """Compiles all programs."""
    OUT.mkdir(parents=True, exist_ok=True)
    found = {"PKG_CONFIG_PATH": prefix / "lib/pkgconfig"}
    flags = run(["pkg-config", "--cflags", "--libs", "towpath-standard", "towpath-actors"], **found)
    for name in CPP:
        run(["g++", "-std=c++20", "-O2", SOURCES / f"{name}.cpp", "-o", name, *flags.split()])
    run(["gcc", "-O2", ROOT / "benchmarks/line_ping_pong.c", "-o", "line_ping_pong", "-lpthread"])
    charmc = [prefix / "bin/towpath-charmc"]
    run([*charmc, SOURCES / "table.ci"])
    run([*charmc, "-O2", "-I.", "-o", "table", SOURCES / "table.C"])


def values(said):
    """Figures of lines "NAME [SIZE] VALUE"."""
    rows = [line.split() for line in said.splitlines()]
    return {tuple(row[:-1]): float(row[-1]) for row in rows if len(row) in (2, 3)}


def table_values(said):
    """Figures of the table's program."""
    found = {}
    for line in said.splitlines():
        if line.startswith("small"):
            found["small", "8"] = float(line.rsplit(None, 1)[1])
        row = line.split()
        if len(row) == 9 and row[0] != "MB":
            for way, value in zip(WAYS, row[1:]):
                found[way, row[0]] = float(value)
            found[PUBLISHED, row[0]] = float(row[7])
    return found


def jobs(prefix, parts):
    """Name, function that runs it and gives figures."""
    own, two = prefix / "bin/mpiexec", ("taskset", "-c", "0,1")
    sizes = [str(size) for size in MESSAGE_SIZES]
    library = {"LD_LIBRARY_PATH": prefix / "lib"}
    if "table" in parts:
        yield "table", lambda: table_values(run([own, "-n", 2, "./table"], **library))
    if "messages" in parts:
        yield "messages", lambda: values(run([own, "-n", 2, "./messages", *sizes], **library))
    if "many" in parts:
        yield "many", lambda: values(run([own, "-n", 2, "./scale"], **library))
    if "balance" in parts:
        for ranks in (2, 8):
            words = [*two, own, "-n", ranks, "./balance"]
            yield f"balance, {ranks} ranks", lambda words=words: values(run(words, **library))
    if "mpich" in parts:
        peer = environments.venv("mpich")
        settings = {"LD_LIBRARY_PATH": f"{peer / 'lib'}:{prefix / 'lib'}",
                    "LD_PRELOAD": peer / "lib/libmpi_abi.so.1"}
        words = [peer / "bin/mpiexec", "-n", 2, "./messages", *sizes]
        yield "mpich", lambda: values(run(words, **settings))
    if "hosts" in parts:
        for network in ("tcp", "clic"):
            words = [sys.executable, ROOT / "tests/hosts/hosts.py", "--hosts", 2, "--", "sh", "-c",
                     environments.ON_HOSTS, own, "-n", 2, OUT / "messages", *sizes]
            settings = {**library, "TOWPATH_NETWORK": network}
            yield f"two hosts, {network}", lambda words=words, settings=settings: values(
                run(words, **settings))


def line():
    """The line ping-pong of the moment, in nanoseconds."""
    return float(run(["./line_ping_pong"]))


def measured(prefix, parts, rounds):
    """Medians of all rounds, by job and name, and the line ping-pongs."""
    samples, lines = defaultdict(lambda: defaultdict(list)), []
    for number in range(rounds):
        for name, job in jobs(prefix, parts):
            lines.append(line())
            print(f"round {number + 1} of {rounds}: {name}, line {lines[-1]:.0f} ns",
                  file=sys.stderr, flush=True)
            for figure, value in job().items():
                samples[name][figure].append(value)
    medians = {name: {figure: statistics.median(some) for figure, some in all_of_it.items()}
               for name, all_of_it in samples.items()}
    return medians, lines


def verdict(value, bar):
    return f"{value:.3g} ({'met' if value <= bar else '**missed**'}: {bar:.3g})"


def show_table(figures):
    print(f"\n8 bytes, one way: {verdict(figures['small', '8'], 0.7)} us\n")
    sizes = sorted((size for way, size in figures if way == "copied"), key=float)
    heads = ["MB", "copied", "viewed", "given", "posted", "one copy", "posted / one copy",
             "copied / one copy", "copied / posted", "published"]
    show_row(heads)
    show_row(["---"] * len(heads))
    for size in sizes:
        copied, viewed, given, posted, one = (figures[way, size] for way in WAYS)
        show_row([f"{float(size):g}", f"{copied:.1f}", f"{viewed:.2f}", f"{given:.1f}",
                  f"{posted:.1f}", f"{one:.1f}", verdict(posted / one, 1.3),
                  verdict(copied / one, 3), f"{copied / posted:.2f}", figures[PUBLISHED, size]])
    heads = ["MB", "Charm++ zero-copy", "/ viewed", "/ posted", "Charm++ copied", "/ copied"]
    print()
    show_row(heads)
    show_row(["---"] * len(heads))
    for size in sizes:
        nocopy, marshalled = CHARM[float(size)]
        show_row([f"{float(size):g}", nocopy, f"{nocopy / figures['viewed', size]:.0f}",
                  f"{nocopy / figures['posted', size]:.1f}", marshalled,
                  f"{marshalled / figures['copied', size]:.1f}"])


def show_row(cells):
    """A row of a table in Markdown."""
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def show_messages(name, figures):
    heads = ["bytes", "raw MPI", "in two buffers", "copied", "nocopy", "posted", "one copy",
             "best over raw", "best over two buffers"]
    print(f"\n{name}\n")
    show_row(heads)
    show_row(["---"] * len(heads))
    for size in MESSAGE_SIZES:
        row = [figures.get((way, str(size)), float("nan"))
               for way in ("raw", "apart", "copied", "nocopy", "posted", "onecopy")]
        best = min(row[2], row[3])
        over = [verdict(best - raw, OVERHEAD + OVERHEAD_PART * raw) for raw in row[:2]]
        show_row([size, *(f"{time:.2f}" for time in row), *over])


def show_many(figures):
    value = {name: some for (name,), some in figures.items()}
    print(f"\n10^6 chares, s: {verdict(value['create'], 1)}")
    print(f"bytes each: {verdict(value['bytes'], 400)}")
    print(f"broadcast, us for each element: {verdict(value['broadcast'], 0.2)}")
    print(f"migration / memcpy: {verdict(value['migrate'] / value['memcpy'], 2)}")


def show_balance(name, figures):
    value = {what: some for (what,), some in figures.items()}
    print(f"\n{name}: initial load 3:1 {verdict(value['imbalanced'], 1.1)}, greatest / mean "
          f"{verdict(value['spread'], 1.1)}, balanced already {verdict(value['even'], 1.02)}")


def draw(figures, picture):
    """The table as a picture."""
    source = OUT / "table.csv"
    with open(source, "w", newline="") as file:
        csv.writer(file).writerows((*name, value) for name, value in figures.items())
    tables.plot(source, picture, SOURCES.parent / "chares_plot.py")


def show(medians):
    for name, figures in medians.items():
        if name == "table":
            show_table(figures)
        elif name == "many":
            show_many(figures)
        elif name.startswith("balance"):
            show_balance(name, figures)
        else:
            show_messages({"messages": "One host", "mpich": "MPICH, one host"}.get(name, name),
                          figures)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, default=environments.BUILD / "install")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    prefix = options.prefix.resolve()
    with environments.lock():
        build(prefix)
        medians, lines = measured(prefix, options.parts, options.rounds)
    show(medians)
    print(f"\nline ping-pong: {min(lines):.0f} to {max(lines):.0f} ns")
    if options.picture and "table" in medians:
        draw(medians["table"], options.picture)
        print(f"The picture is in {options.picture}.")


if __name__ == "__main__":
    main()
