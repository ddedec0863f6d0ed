#!/usr/bin/env python3
"""All tests of `make test`, stage by stage; ends with one line "N passed, N failed" over all of them.

Each stage is a program of its own that anyone can run alone (the commands are shown). A stage that does not count itself, or that
ends without its count, counts as one failure. `--only REGEX` picks stages, `--list` shows them. Some stages run beside others: what
they say is shown when they have ended.
"""

import argparse
import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import environments  # noqa: E402

ROOT = environments.ROOT
CARGO = os.environ.get("CARGO", "cargo")
# The crates with tests that run under loom.
MODELLED = ["-p", "towpath-machine", "-p", "towpath-shm", "-p", "towpath-strict"]
PYTHON = sys.executable

# Exit status of a stage that the system does not allow; it says why.
SKIPPED = 77
# The stub of the CUDA driver, which a stage builds.
BESIDE_DRIVER = ["env", f"LD_PRELOAD={ROOT / 'build/tests/device/libcuda.so.1'}"]
# Name, command, seconds after which the stage is ended; in this order. Fast ones come first.
STAGES = [
    ("interfaces", [PYTHON, "tests/abi/run.py"], 300),
    ("packaging", [PYTHON, "tests/packaging.py"], 600),
    ("rust", ["flock", "build/lock", CARGO, "test", "--workspace", "--no-fail-fast"], 1200),
    ("instructions", [PYTHON, "tests/instructions/run.py"], 300),
    ("bad input", [PYTHON, "tests/abi/bad_input.py"], 300),
    ("accepted calls", [PYTHON, "tests/abi/accepted.py"], 400),
    ("stub of the CUDA driver", [PYTHON, "tests/device/run.py"], 300),
    ("queries about device memory", [PYTHON, "tests/device/queries.py"], 300),
    ("examples for devices", [PYTHON, "tests/device/examples.py"], 300),
    ("programs on the stub driver", [PYTHON, "tests/device/library.py"], 600),
    ("failures of the CUDA driver", [PYTHON, "tests/device/failures.py"], 300),
    ("kernels for devices", [PYTHON, "tests/device/kernels.py"], 300),
    ("PTX of the kernels", [PYTHON, "tools/device_kernels.py", "--check"], 300),
    ("c programs on Towpath", [PYTHON, "tests/mpi/run.py", "--library", "towpath", "--fewer"], 1200),
    # As in programs that have loaded a driver and pass host memory.
    ("c programs beside a driver",
     [*BESIDE_DRIVER, PYTHON, "tests/mpi/run.py", "--library", "towpath", "--abi", "mpich", "--fewer", "--filter",
      "no_files|point_to_point/|datatypes/|topologies/"], 300),
    ("chares over MPI", [PYTHON, "tests/actors/run.py", "--programs", "100"], 400),
    ("observed chares", [PYTHON, "tests/actors/observing.py"], 300),
    ("chares in Python", [PYTHON, "tests/actors/python.py"], 400),
    ("little memory", [PYTHON, "tests/scarcity/run.py"], 600),
    # It proves the tests, whose sources are the same for both ABIs.
    ("c programs on MPICH",
     [PYTHON, "tests/mpi/run.py", "--library", "mpich", "--abi", "standard", "--fewer", "--time-limit", "400"], 600),
    ("mpi4py, MPICH ABI",
     [PYTHON, "tests/external/mpi4py_suite.py", "--ranks", "1", "4", "--timeout", "600"], 1500),
    ("mpi4py, standard ABI", [PYTHON, "tests/external/mpi4py_suite.py", "--abi", "standard", "--ranks", "3", "--timeout", "600"], 900),
    ("MPICH's Fortran library", [PYTHON, "tests/external/mpich_fortran.py"], 300),
    ("launchers", [PYTHON, "tests/external/launchers.py"], 900),
    ("transcripts", [PYTHON, "tests/launchers/transcripts.py"], 300),
    ("imb", [PYTHON, "tests/external/imb.py"], 600),
    ("stencil2d", [PYTHON, "tests/stencil2d.py"], 300),
    ("device benchmarks", [PYTHON, "tests/device/benchmarks.py"], 300),
]
# These wait much, or compute and compile on one core, and touch nothing that the others touch: each
# one's hosts are namespaces of its own. They run one after the other beside the stages that follow
# this one.
BEFORE_BESIDE = "rust"
BESIDE = [
    ("deadlocks", [PYTHON, "tests/hosts/deadlocks.py"], 400),
    ("networks that change", [PYTHON, "tests/hosts/changes.py"], 600),
    ("choice of transports", [PYTHON, "tests/hosts/choice.py"], 400),
    ("Charm++ programs", [PYTHON, "tests/actors/charm.py"], 900),
    ("chares in C++", [PYTHON, "tests/actors/cpp.py"], 900),
    ("examples of chares", [PYTHON, "tests/actors/examples.py"], 600),
    ("topology files", [PYTHON, "tests/hosts/topology.py"], 300),
    ("measured links", [PYTHON, "tests/hosts/tune.py"], 300),
    ("links measured by running jobs", [PYTHON, "tests/hosts/measured.py"], 300),
    ("broadcasts to all hosts at once", [PYTHON, "tests/hosts/broadcasts.py"], 300),
    ("mappings of ranks to hosts", [PYTHON, "tests/hosts/mappings.py"], 400),
    ("ssh", [PYTHON, "tests/hosts/ssh.py"], 300),
    ("256 ranks on eight hosts", [PYTHON, "tests/mpi/run.py", "--library", "towpath", "--abi", "mpich", "--hosts", "8", "--filter", "^crowd/many_ranks"], 300),
    ("model checker", ["env", "RUSTFLAGS=--cfg loom", CARGO, "test", *MODELLED, "--lib",
                       "--target-dir", "target/loom", "model"], 900),
    ("test hosts", [PYTHON, "tests/hosts/self_test.py"], 400),
    # It installs what the stage after it needs.
    ("libfabric", [PYTHON, "tests/hosts/libfabric.py"], 900),
    ("strangers", [PYTHON, "tests/hosts/strangers.py"], 500),
    ("c programs on two hosts", [PYTHON, "tests/hosts/matrix.py", "--core", "--only", "tcp 2 hosts 1500|clic 2 hosts 1500 faulty"], 1200),
]
# Lines of a failed stage that are shown again in the end.
SHOWN = 12
# One line at a time is shown.
SCREEN = threading.Lock()
RUNNING = set()


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


