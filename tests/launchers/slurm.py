#!/usr/bin/env python3
"""Towpath's programs under Slurm: a cluster of two emulated nodes on this machine, started and stopped here.

    slurm.py --prefix DIRECTORY        with an installed Towpath (bin, lib); all rows
    slurm.py --filter REGEX            only some of the rows

Slurm is found, or installed from Debian's packages where that disturbs nobody: as root, where no systemd runs (a container, a
machine for tests). Elsewhere one sentence says why nothing is tested.
"""

import argparse
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import environments  # noqa: E402

PACKAGES = ["slurmctld", "slurmd", "slurm-client", "libpmix2"]
PROGRAMS = ["slurmctld", "slurmd", "srun", "salloc", "sinfo", "scancel", "setsid"]


def missing():
    """Programs of Slurm that are not here."""
    return [name for name in PROGRAMS if shutil.which(name) is None]


def provide():
    """Makes Slurm available; a sentence says why it is not."""
    disturbs_nobody = os.geteuid() == 0 and shutil.which("apt-get") and not Path("/run/systemd/system").exists()
    if missing():
        if not disturbs_nobody:
            return f"Slurm is skipped: {', '.join(missing())} not found (on Debian: apt-get install {' '.join(PACKAGES)})."
        if not environments.apt_get("install", "-y", "--no-install-recommends", *PACKAGES):
            return "Slurm is skipped: its packages cannot be installed here."
    if socket.gethostname() != "localhost" and not resolves(socket.gethostname()):
        return f"Slurm is skipped: this host's own name, {socket.gethostname()}, has no address."
    return None


def resolves(name):
    try:
        return bool(socket.getaddrinfo(name, None))
    except OSError:
        return False


def pmix_works():
    """Slurm's plugin opens a link that only the development package brings; root may make it."""
    for directory in Path("/usr/lib").glob("*-linux-gnu/pmix2/lib"):
        link = directory / "libpmix.so"
        if (directory / "libpmix.so.2").exists() and not link.exists() and os.geteuid() == 0:
            link.symlink_to("libpmix.so.2")
        if link.exists():
            return True
    return False


def ports(count):
    """The first of so many ports in a row that nobody uses, below those that the kernel gives."""
    for first in range(20000 + os.getpid() % 10000, 32000, count):
        if all(is_free(port) for port in range(first, first + count)):
            return first
    raise SystemExit("no free ports for Slurm's daemons below 32000")


def is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


@contextmanager
def cluster(nodes, cpus):
    """A running cluster; gives the variables that its clients need."""
    directory = Path(tempfile.mkdtemp(prefix="towpath-slurm-"))
    port = ports(nodes + 1)
    variables = {**environments.clean_environment(), "DIR": str(directory), "PORT": str(port)}
    # Its daemons look for the library when they start, and not again.
    pmix_works()
    try:
        up = subprocess.run([HERE / "slurm-up.sh", str(nodes), str(cpus)], env=variables, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        if up.returncode:
            raise SystemExit(f"the cluster does not start:\n{up.stdout}")
        yield {"SLURM_CONF": str(directory / "slurm.conf")}
    finally:
        subprocess.run([HERE / "slurm-down.sh"], env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=60)
        shutil.rmtree(directory, ignore_errors=True)


def job_facts():
    """The example that shows and tests what a launcher offers, also over several hosts."""
    cargo = os.environ.get("CARGO", "cargo")
    subprocess.run([cargo, "build", "-q", "-p", "towpath-launch", "--example", "job_facts"], cwd=environments.ROOT, check=True)
    return environments.ROOT / "target/debug/examples/job_facts"


def topology_file(name, rate):
    """The setting for a topology file that states a rate for the first node."""
    file = environments.BUILD / "tests" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'[[link]]\nhosts = "n0"\nrate = "{rate}"\n')
    return f"TOWPATH_TOPOLOGY={file}"


