#!/usr/bin/env python3
"""Translates, compiles and runs programs of Charm++: those of examples/charm, and those of
tests/actors/charm, each of which uses one part of the language and checks itself.

    charm.py                   with build/install, on 1 to 4 ranks
    charm.py --filter steps    some of them
    charm.py --prefix DIR      with another installation

A program passes when its compilation says nothing, and each job ends in time with status 0 and a
line that ends with "ok" or "right". A case of failures.C passes when the job ends in time with
the status of a failure and the sentence. Programs of benchmarks/chares are compiled only. Prints
"N passed, M failed".
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE.parent / "device"))
import environments  # noqa: E402
import run as stub_driver  # noqa: E402

CARGO = os.environ.get("CARGO", "cargo")
BUILD = [CARGO, "build", "-q", "-p", "towpath-charmc"]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", environments.ROOT / "target"))
TRANSLATOR = TARGET / "debug/towpath-charmc"
HEADERS = environments.ROOT / "include/towpath/charm++"
RANKS = (1, 2, 3, 4)
# Programs whose arrays travel in other ways between ranks that share no memory.
APART = ("copying", "devices", "direct", "lending", "zerocopy")
# Programs with memory of devices, which MPICH's wheel does not know; they use the stub driver.
ON_DEVICES = ("devices",)
# Other jobs of some programs, one after another: ranks, words, status, what is said.
JOBS = {
    "balancing": [
        (3, "+balancer RotateLB", 0, r"^12 of 12 have moved: right$"),
        (3, "+balancer GreedyLB", 0, r"^[1-9]\d* of 12 have moved: right$"),
        (2, "+balancer HybridLB", 0, r"^[1-9]\d* of 12 have moved: right$"),
        (2, "+balancer BestLB", 1, "there is no balancer BestLB; GreedyLB, RefineLB and HybridLB are"),
        (2, "log +balancer RotateLB", 0, r"^saved\n(.*\n)*.*right$"),
        (3, "+restart log", 0, r"^goes on\n(.*\n)*.*right$"),
        (1, "+restart log", 0, r"^goes on\n(.*\n)*.*right$"),
        (2, "+restart nothing", 1, "checkpoint file nothing/index.chares cannot be read"),
        (2, "balancing.def.h", 1, "checkpoint file balancing.def.h cannot be written"),
        (2, "balancing.def.h status", 0, r"^failed\n(.*\n)*.*right$"),
        (2, "log function", 1, "the reduction client of Cell is a function or a section, which"),
        (2, "log threaded", 1, "the callback of CkStartCheckpoint is called after a restart too"),
    ],
}
WARNINGS = ["-O1", "-Wall", "-Werror"]
FAILURES = "failures"
# The statuses of jobs that fail: of most, and of one with a rank that a signal has killed.
# `timeout` gives others.
FAILED = 1
KILLED = {"writes": 128 + signal.SIGSEGV}
STUB = HERE.parent / "device/stub"
BENCHMARKS = environments.ROOT / "benchmarks/chares"

# Cases of failures.C, on two ranks, and what is said.
SENTENCES = {
    "small": r"an array of 400000 bytes for Cell::get\(.*\) does not fit into the 399996 bytes that "
             r"were posted with the tag 7",
    "posted twice": r"memory was posted twice with the tag 8 on rank 1: a tag can be used again",
    "matched twice": r"two arrays were matched with the tag 7 on rank 1, the second one for Cell::",
    "wrong number": r"CkMatchBuffer was called for array 1, but the method has 1 nocopypost",
    "never posted": r"nothing is left to do, but Cell::get\(int,int\[\]\) waits for memory that "
                    r"CkPostBuffer posts with the tag 7\b",
    "never posted, short": r"nothing is left to do, but Cell::tagged\(int,int\[\]\) waits for "
                           r"memory that CkPostBuffer posts with the tag 17\b",
    "nowhere": r"the post method of Cell::get\(int,int\[\]\) has neither set the pointer",
    "more than sent": r"a post method expects an array of 100001 elements, but 100000 were sent",
    "migrates": r"Cell\[1\] cannot migrate or be deleted",
    "posted and migrates": r"a chare has migrated before the method ran for which it had posted",
    "writes": r"Cell::write\(int,int\[\]\) of .*\[1\] writes to an array that it was lent",
    "wrong map": r"procNum of an array's map says rank 9, but the job has 2 ranks",
    "no map": r"setMap was given a group that does not inherit from CkArrayMap",
    "late reducer": r"addReducer was called after the start: call it in an initnode function",
    "negative length": r"an array parameter is sent with a length of -8 elements",
    "negative lent length": r"an array parameter is sent with a length of -8 elements",
    "not whenidle": r"CkCallWhenIdle was called for a method that is not \[whenidle\]",
    "idle of another": r"CkCallWhenIdle was called for Cell::idle, which is no method of the chare",
    "negative section": r"a section is made of -1 members",
    "only a bool": r"packing of Switch\[1\] failed: its type has no function that packs it",
    "client elsewhere": r"a reduction client is set by the rank that has made the array or group",
    "message to a thread": r"a callback that awakens a thread was sent with a message of the",
    "short get": r"CkNcpyBuffer::get: the destination has 100 bytes, which is less than the 400000",
    "get elsewhere": r"CkNcpyBuffer::get was called on rank 1 for memory of rank 0: call it where",
}


def programs():
    """Their interface files and C++ files; a file without a program is a module of another."""
    for directory in (environments.ROOT / "examples/charm", HERE / "charm", BENCHMARKS):
        for source in sorted(directory.glob("*.C")):
            yield source


def run(words, directory, limit, **settings):
    """The status of a command, which is killed after so many seconds, and what it said."""
    words = ["timeout", "--kill-after=5", limit, *words]
    result = subprocess.run([str(word) for word in words], cwd=directory, text=True,
                            env=environments.clean_environment(**settings),
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, errors="replace")
    return result.returncode, result.stdout


def compiled(source, prefix, directory):
    """What is wrong with the compilation of a program, if anything."""
    charmc = [TRANSLATOR, "--prefix", prefix]
    for interface in sorted(source.parent.glob("*.ci")):
        status, said = run([*charmc, interface], directory, 10)
        if status != 0 or said:
            return f"translating {interface.name}:\n{said}"
    words = ["-language", "charm++", *WARNINGS, f"-I{HEADERS}", f"-I{source.parent}"]
    words += ["-o", source.stem, source]
    if source.stem in ON_DEVICES:
        words += [f"-I{STUB}", f"-L{stub_driver.build()}", "-l:libcuda.so.1"]
    status, said = run([*charmc, *words], directory, 120)
    return f"compiling:\n{said}" if status != 0 or said else None


def run_job(source, prefix, directory, ranks, *arguments):
    words = ["--charmrun", "--prefix", prefix, f"+p{ranks}", f"./{source.stem}", *arguments]
    settings = {}
    if source.stem in ON_DEVICES:
        settings["LD_LIBRARY_PATH"] = str(stub_driver.DIRECTORY)
    return run([TRANSLATOR, *words, "++local"], directory, 30, **settings)


def run_apart(source, prefix, directory):
    """Runs a program on MPICH, and on two hosts: where, its status, and what it said."""
    paths = [str(prefix / "lib")]
    if source.stem in ON_DEVICES:
        paths.append(str(stub_driver.DIRECTORY))
    else:
        peer = environments.venv("mpich")
        words = [peer / "bin/mpiexec", "-n", 2, f"./{source.stem}"]
        settings = {"LD_LIBRARY_PATH": f"{paths[0]}:{peer / 'lib'}",
                    "LD_PRELOAD": str(peer / "lib/libmpi_abi.so.1")}
        yield "MPICH", *run(words, directory, 30, **settings)
    words = [sys.executable, HERE.parent / "hosts/hosts.py", "--hosts", 2, "--", "sh", "-c",
             environments.ON_HOSTS, prefix / "bin/mpiexec", "-n", 4, f"./{source.stem}"]
    yield "two hosts", *run(words, directory, 30, LD_LIBRARY_PATH=":".join(paths))


def tested(source, prefix, directory):
    """What is wrong with a program, if anything."""
    jobs = [(f"{ranks} ranks", *run_job(source, prefix, directory, ranks)) for ranks in RANKS]
    if source.stem in APART:
        jobs += run_apart(source, prefix, directory)
    for name, status, said in jobs:
        if status != 0 or not re.search(r"\b(ok|right)$", said, re.M):
            return f"{name}:\n{said}"
    for ranks, words, expected_status, expected in JOBS.get(source.stem, []):
        job = ["--charmrun", "--prefix", prefix, f"+p{ranks}", f"./{source.stem}", *words.split()]
        status, said = run([TRANSLATOR, *job], directory, 30)
        if status != expected_status or not re.search(expected, said, re.M):
            return f"{words} on {ranks} ranks, status {status}:\n{said}"
    return None


def failures(source, prefix, directory):
    """The name of each case, whether it fails as it should, and what was said."""
    for case, sentence in SENTENCES.items():
        status, said = run_job(source, prefix, directory, 2, case)
        is_well = status == KILLED.get(case, FAILED) and re.search(sentence, said)
        yield f"{FAILURES}, {case}", bool(is_well), f"status {status}:\n{said}"


def results(options):
    """The name of each program, whether it passes, and what is wrong with it."""
    for source in programs():
        name = f"{source.parent.name}/{source.name}"
        if options.filter not in name:
            continue
        prefix = options.prefix.absolute()
        with tempfile.TemporaryDirectory() as directory:
            problem = compiled(source, prefix, directory)
            if problem is None and source.stem == FAILURES:
                yield from failures(source, prefix, directory)
                continue
            if source.parent != BENCHMARKS:
                problem = problem or tested(source, prefix, directory)
        yield name, problem is None, problem


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--prefix", type=Path, default=environments.ROOT / "build/install")
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    subprocess.run(BUILD, cwd=environments.ROOT, check=True)
    environments.report(results(options), tail=100)


if __name__ == "__main__":
    main()
