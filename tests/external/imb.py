#!/usr/bin/env python3
"""Runs Intel's IMB programs, as they come in the impi-rt wheel, on Towpath: binaries with the MPICH ABI that nobody here compiled.

    imb.py                        IMB-MPI1 on 2, 4 and 8 ranks, IMB-NBC and IMB-P2P on 2 and 4
    imb.py --library intel        the same on the library they come with (proves the arguments)

Sizes and times are kept small: what counts is that every benchmark starts, ends and reports. IMB checks no contents (its wheel is
built without), so a benchmark passes when its table has appeared and the program ended with 0. The programs must load our library.
"""

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE.parent / "mpi"))
import environments  # noqa: E402
import run as runner  # noqa: E402

RUNS = [("IMB-MPI1", 2), ("IMB-MPI1", 4), ("IMB-MPI1", 8), ("IMB-NBC", 2), ("IMB-NBC", 4), ("IMB-P2P", 2), ("IMB-P2P", 8)]
COLLECTIVES = ["allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "barrier", "bcast", "gather", "gatherv", "reduce",
               "reduce_scatter", "scatter", "scatterv"]
# All that the programs offer, the ones that they run only when asked for as well.
BENCHMARKS = {
    "IMB-MPI1": ["PingPong", "PingPing", "Sendrecv", "Exchange", "Biband", "Uniband", "PingPongSpecificSource", "PingPingSpecificSource",
                 "PingPongAnySource", "PingPingAnySource", "Reduce_local", "Reduce_scatter_block",
                 *(name.capitalize() for name in COLLECTIVES)],
    "IMB-NBC": [f"I{name}{suffix}" for name in COLLECTIVES for suffix in ("", "_pure")],
    "IMB-P2P": ["PingPong", "PingPing", "Unirandom", "Birandom", "Corandom", "Stencil2D", "Stencil3D", "SendRecv_Replace"],
}
LIMITS = {
    "IMB-MPI1": ["-iter", "20", "-time", "0.1", "-msglog", "0:17", "-npmin", "{ranks}"],
    "IMB-NBC": ["-iter", "10", "-time", "0.1", "-msglog", "0:14", "-npmin", "{ranks}"],
    "IMB-P2P": ["-iter", "20", "-msglog", "0:17"],
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", choices=["towpath", "intel"], default="towpath")
    parser.add_argument("--filter", default="", help="a regular expression for 'program ranks'")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one program")
    return parser.parse_args()


def loaded_library(binary, environment):
    """Where the loader finds libmpi.so.12 for the program."""
    result = subprocess.run(["ldd", str(binary)], env=environment, capture_output=True, text=True)
    found = re.search(r"libmpi\.so\.12 => (\S+)", result.stdout)
    return Path(found.group(1)).resolve() if found else None


def run_program(name, ranks, venv, prefix, options):
    """One program with one number of ranks: the numbers of passed and failed benchmarks."""
    binary = venv / "bin" / name
    environment = environments.clean_environment(LD_LIBRARY_PATH=f"{prefix}/lib", I_MPI_FABRICS="shm")
    library = loaded_library(binary, environment)
    if library is None or (prefix / "lib").resolve() not in library.parents:
        print(f"FAIL {name}: loads {library}, not a library of {prefix}")
        return 0, 1
    mark = f"imb-{time.time_ns()}"
    environment[runner.MARKER] = mark
    arguments = [word.format(ranks=ranks) for word in LIMITS[name]]
    chosen = [",".join(BENCHMARKS[name])] if name == "IMB-P2P" else BENCHMARKS[name]
    command = [str(prefix / "bin" / "mpiexec"), "-n", str(ranks), str(binary), *arguments, *chosen]
    log = environments.LOGS / f"{options.library}-{name}-{ranks}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    with open(log, "w") as output:
        child = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                 start_new_session=True)
        try:
            status = child.wait(timeout=options.timeout)
        except subprocess.TimeoutExpired:
            status = None
    left = runner.end_processes(mark)
    if status is None:
        child.wait()
    return judge(name, ranks, status, left, log, time.monotonic() - started)


def judge(name, ranks, status, left, log, seconds):
    """Counts the benchmarks whose table appeared."""
    text = log.read_text(errors="replace")
    # A stencil in three dimensions takes no part when the ranks do not fill a grid of three: the program says so.
    invalid = set(re.findall(r"Benchmark (\w+) is invalid", text))
    wanted = [benchmark for benchmark in BENCHMARKS[name] if benchmark not in invalid]
    done = set(re.findall(r"^# Benchmarking\s+(\w+)", text, re.MULTILINE))
    missing = [benchmark for benchmark in wanted if benchmark not in done]
    bad = len(missing)
    problems = []
    if missing:
        problems.append(f"never reached: {' '.join(missing)}")
    if status != 0:
        problems.append("still ran at its time limit: a hang?" if status is None else f"mpiexec ended with {status}")
    elif "All processes entering MPI_Finalize" not in text:
        problems.append("its end never came")
    if left and status is not None:
        problems.append(f"{left} processes were left behind")
    if problems and bad == 0:
        bad = 1
    print(f"{'FAIL' if bad else 'ok  '} {seconds:6.1f} s  {name} {ranks} ranks: {len(wanted) - len(missing)} of {len(wanted)} benchmarks",
          flush=True)
    for problem in problems:
        print(f"     {problem} (output in {log})")
    if bad:
        print("     | " + "\n     | ".join(text.splitlines()[-12:]))
    return max(len(wanted) - bad, 0), bad


@environments.segments_swept()
def main():
    options = parse_arguments()
    intel = environments.venv("intel")
    prefix = intel if options.library == "intel" else environments.towpath_venv()
    passed = failed = 0
    for name, ranks in RUNS:
        if re.search(options.filter, f"{name} {ranks}"):
            good, bad = run_program(name, ranks, intel, prefix, options)
            passed, failed = passed + good, failed + bad
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
