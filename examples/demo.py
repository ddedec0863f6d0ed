#!/usr/bin/env python3
"""The demonstration of `make demo`: existing programs and examples on the Towpath that `make build` has made.

Sets up a venv with mpi4py's wheel beside Towpath's wheel and one with Intel's IMB programs; then runs each program, shows what it
printed, and says at the end what was done. No program here was compiled against anything but its own MPI header.
"""

import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))
import environments  # noqa: E402


def show(title, command, environment, done, limit=120):
    """Runs one program of the demonstration; its failure ends the demonstration."""
    print(f"\n== {title}\n$ {' '.join(Path(str(word)).name if str(word).startswith('/') else str(word) for word in command)}", flush=True)
    started = time.monotonic()
    status = subprocess.run([str(word) for word in command], env=environment, timeout=limit).returncode
    if status:
        raise SystemExit(f"'{title}' ended with {status}")
    done.append(f"{title} ({time.monotonic() - started:.2f} s)")


def main():
    towpath = environments.towpath_venv()
    intel = environments.venv("intel")
    bin_directory, programs = towpath / "bin", environments.BUILD / "examples"
    programs.mkdir(parents=True, exist_ok=True)
    mpiexec, python = bin_directory / "mpiexec", bin_directory / "python"
    plain = environments.clean_environment()
    done = []
    show("mpi4py's wheel: a ring of 4 ranks", [mpiexec, "-n", 4, python, HERE / "ring.py"], plain, done)
    show("mpi4py's wheel: pi on 4 ranks", [mpiexec, "-n", 4, python, HERE / "pi.py"], plain, done)
    for abi in ("mpich", "standard"):
        binary = programs / f"heat-{abi}"
        show(f"mpicc builds a C program for the {abi} ABI",
             [bin_directory / "mpicc", "--abi", abi, "-O2", HERE / "heat.c", "-o", binary, "-lm"],
             plain, done)
        show(f"the C program on 4 ranks, {abi} ABI", [mpiexec, "-n", 4, binary, 200, 500], plain, done)
    show("make builds the examples of chares in C++20",
         ["make", "-sB", "-C", HERE / "chares", f"PREFIX={towpath}", f"OUT={programs}",
          programs / "hello", programs / "forces"], plain, done)
    for name in ("hello", "forces"):
        show(f"chares on 4 ranks: {name}", [mpiexec, "-n", 4, programs / name], plain, done)
    show("Intel's IMB-MPI1 PingPong on 2 ranks", [mpiexec, "-n", 2, intel / "bin" / "IMB-MPI1", "-iter", 200, "-msglog", "0:20", "PingPong"],
         environments.clean_environment(LD_LIBRARY_PATH=towpath / "lib"), done)
    print("\n== What was done")
    for line in done:
        print("   " + line)
    print(f"   all on {towpath / 'lib' / 'libmpi.so.12'} and libmpi_abi.so.1 of Towpath")


if __name__ == "__main__":
    main()
