#!/usr/bin/env python3
"""Runs MPI programs with buffers in device memory, on the stub driver, with an installed Towpath.

    library.py                   build/install, all programs in all settings
    library.py --filter REGEX    some of them, by names such as "messages, IPC refused, 2 ranks"
    library.py --stress          more: random messages and collectives for some minutes
    library.py --seed 7          other random layouts, and other orders of the stub's streams

programs.toml lists the programs and the settings. A run passes when the launcher ends in time with
status 0 and every rank has said "ok". Then the driver's calls for one message in each way are
compared with transfers.toml. Prints "N passed, M failed".
"""

import argparse
import re
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
sys.path.insert(0, str(TESTS))
import environments  # noqa: E402
import run  # noqa: E402
import transfers  # noqa: E402

ABIS = ["mpich", "standard"]
FLAGS = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread",
         f"-I{HERE / 'stub'}", f"-I{HERE}", f"-I{TESTS / 'mpi'}"]
CUDA = "libcuda.so.1"
# Of the output of a run that fails, so many lines are shown.
TAIL = 25


@dataclass
class Run:
    """One program in one setting."""

    program: dict
    setting: dict
    ranks: int
    abi: str
    seed: int

    @property
    def name(self):
        seeded = f", seed {self.seed}" if "{seed}" in self.program.get("args", []) else ""
        abi = ", standard ABI" if self.abi == "standard" else ""
        return f"{self.program['name']}, {self.setting['name']}, {self.ranks} ranks{seeded}{abi}"


class Library:
    """An installed Towpath, and the programs that are built for it."""

    def __init__(self, prefix):
        self.prefix = prefix.resolve()
        if not (self.prefix / "bin/mpicc").exists():
            raise SystemExit(f"{self.prefix}/bin/mpicc does not exist: is Towpath installed there? "
                             "`make build` does it")
        self.stub = run.build()

    def program(self, name, abi, driver=CUDA):
        """The program, built if it is older than what it is made of."""
        source, binary = HERE / f"{name}.c", self.stub / "programs" / driver / abi / name
        parts = [source, *HERE.glob("*.h"), TESTS / "mpi/check.h", self.stub / driver,
                 self.prefix / "include/mpi.h"]
        newest = max(part.stat().st_mtime for part in parts)
        if not binary.exists() or binary.stat().st_mtime < newest:
            binary.parent.mkdir(parents=True, exist_ok=True)
            compiler = [self.prefix / "bin/mpicc", "--abi", abi]
            # A program that loads the driver by itself says so in its first lines.
            linked = [] if "not linked with the driver" in source.read_text() else [
                f"-L{self.stub}", f"-l:{driver}"]
            words = [*compiler, *FLAGS, source, "-o", binary, *linked, "-ldl", "-lm"]
            environments.command(words, f"device-{name}-{abi}-{driver}.log",
                                 env=environments.clean_environment())
        return binary

    def command(self, wanted):
        """The words that start a run."""
        driver = wanted.setting.get("driver", CUDA)
        binary = self.program(wanted.program["name"], wanted.abi, driver)
        arguments = [word.format(seed=wanted.seed) for word in wanted.program.get("args", [])]
        mpiexec = self.prefix / "bin/mpiexec"
        words = ranks_of(wanted, [binary, *arguments])
        if wanted.setting.get("hosts"):
            hosts = [sys.executable, TESTS / "hosts/hosts.py", "--hosts", wanted.setting["hosts"]]
            return [*hosts, "--", "sh", "-c", environments.ON_HOSTS, mpiexec, *words]
        return [mpiexec, *words]

    def environment(self, settings, seed):
        """What a run finds in its environment."""
        return run.environment(LD_LIBRARY_PATH=self.stub, TOWPATH_STUB_SEED=seed, **settings)


def ranks_of(wanted, words):
    """The words for mpiexec: all ranks alike, or each one with devices of its own."""
    visible = wanted.setting.get("visible")
    if not visible:
        return ["-n", wanted.ranks, *words]
    parts = []
    for rank in range(wanted.ranks):
        devices = visible[rank % len(visible)]
        parts += [":"] * (rank > 0) + ["-n", 1, "-env", "CUDA_VISIBLE_DEVICES", devices, *words]
    return parts