def evidence(output):
    """The lines of a failed stage's output that say what failed, the last of them."""
    return [line.rstrip() for line in output
            if re.search(r"FAIL|failed|panicked|error|signal|ended with|over\b", line) and not re.search(r"\b0 failed|test result: ok", line)][-SHOWN:]


def show(text):
    with SCREEN:
        print(text, flush=True)


def run_stage(name, command, limit, beside=False):
    """Runs a stage: its counts and seconds. What is interesting is shown at once, or all of it in the end where others run `beside` it."""
    environments.LOGS.mkdir(parents=True, exist_ok=True)
    log = environments.LOGS / (re.sub(r"\W+", "-", name) + ".log")
    head = f"== {name}: {' '.join(word if word != PYTHON else 'python3' for word in command)}"
    started, output, kept = time.monotonic(), [], [head]
    tell = kept.append if beside else show
    show(f"== {name} begins beside the others" if beside else head)
    child = subprocess.Popen(["timeout", "--kill-after=10", str(limit), *command], cwd=ROOT, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    RUNNING.add(child)
    with open(log, "w") as file:
        for line in child.stdout:
            file.write(line)
            output.append(line)
            if interesting(line):
                tell("   " + line.removesuffix("\n"))
    status = child.wait()
    RUNNING.discard(child)
    passed, failed = count("".join(output))
    if status == SKIPPED:
        tell("   not tested here")
    elif status and not failed:
        failed = 1
        tell(f"   the stage ended with {status}" + (f", its limit of {limit} s is over" if status in (124, 137) else ""))
    elif not passed and not failed:
        failed = 1
        tell("   the stage tested nothing")
    seconds = time.monotonic() - started
    tell(f"== {name}: {passed} passed, {failed} failed in {seconds:.0f} s; all output in {log.relative_to(ROOT)}")
    if beside:
        show("\n".join(kept))
    return name, passed, failed, seconds, evidence([*output, kept[-1], f"it ended with {status}"]) if failed else []


def run_stages(stages, beside):
    """Runs both lists of stages; what each gave."""
    others, results = None, []
    with ThreadPoolExecutor(max_workers=1) as pool:
        try:
            for stage in stages:
                results.append(run_stage(*stage))
                if stage[0] == BEFORE_BESIDE:
                    others = [pool.submit(run_stage, *other, beside=True) for other in beside]
            others = others if others is not None else [pool.submit(run_stage, *other) for other in beside]
            return results + [other.result() for other in others]
        except BaseException:
            # Whoever interrupts this wants everything to end.
            pool.shutdown(wait=False, cancel_futures=True)
            for child in list(RUNNING):
                child.terminate()
            raise


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a regular expression for the names of the stages")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    stages, beside = ([stage for stage in some if re.search(options.only, stage[0])] for some in (STAGES, BESIDE))
    if options.list:
        for name, command, limit in stages + beside:
            print(f"{name} (at most {limit} s): {' '.join(command)}")
        return 0
    started = time.monotonic()
    results = run_stages(stages, beside)
    for name, passed, failed, seconds, _ in results:
        print(f"{name:32} {passed:6} passed {failed:4} failed {seconds:7.0f} s")
    for name, _, failed, _, lines in results:
        if failed:
            # Indented, so that no line of it counts as a result.
            print(f"in {name}:", *lines, sep="\n    ")
    print(f"all stages: {(time.monotonic() - started) / 60:.1f} minutes")
    passed, failed = sum(row[1] for row in results), sum(row[2] for row in results)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
