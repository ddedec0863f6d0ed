#!/usr/bin/env python3
"""Stencil2D on host memory: both versions compute what one process computes, in every cell, and the
version with datatypes has the shorter main loop.

The versions with device memory are the same files with another memory behind them; they are
measured by benchmarks/device.py. An exchange that is wrong on purpose must be noticed. Ends with
"N passed, N failed".
"""

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "benchmarks")]
import device  # noqa: E402
import environments  # noqa: E402

SOURCES = HERE.parent / "examples" / "stencil2d"
OUT = environments.BUILD / "stencil2d"
LIMIT = 60
# Small parts whose rows, columns and halos are all different, and where the last exchange of some
# is not used up.
CASES = [
    (2, ["--rows", "100", "--columns", "37", "--grid", "1x2"]),
    (2, ["--rows", "37", "--columns", "100", "--grid", "2x1", "--halo", "2"]),
    (4, ["--rows", "64", "--columns", "90", "--halo", "4", "--iterations", "35"]),
]
# What a version with a wrong exchange has instead of the right text.
WRONG = {
    "after": ("s->rows + 2 * s->halo, s->halo", "s->rows + s->halo, s->halo"),
    "before": ("copy2d(cell(s, -h, -h), pitch", "copy2d(cell(s, 0, -h), pitch"),
}


def build(prefix, version, real, source, name):
    """Compiles a version for host memory; the path of the program."""
    program = OUT / f"{name}_{real}"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", f"-I{SOURCES}"]
    files = [SOURCES / "stencil.c", SOURCES / "host.c", source]
    command = [prefix / "bin" / "mpicc", *flags, f"-DREAL={real}", *files, "-o", program]
    environments.command(command, f"stencil2d-{name}-{real}.log")
    return program


def run(prefix, program, ranks, arguments):
    """The status and the output of a program."""
    command = [prefix / "bin" / "mpiexec", "-n", ranks, program, *arguments]
    try:
        result = subprocess.run(
            [str(word) for word in command],
            env=environments.clean_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired:
        return 124, f"still ran after {LIMIT} s"
    return result.returncode, result.stdout + result.stderr


def versions_are_right(prefix):
    """(name, whether it is as it should be, what was seen) of every version, type and case."""
    for version in device.VERSIONS:
        for real in device.REALS:
            program = build(prefix, version, real, SOURCES / f"{version}.c", version)
            for ranks, arguments in CASES:
                status, output = run(prefix, program, ranks, arguments)
                right = status == 0 and ", 0 wrong cells" in output
                yield f"{version} {real} {ranks} ranks {' '.join(arguments)}", right, output


def faults_are_found(prefix):
    """The same of versions that leave a corner of the halo out."""
    for version, (text, wrong) in WRONG.items():
        good = (SOURCES / f"{version}.c").read_text()
        source = OUT / f"wrong_{version}.c"
        source.write_text(good.replace(text, wrong))
        program = build(prefix, version, "double", source, f"wrong_{version}")
        status, output = run(prefix, program, 4, ["--rows", "40", "--columns", "40"])
        found = text in good and status != 0 and " 0 wrong cells" not in output
        yield f"{version} with a wrong exchange is refused", found, output


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prefix", type=Path, default=environments.BUILD / "install")
    prefix = parser.parse_args().prefix.resolve()
    OUT.mkdir(parents=True, exist_ok=True)
    passed = failed = 0
    lines = ("main loop of the version with datatypes", device.count_lines(None), "too long")
    for name, right, seen in [*versions_are_right(prefix), *faults_are_found(prefix), lines]:
        passed, failed = passed + right, failed + (not right)
        print(f"ok  {name}" if right else f"FAIL {name}: {seen.strip()}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