def started(words, environment, limit):
    """Exit status (None: it was ended after `limit` seconds) and output of a command."""
    words = ["timeout", "--kill-after=5", str(limit), *(str(word) for word in words)]
    result = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            errors="replace")
    status = None if result.returncode in (124, 137, -9) else result.returncode
    return status, result.stdout


def oks(output):
    """How many ranks have said "ok"."""
    return len(re.findall(r"(?m)^ok$", output))


def tried(library, wanted):
    """What is wrong with a run; empty where it passes, None where it cannot be tested here."""
    settings = {**wanted.setting.get("environment", {}), **wanted.program.get("environment", {})}
    environment = library.environment(settings, wanted.seed)
    limit = wanted.program.get("timeout", 60)
    status, output = started(library.command(wanted), environment, limit)
    if status == 77 and wanted.setting.get("hosts"):
        return None
    said = oks(output)
    more = wanted.program.get("silent") and set(output.split()) != {"ok"}
    if status == 0 and said == wanted.ranks and not more:
        return ""
    shown = "\n".join(output.splitlines()[-TAIL:])
    if status == 0 and more:
        return f"said more than ok\n{shown}"
    if status is None:
        return f"still ran after {limit} s\n{shown}"
    return f"ended with {status}, {said} of {wanted.ranks} ranks said ok\n{shown}"


def transfer_output(library, words, ranks, settings):
    """What transfer.c prints; its status and output if it fails."""
    program = library.program("transfer", "mpich")
    command = [library.prefix / "bin/mpiexec", "-n", ranks, program, *words]
    status, output = started(command, library.environment(settings, 1), transfers.LIMIT)
    failed = status != 0 or oks(output) != ranks
    return output, f"ended with {status}\n{output}" if failed else ""


def above_bars(library, words, ranks, settings, bars):
    """Which counts of a transfer are above their bars; empty where none is."""
    output, failure = transfer_output(library, words, ranks, settings)
    return failure or transfers.problem_of(transfers.counted(output), bars)


def rewrite_bars(library):
    """Writes transfers.toml anew."""
    def count(*transfer):
        output, failure = transfer_output(library, *transfer)
        if failure:
            raise SystemExit(failure)
        return transfers.counted(output)
    transfers.rewrite(count)


def chosen(options):
    """The runs that the options ask for."""
    listed = tomllib.loads((HERE / "programs.toml").read_text())
    runs = []
    for program in listed["program"]:
        if program.get("stress", False) != options.stress:
            continue
        for setting in listed["setting"]:
            if setting["name"] in program.get("settings", [setting["name"]]):
                runs += [Run(program, setting, ranks, abi, options.seed)
                         for ranks, abi in variants(program, setting)]
    return [one for one in runs if re.search(options.filter, one.name)]


def variants(program, setting):
    """Numbers of ranks and ABIs of the runs of a program in a setting: the ABIs take turns."""
    numbers = [ranks for ranks in program["ranks"] if ranks >= setting.get("at_least", 1)]
    return [(ranks, ABIS[place % 2]) for place, ranks in enumerate(numbers)]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, default=environments.BUILD / "install")
    parser.add_argument("--filter", default="", help="a regular expression for the names of runs")
    parser.add_argument("--stress", action="store_true", help="the long runs instead")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rewrite-bars", action="store_true",
                        help="make the driver's calls as they are the bars of transfers.toml")
    parser.add_argument("--list", action="store_true", help="say what would run")
    options = parser.parse_args()
    runs = chosen(options)
    if options.list:
        print("\n".join(one.name for one in runs))
        return 0
    library = Library(options.prefix)
    if options.rewrite_bars:
        return rewrite_bars(library)
    checks = [(one.name, lambda one=one: tried(library, one)) for one in runs]
    if not options.stress:
        checks += [(name, lambda rest=rest: above_bars(library, *rest))
                   for name, *rest, _ in transfers.listed() if re.search(options.filter, name)]
    counted = {"ok  ": 0, "FAIL": 0, "skip": 0}
    for name, check in checks:
        began = time.monotonic()
        problem = check()
        sign = "skip" if problem is None else "FAIL" if problem else "ok  "
        counted[sign] += 1
        print(f"{sign} {time.monotonic() - began:5.1f} s  {name}", flush=True)
        if problem:
            print("     " + problem.strip().replace("\n", "\n     "), flush=True)
    passed, failed, skipped = counted.values()
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
