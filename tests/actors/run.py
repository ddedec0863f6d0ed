#!/usr/bin/env python3
"""Runs random programs of chares over MPI (tools/programs, chare_traffic): on an installed Towpath,
by both its ABIs, on one host and on two, and on MPICH. Then chare_balance: an array that is balanced,
and a checkpoint of two ranks from which other numbers of ranks go on.

    run.py                   build/install and MPICH
    run.py --filter MPICH    some of them
    run.py --programs 10000  more programs in each job
    run.py --seed 7          other ones

A job passes when it ends in time with status 0 and says what it should. A job that does nothing
passes when it ends with status 1 and a sentence. Prints "N passed, M failed".
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import environments  # noqa: E402

CARGO = os.environ.get("CARGO", "cargo")
BUILD = [CARGO, "build", "-q", "-p", "towpath-programs", "--bin", "chare_traffic", "--bin", "chare_balance"]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", environments.ROOT / "target"))
PROGRAM = TARGET / "debug/chare_traffic"
BALANCE = TARGET / "debug/chare_balance"
# Seconds in which a job ends that does nothing, and what it says.
STALL, SENTENCE = 60, "no rank has anything left to do"
STANDARD, MPICH = "libmpi_abi.so.1", "libmpi.so.12"


def jobs(prefix):
    """Name, words that start mpiexec, the MPI library, ranks, share of the programs."""
    mpich = environments.venv("mpich")
    own = [prefix / "bin/mpiexec"]
    hosts = [sys.executable, HERE.parent / "hosts/hosts.py", "--hosts", 2]
    two = [*hosts, "--", "sh", "-c", environments.ON_HOSTS, *own]
    for ranks in (1, 2, 3, 4, 8):
        yield f"Towpath, {ranks} ranks", own, prefix / "lib" / STANDARD, ranks, 1
    yield "Towpath, MPICH ABI, 3 ranks", own, prefix / "lib" / MPICH, 3, 1
    for ranks in (2, 5):
        yield f"Towpath on two hosts, {ranks} ranks", two, prefix / "lib" / STANDARD, ranks, 0.2
    # It polls without giving way, so more ranks than cores take their time.
    for ranks, share in ((1, 1), (2, 1), (4, 0.1)):
        start = [mpich / "bin/mpiexec"]
        yield f"MPICH, {ranks} ranks", start, mpich / "lib" / STANDARD, ranks, share
    yield "MPICH, MPICH ABI, 2 ranks", start, mpich / "lib" / MPICH, 2, 1


def stalls(prefix):
    """Jobs that do nothing: name, mpiexec, the MPI library, ranks."""
    mpich = environments.venv("mpich")
    for ranks in (1, 3):
        yield f"Towpath, {ranks} ranks", prefix / "bin/mpiexec", prefix / "lib" / STANDARD, ranks
    yield "MPICH, 2 ranks", mpich / "bin/mpiexec", mpich / "lib" / STANDARD, 2


def run(words, library, limit):
    """The status of a job that may take so many seconds, and what it said."""
    words = ["timeout", "--kill-after=5", limit, *words]
    # As in a program that is linked with this library.
    environment = environments.clean_environment(LD_LIBRARY_PATH=str(library.parent),
                                                 LD_PRELOAD=str(library))
    result = subprocess.run([str(word) for word in words], env=environment, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, errors="replace")
    return result.returncode, result.stdout


def balanced(prefix):
    """Jobs of chare_balance: the name, whether it has ended well, and what it said."""
    library = prefix / "lib" / STANDARD
    for ranks in (2, 8):
        status, output = run([prefix / "bin/mpiexec", "-n", ranks, BALANCE, "greedy", 4], library, 120)
        loads = [int(load) for load in re.findall(r"^load (\d+)$", output, re.MULTILINE)]
        # The half of the elements that has the load 3 and the other half have 64 in all.
        well = status == 0 and len(loads) == ranks and sum(loads) == 64 and max(loads) * ranks <= 80
        yield f"Load balancing, {ranks} ranks", well, output
    with tempfile.TemporaryDirectory() as directory:
        sums = set()
        for ranks, what in ((2, "write"), (1, "restart"), (3, "restart")):
            job = ["-n", ranks, BALANCE, "refine", 4, what, directory]
            status, output = run([prefix / "bin/mpiexec", *job], library, 120)
            found = re.findall(r"^sum (\d+)$", output, re.MULTILINE)
            sums.update(found)
            well = status == 0 and bool(found) and len(sums) == 1
            yield f"Checkpoint, {what} on {ranks} ranks", well, output


def results(options):
    """The name of each job, whether it has ended well, and what it said."""
    prefix = options.prefix.resolve()
    for name, start, library, ranks, share in jobs(prefix):
        if re.search(options.filter, name):
            programs = max(1, int(options.programs * share))
            status, output = run([*start, "-n", ranks, PROGRAM, programs, options.seed], library,
                                 60 + programs // 10)
            well = status == 0 and "ok" in output.split()
            yield f"{name}, {programs} programs", well, output
    for name, start, library, ranks in stalls(prefix):
        name = f"{name}, nothing to do"
        if re.search(options.filter, name):
            status, said = run([start, "-n", ranks, PROGRAM, 0, 1], library, STALL)
            yield name, status == 1 and SENTENCE in said, said
    if re.search(options.filter, BALANCE.name):
        yield from balanced(prefix)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, default=environments.BUILD / "install")
    parser.add_argument("--filter", default="", help="jobs whose name this expression finds")
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    environments.command(["flock", environments.BUILD / "lock", *BUILD], "chare-traffic.log",
                         cwd=environments.ROOT)
    environments.report(results(options))


if __name__ == "__main__":
    main()
