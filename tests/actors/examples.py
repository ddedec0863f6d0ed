#!/usr/bin/env python3
"""Builds examples/chares with its Makefile, without warnings, and runs each program on 1, 2 and 4
ranks of an installed Towpath, and some on MPICH. The programs compare what they compute with a
sequential result. Checks also that the fragments in docs/chares.md are lines of the examples.

So does the example in Rust, crates/actors-rust/examples. Programs of examples/ampi must say the same
as ranks of MPI and as chares, and those of ampi/failures.c end with a sentence.

    examples.py
    examples.py --prefix DIRECTORY --filter wave
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import environments  # noqa: E402

EXAMPLES = environments.ROOT / "examples/chares"
AMPI = environments.ROOT / "examples/ampi"
GUIDE = environments.ROOT / "docs/chares.md"
RANKS = (1, 2, 4)
LIMIT = 30
# Program, arguments, what it says if its result is right.
PROGRAMS = [
    ("hello", [], "8 chares on {ranks} ranks"),
    ("forces", [], "total force 24000000, expected 24000000"),
    ("fibonacci", [24], "fibonacci(24) = 46368"),
    ("jacobi2d", [4], "jacobi2d with 4 x 4 blocks is right"),
    ("jacobi3d", [3], "jacobi3d with 3 blocks in each direction is right"),
    ("stripes", [6], "stripes: 6 are right"),
    ("wave", [8, "wave.pgm"], "wave with 8 strips is right"),
    ("particles", [], "particles are right"),
    ("matrix", [4], "matrix with 4 x 4 blocks is right"),
    ("queens", [10], "10 queens are right"),
    ("with_mpi", [], "expected {sum}"),
]
# Jobs of particles, one after another: ranks, words, status, what is said.
CHECKPOINTS = [
    (2, ["log"], 0, "particles are right"),
    (1, ["log", "restart"], 0, "particles are right"),
    (4, ["log", "restart"], 0, "particles are right"),
    (2, ["particles"], 1, "checkpoint file particles cannot be written"),
    (2, ["nothing", "restart"], 1, "checkpoint file nothing/index.chares cannot be read"),
]
# In Rust.
CARGO = os.environ.get("CARGO", "cargo")
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", environments.ROOT / "target"))
ROD_SOURCE = environments.ROOT / "crates/actors-rust/examples/rod.rs"
BUILD_ROD = [CARGO, "build", "-q", "-p", "towpath-actors-rust", "--example", "rod"]
ROD = TARGET / "debug/examples/rod"
ON_MPICH = ("forces", "jacobi2d", "stripes", "with_mpi")
# A program whose main function throws ends with its sentence.
REFUSED = ("jacobi2d", [5], "the number of blocks must divide 48")
# Programs of MPI: so many ranks on so many processes.
AMPI_PROGRAMS = [("heat", [100, 200]), ("calls", [])]
AMPI_RANKS, AMPI_PROCESSES = (8, 5), (1, 2, 3)
# Cases of ampi/failures.c: the sentence, and the code if it is not 1.
AMPI_FAILURES = {
    "truncation": r"MPI_Recv: from rank 1 with tag 3, 80 bytes are sent, but 40 bytes are received",
    "long truncation": r"MPI_Wait: .* 120000 bytes are sent, but 119996 bytes .* be truncated",
    "bcast": r"virtual rank\[[24]\] failed: MPI_Bcast: .* 20 bytes are sent, but 16 bytes",
    "gather": r"MPI_Gather: of a rank to itself, 12 bytes are sent, but 8 bytes are received",
    "destination": r"virtual rank\[3\] failed: MPI_Send: the destination 8 is no rank .* 0 to 7",
    "source": r"MPI_Recv: the source -7 is no rank of the communicator, whose ranks are 0 to 7",
    "root": r"MPI_Bcast: the root 8 is no rank of the communicator",
    "tag": r"MPI_Send: the tag -5 is negative",
    "count": r"MPI_Send: the count -1 is negative",
    "null": r"MPI_Send: the buffer of 2 elements is a null pointer",
    "freed": r"MPI_Barrier: the communicator is none that this rank has; it may have been freed",
    "world": r"MPI_COMM_WORLD and MPI_COMM_SELF cannot be freed",
    "request": r"MPI_Wait: the request is none of this rank, or was completed before",
    "cart": r"MPI_Cart_create: the grid has more ranks than the communicator, 8",
    "in place": r"rank\[[1-7]\] failed: MPI_Gather: MPI_IN_PLACE is not for this buffer",
    "in place of none": r"rank\[[1-7]\] failed: MPI_Reduce: MPI_IN_PLACE is not for this buffer",
    "not initialized": r"MPI_Comm_rank: MPI_Init has not been called",
    "finalized": r"MPI_Barrier: MPI_Finalize has been called",
    "deadlock": r"no rank has anything left to do",
    "circle": r"no rank has anything left to do",
    "unknown": (r"MPI_Ibarrier: argument comm \(0x1f1\) is not a communicator", 5),
    "aborts": ("", 17),
    "code": ("", 9),
}


def build(prefix, directory):
    flags = ["CXXFLAGS=-O2 -Wall -Wextra -Werror", f"PREFIX={prefix}", f"OUT={directory}"]
    environments.command(["make", f"-j{os.cpu_count()}", "-C", EXAMPLES, *flags],
                         "examples-chares.log")


def build_ampi(prefix, directory):
    flags = [f"{name}=-O2 -Wall -Wextra -Werror" for name in ("CFLAGS", "CXXFLAGS")]
    environments.command(["make", f"-j{os.cpu_count()}", "-C", AMPI, *flags, f"PREFIX={prefix}",
                          f"OUT={directory}", "PROGRAMS=heat calls failures",
                          f"CPPFLAGS=-I{AMPI}", f"VPATH=..:{HERE / 'ampi'}"], "examples-ampi.log")


def run(mpiexec, ranks, program, arguments, **extra):
    """Exit code and output of a job, whose ranks are in the directory of the program."""
    words = ["timeout", "--kill-after=5", LIMIT, mpiexec, "-n", ranks, program, *arguments]
    result = subprocess.run([str(word) for word in words], cwd=program.parent, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, errors="replace",
                            env=environments.clean_environment(**extra))
    return result.returncode, result.stdout


def right(prefix, directory, name, arguments, said, ranks):
    code, output = run(prefix / "bin/mpiexec", ranks, directory / name, arguments)
    said = said.format(ranks=ranks, sum=500 * (ranks + 1))
    return code == 0 and said in output, output


def right_on_mpich(directory, name, arguments, said):
    mpich, ranks = environments.venv("mpich"), 2
    code, output = run(mpich / "bin/mpiexec", ranks, directory / name, arguments,
                       LD_LIBRARY_PATH=mpich / "lib")
    return code == 0 and said.format(ranks=ranks, sum=500 * (ranks + 1)) in output, output


def refused(prefix, directory):
    name, arguments, sentence = REFUSED
    code, output = run(prefix / "bin/mpiexec", 2, directory / name, arguments)
    return code == 1 and sentence in output, output


def checkpoint(prefix, directory, ranks, words, status, said):
    code, output = run(prefix / "bin/mpiexec", ranks, directory / "particles", words)
    return code == status and said in output, output


def same_as_mpi(prefix, directory, name, arguments, ranks, processes):
    """A program says the same with chares as ranks; times are not compared."""
    mpiexec = prefix / "bin/mpiexec"
    code, expected = run(mpiexec, ranks, directory / f"{name}_mpi", arguments)
    if code != 0:
        return False, expected
    code, output = run(mpiexec, processes, directory / name, [*arguments, f"+vp{ranks}"])
    return code == 0 and expected != "" and untimed(output) == untimed(expected), output


def untimed(output):
    return re.sub(r" in [\d.]+ s$", "", output, flags=re.MULTILINE)


def ampi_failure(prefix, directory, case, expected):
    sentence, wanted = expected if isinstance(expected, tuple) else (expected, 1)
    code, output = run(prefix / "bin/mpiexec", 3, directory / "failures", [case], AMPI_VP=8)
    return code == wanted and re.search(sentence, output) is not None, f"{code}: {output}"


def rod(mpiexec, library, ranks):
    code, output = run(mpiexec, ranks, ROD, [8], LD_LIBRARY_PATH=library)
    return code == 0 and "8 of 8 parts of the rod are right" in output, output


def picture(directory):
    """The picture of the last run of `wave` shows something."""
    head, pixels = b"P5 128 128 255\n", (directory / "wave.pgm").read_bytes()
    return (pixels.startswith(head) and len(pixels) == len(head) + 128 * 128
            and len(set(pixels[len(head):])) > 100), "wave.pgm is no such picture"


def fragments():
    """The fragments of C++ and Rust in the guide that no example contains as they are."""
    sources = [plain(path.read_text()) for path in [*EXAMPLES.glob("*.cpp"), ROD_SOURCE]]
    found = re.findall(r"^```(?:cpp|rust)\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    unknown = [part for part in found if not any(plain(part) in source for source in sources)]
    return len(found) > 5 and not unknown, "\n".join(["not in examples/chares:", *unknown])


def plain(text):
    """A text without the white space at the begin of its lines."""
    return "\n".join(line.strip() for line in textwrap.dedent(text).strip().splitlines())


def checks(prefix, directory):
    """Name of each check, and the check, which returns whether all is well, and what to show."""
    for name, arguments, said in PROGRAMS:
        for ranks in RANKS:
            yield (f"{name}, {ranks} ranks",
                   lambda row=(name, arguments, said, ranks): right(prefix, directory, *row))
        if name in ON_MPICH:
            yield (f"{name} on MPICH",
                   lambda row=(name, arguments, said): right_on_mpich(directory, *row))
        if name == "wave":
            yield "picture of wave", lambda: picture(directory)
    for ranks, words, *expected in CHECKPOINTS:
        yield (f"particles {' '.join(words)}, {ranks} ranks",
               lambda row=(ranks, words, *expected): checkpoint(prefix, directory, *row))
    mpich = environments.venv("mpich")
    for ranks in RANKS:
        yield (f"rod in Rust, {ranks} ranks",
               lambda ranks=ranks: rod(prefix / "bin/mpiexec", prefix / "lib", ranks))
    yield "rod in Rust on MPICH", lambda: rod(mpich / "bin/mpiexec", mpich / "lib", 2)
    for name, arguments in AMPI_PROGRAMS:
        for ranks in AMPI_RANKS:
            for processes in AMPI_PROCESSES:
                yield (f"{name} of ampi, {ranks} ranks on {processes} processes",
                       lambda row=(name, arguments, ranks, processes):
                       same_as_mpi(prefix, directory, *row))
    for case, expected in AMPI_FAILURES.items():
        yield (f"failure of ampi: {case}",
               lambda row=(case, expected): ampi_failure(prefix, directory, *row))
    yield "refused argument", lambda: refused(prefix, directory)
    yield "fragments of docs/chares.md", fragments


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, default=environments.BUILD / "install")
    parser.add_argument("--filter", default="", help="checks whose name this expression finds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        build(options.prefix.resolve(), directory)
        build_ampi(options.prefix.resolve(), directory)
        environments.command(BUILD_ROD, "examples-rust.log")
        found = checks(options.prefix.resolve(), Path(directory))
        environments.report(((name, *check()) for name, check in found
                             if re.search(options.filter, name)), tail=100)


if __name__ == "__main__":
    main()