def rows(prefix, program):
    """Name, command, exit code, what the output must say, how often."""
    facts = job_facts()
    valid, mistaken = topology_file("valid.toml", "5Gbit"), topology_file("mistaken.toml", "5Gb")
    same = "^rank [0-3]: n0 5 Gbit/s leads true, n1 10 Gbit/s leads true$"
    mpiexec = prefix / "bin/mpiexec"
    plugins = ["pmi2", *(["pmix"] if pmix_works() else [])]
    for plugin in plugins:
        one = ["srun", "-N1", "-n4", f"--mpi={plugin}"]
        two = ["srun", "-N2", "--ntasks-per-node=2", "-n4", f"--mpi={plugin}"]
        yield f"srun --mpi={plugin}, a C program on one node", [*one, program], 0, "ok: 4 ranks", 1
        # PMI-2 has no place for the code: srun tells the greatest that any rank ends with.
        yield f"srun --mpi={plugin}, MPI_Abort", [*two, program, "abort"], 7 if plugin == "pmix" else None, "MPI_Abort", None
        yield f"srun --mpi={plugin}, a C program over two nodes", [*two, program], 0, "ok: 4 ranks", 1
        yield f"srun --mpi={plugin}, values over two nodes", [*two, facts, "exchange"], 0, "^exchanged$", 4
        case = f"srun --mpi={plugin}, a topology file"
        yield case, ["env", valid, *two, facts, "topology"], 0, same, 4
        command = ["env", mistaken, *two, program]
        yield f"{case} with a mistake", command, None, "has no unit of a rate", None
        yield f"srun --mpi={plugin}, two nodes, dealt out in turn", [*two, "-m", "cyclic", facts], 0, r"rank [01] of 4, 0 of 2 here", 2
    if "pmix" not in plugins:
        print("srun --mpi=pmix is skipped: Slurm's plugin finds no PMIx library (on Debian: apt-get install libpmix-dev).")
    yield "PMI-1 on Slurm's pmi2", ["env", "TOWPATH_PMI=1", "srun", "-N2", "-n4", "--mpi=pmi2", facts, "exchange"], 0, "^exchanged$", 4
    yield "srun without PMI is refused", ["srun", "-n2", program], None, "neither PMI nor PMIx", 2
    yield "a process in an allocation is alone", ["salloc", "-Q", "-n2", program], 0, "ok: 1 ranks", 1
    yield "mpiexec in an allocation uses its nodes", ["salloc", "-Q", "-N2", "--ntasks-per-node=2", mpiexec, "-n", 4, facts, "exchange"], \
        0, "^exchanged$", 4
    yield "mpiexec in an allocation, a C program", ["salloc", "-Q", "-N2", "--ntasks-per-node=2", mpiexec, "-n", 4, program], 0, "ok: 4 ranks", 1
    yield "mpiexec in an allocation of one node runs there, with its tasks", \
        ["salloc", "-Q", "-N1", "-n2", mpiexec, "sh", "-c", "echo $PMI_SIZE on $SLURMD_NODENAME"], 0, r"^2 on \w", 2
    yield "mpiexec in an allocation, exit code", ["salloc", "-Q", "-N2", "-n2", mpiexec, "-n", 2, "sh", "-c", "exit $((PMI_RANK * 5))"], \
        5, "rank 1 .*exited with code 5", 1


def run_row(row, variables, limit):
    name, command, code, text, times = row
    environment = environments.clean_environment(**variables)
    try:
        run = subprocess.run([str(word) for word in command], env=environment, cwd="/tmp", stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit)
    except subprocess.TimeoutExpired as late:
        print(f"FAIL {name}: still ran after {limit} s\n{(late.stdout or b'').decode(errors='replace')}")
        return False
    output = run.stdout.decode(errors="replace")
    found = len(re.findall(text, output, re.MULTILINE))
    # Without an expected code: any failure.
    passed = (run.returncode == code if code is not None else run.returncode != 0) and (found == times if times else found > 0)
    print(f"{'ok  ' if passed else 'FAIL'} Slurm: {name}", flush=True)
    if not passed:
        print(f"     ended with {run.returncode} ({code} was expected), '{text}' came {found} times:\n     | "
              + "\n     | ".join(output.splitlines()[-15:]))
    return passed


def test(prefix, program, pattern="", limit=60):
    """Runs all rows; gives how many passed and failed."""
    reason = provide()
    if reason:
        print(reason)
        return 0, 0
    wanted = [row for row in rows(prefix, program) if re.search(pattern, row[0])]
    if not wanted:
        return 0, 0
    with cluster(2, 4) as variables:
        variables["LD_LIBRARY_PATH"] = str(prefix / "lib")
        results = [run_row(row, variables, limit) for row in wanted]
    return sum(results), len(results) - sum(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path)
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    prefix = (options.prefix or environments.towpath_venv()).resolve()
    binary = environments.BUILD / "tests/launchers/towpath"
    binary.parent.mkdir(parents=True, exist_ok=True)
    environments.command([prefix / "bin/mpicc", "-O1", "-o", binary, HERE.parent / "external/launchers.c"], "launchers-towpath.log",
                         env=environments.clean_environment())
    passed, failed = test(prefix, binary, options.filter)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
