#!/usr/bin/env python3
"""Measures Towpath and its peers with the same C programs, interleaved A B C D A B C D, and prints medians, ratios and bars.

    run.py                             everything, nine rounds (two hours and a half at most on two cores)
    run.py --rounds 3 --only latency   some groups, quickly
    run.py --libraries towpath --before PREFIX     the rows that are slower than in an earlier build
    run.py --libraries towpath --before PREFIX --driver build/tests/device/libcuda.so.1
                                       and those that a GPU driver in the process makes slower
    run.py --append                    further rounds where rows lack some, first those with fewer than five in the slow phase
    run.py --table build/bench/results.csv        the tables again, from recorded figures

Machines of this kind change their speed within seconds; every figure records the line ping-pong before and after it, and a row counts
in a round for the phase in which all libraries have a figure (measuring.py). Read ratios, not times. The ratio says how many times slower Towpath is than the
best peer of the same round (below 1: faster); the tables show its median for each phase, and how many rounds that is.

Fairness: where each rank has a core, the ranks of all libraries pin themselves to the same cores (`pin=` of the programs); crowds and
whole jobs are not pinned. Open MPI runs with --oversubscribe; MPICH runs with and without its progress throttle where ranks exceed cores, and is left
out where a call takes more than 5 ms; nothing else is set. Buffers lie at the same offsets for all (point_to_point.c, measure.h).
Builds and other benchmarks are kept out by build/lock.
"""

import argparse
import re
from pathlib import Path

import libraries
import measuring
import speed_bars
import tables
from groups import groups
from libraries import OUT, environments

# The whole table takes no longer.
MINUTES = 150


def measured(options):
    """Measures, and says where the figures are."""
    OUT.mkdir(parents=True, exist_ok=True)
    wanted = [group for group in groups(options.crowd) if re.search(options.only, group.name)]
    path = OUT / "results.csv"
    with environments.lock():
        chosen = libraries.libraries(options.libraries.split(","), options.prefix, options.before,
                                     options.driver)
        libraries.build(chosen, wanted)
        measuring.measure_all(options, chosen, wanted, path)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="measure so long at most")
    parser.add_argument("--only", default="", help="groups whose name this regular expression finds: ^latency$, typed, collectives-back-8, ...")
    parser.add_argument("--append", action="store_true", help="add rounds to the figures that are there")
    parser.add_argument("--crowd", type=int, default=48, help="ranks of the crowded case")
    parser.add_argument("--libraries", default="towpath,mpich,mpich-throttled,openmpi,intel,bare")
    parser.add_argument("--prefix", type=Path, help="where Towpath is installed, if not in build/install")
    parser.add_argument("--before", type=Path,
                        help="where an earlier build of Towpath is installed, for the same rounds")
    parser.add_argument("--driver", type=Path,
                        help="the library of a GPU driver: with --before, also measure beside it")
    parser.add_argument("--table", type=Path, help="only print the tables of recorded figures")
    parser.add_argument("--plot", action="store_true", help="draw build/bench/plot.png too")
    parser.add_argument("--readme", action="store_true", help="write the table into README.md and docs/speed.md, with the picture")
    options = parser.parse_args()
    path = options.table or measured(options)
    table, verdicts = tables.tables(path), speed_bars.verdicts(path)
    (path.parent / "table.md").write_text(table)
    (path.parent / "bars.md").write_text(verdicts)
    print(f"{table}\n{verdicts}\n{speed_bars.slower_than_before(path)}")
    if options.plot:
        tables.plot(path, path.parent / "plot.png")
    if options.readme:
        tables.write_readme(path, verdicts)


if __name__ == "__main__":
    main()
