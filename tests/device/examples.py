#!/usr/bin/env python3
"""Checks examples/device on a machine without a GPU: each ends with a sentence, and what it
exchanges arrives, on arrays in host memory.

    examples.py
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent))
import environments  # noqa: E402
from benchmarks import headers  # noqa: E402

EXAMPLES = ROOT / "examples" / "device"
LIMIT = 120
# The exchange of an example with arrays in host memory, where the border must be the other rank's.
ON_HOST = """
import importlib, sys
import numpy
from mpi4py import MPI
sys.path.insert(0, sys.argv[1])
example = importlib.import_module(sys.argv[2])
rank = MPI.COMM_WORLD.Get_rank()
field = numpy.full((64, 16), float(rank))
example.exchange(MPI.COMM_WORLD, field)
expected = numpy.full((64, 16), float(rank))
expected[:, 15 if rank == 0 else 0] = 1 - rank
assert (field == expected).all(), field
print("exchanged")
"""


def run(words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=LIMIT, env=environments.clean_environment())


def check_python(bin_directory, name):
    mpiexec = [bin_directory / "mpiexec", "-n", "2", bin_directory / "python"]
    result = run([*mpiexec, "-c", ON_HOST, EXAMPLES, name])
    assert result.stdout.count("exchanged") == 2, f"{name}: {result.stdout}{result.stderr}"
    result = run([bin_directory / "python", EXAMPLES / f"{name}.py"])
    # Where there is a GPU with the package, one rank is told that two are needed.
    sentence = result.stderr.strip()
    assert result.returncode == 1 and sentence.startswith("This example needs"), \
        f"{name} ended with {result.returncode}: {result.stdout}{result.stderr}"
    assert len(sentence.splitlines()) == 1, sentence


def check_c(bin_directory):
    """It compiles with CUDA's headers."""
    result = run([bin_directory / "mpicc", "-Wall", "-Wextra", "-Werror", *headers(),
                  "-fsyntax-only", EXAMPLES / "halo.c"])
    assert result.returncode == 0, result.stderr


def main():
    bin_directory = environments.towpath_venv() / "bin"
    for name in ("halo_cupy", "halo_torch"):
        check_python(bin_directory, name)
        print(f"ok   {name}.py", flush=True)
    check_c(bin_directory)
    print("ok   halo.c\n3 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
