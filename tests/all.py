#!/usr/bin/env python3
"""All tests of `make test`, stage by stage; ends with one line "N passed, N failed" over all of them.

Each stage is a program of its own that anyone can run alone (the commands are shown). A stage that does not count itself, or that
ends without its count, counts as one failure. `--only REGEX` picks stages, `--list` shows them.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import environments  # noqa: E402

ROOT = environments.ROOT
CARGO = os.environ.get("CARGO", "cargo")
PYTHON = sys.executable

# Exit status of a stage that the system does not allow; it says why.
SKIPPED = 77
# Name, command, seconds after which the stage is ended.
STAGES = [
    ("rust", ["flock", "build/lock", CARGO, "test", "--workspace", "--no-fail-fast"], 900),
    ("model checker", ["env", "RUSTFLAGS=--cfg loom", CARGO, "test", "-p", "towpath-transport", "--lib", "--target-dir", "target/loom", "model"], 600),
    ("interfaces", [PYTHON, "tests/abi/run.py"], 300),
    ("packaging", [PYTHON, "tests/packaging.py"], 300),
    ("instructions", [PYTHON, "tests/instructions/run.py"], 180),
    ("bad input", [PYTHON, "tests/abi/bad_input.py"], 300),
    ("accepted calls", [PYTHON, "tests/abi/accepted.py"], 200),
    ("c programs on Towpath", [PYTHON, "tests/mpi/run.py", "--library", "towpath"], 900),
    ("test hosts", [PYTHON, "tests/hosts/self_test.py"], 300),
    ("c programs on two hosts", [PYTHON, "tests/hosts/matrix.py", "--core", "--only", "tcp 2 hosts 1500|clic 2 hosts 1500 faulty"], 800),
    ("choice of transports", [PYTHON, "tests/hosts/choice.py"], 300),
    ("256 ranks on eight hosts", [PYTHON, "tests/mpi/run.py", "--library", "towpath", "--face", "mpich", "--hosts", "8", "--filter", "^crowd/many_ranks"], 200),
    ("deadlocks", [PYTHON, "tests/hosts/deadlocks.py"], 300),
    ("networks that change", [PYTHON, "tests/hosts/changes.py"], 400),
    ("broadcasts to all hosts at once", [PYTHON, "tests/hosts/broadcasts.py"], 200),
    ("libfabric", [PYTHON, "tests/hosts/libfabric.py"], 600),
    ("strangers", [PYTHON, "tests/hosts/strangers.py"], 300),
    ("little memory", [PYTHON, "tests/scarcity/run.py"], 600),
    ("c programs on MPICH", [PYTHON, "tests/mpi/run.py", "--library", "mpich", "--time-limit", "150"], 400),
    ("mpi4py, MPICH ABI", [PYTHON, "tests/external/mpi4py_suite.py", "--ranks", "1", "2", "3", "4", "--timeout", "300"], 900),
    ("mpi4py, standard ABI", [PYTHON, "tests/external/mpi4py_suite.py", "--face", "standard", "--ranks", "2", "--timeout", "300"], 600),
    ("MPICH's Fortran library", [PYTHON, "tests/external/mpich_fortran.py"], 300),
    ("launchers", [PYTHON, "tests/external/launchers.py"], 900),
    ("transcripts", [PYTHON, "tests/launchers/transcripts.py"], 300),
    ("ssh", [PYTHON, "tests/hosts/ssh.py"], 200),
    ("imb", [PYTHON, "tests/external/imb.py"], 600),
]


def count(output):
    """Passed and failed as the stage says: cargo's lines are added up, of other programs the last line counts."""
    cargo = re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed", output, re.MULTILINE)
    if cargo:
        return sum(int(passed) for passed, _ in cargo), sum(int(failed) for _, failed in cargo)
    lines = re.findall(r"^(\d+) passed, (\d+) failed", output, re.MULTILINE)
    return (int(lines[-1][0]), int(lines[-1][1])) if lines else (0, 0)


def interesting(line):
    """What of a stage's output is shown at once; all of it stands in its log."""
    return not re.match(r"\s*$|ok  |test .* \.\.\. ok|running \d+ tests?$|\s+Doc-tests |\s+(Compiling|Downloaded|Running) ", line)


def run_stage(name, command, limit):
    environments.LOGS.mkdir(parents=True, exist_ok=True)
    log = environments.LOGS / (re.sub(r"\W+", "-", name) + ".log")
    print(f"== {name}: {' '.join(word if word != PYTHON else 'python3' for word in command)}", flush=True)
    started, output = time.monotonic(), []
    child = subprocess.Popen(["timeout", "--kill-after=10", str(limit), *command], cwd=ROOT, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    with open(log, "w") as file:
        for line in child.stdout:
            file.write(line)
            output.append(line)
            if interesting(line):
                print("   " + line, end="", flush=True)
    status = child.wait()
    passed, failed = count("".join(output))
    if status == SKIPPED:
        print("   not tested here")
    elif status and not failed:
        failed = 1
        print(f"   the stage ended with {status}" + (f", its limit of {limit} s is over" if status in (124, 137) else ""))
    elif not passed and not failed:
        failed = 1
        print("   the stage tested nothing")
    seconds = time.monotonic() - started
    print(f"== {name}: {passed} passed, {failed} failed in {seconds:.0f} s; all output in {log.relative_to(ROOT)}", flush=True)
    return passed, failed, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a regular expression for the names of the stages")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    stages = [stage for stage in STAGES if re.search(options.only, stage[0])]
    if options.list:
        for name, command, limit in stages:
            print(f"{name} (at most {limit} s): {' '.join(command)}")
        return 0
    results = [(name, *run_stage(name, command, limit)) for name, command, limit in stages]
    for name, passed, failed, seconds in results:
        print(f"{name:24} {passed:6} passed {failed:4} failed {seconds:7.0f} s")
    passed, failed = sum(row[1] for row in results), sum(row[2] for row in results)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
