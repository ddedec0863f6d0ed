#!/usr/bin/env python3
"""Runs the test suite that mpi4py brings in its source distribution, on Towpath or on MPICH.

    mpi4py_suite.py --ranks 1 2 3 4                 Towpath's wheel beside mpi4py's wheel (the MPICH ABI)
    mpi4py_suite.py --abi standard --ranks 2       mpi4py built from source with Towpath's mpicc against the standard ABI
    mpi4py_suite.py --library mpich --record        the same on MPICH; writes which tests it skips into skipped_on_mpich.txt
    mpi4py_suite.py --hosts 2 --mtu 9000 --ranks 4  over hosts that are namespaces (see tests/hosts)

excluded.toml names what is left out, with a reason each. A test counts as passed when it passed on every rank. A test that is
skipped must be skipped on MPICH as well. Every rank asserts that the library it has loaded is the one under test.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "mpi"), str(HERE.parent / "hosts")]
import environments  # noqa: E402
import links  # noqa: E402
import run as runner  # noqa: E402
import traffic  # noqa: E402

VERSION = "4.1.2"
SKIPPED_ON_MPICH = HERE / "skipped_on_mpich.txt"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", choices=["towpath", "mpich"], default="towpath")
    parser.add_argument("--abi", choices=["mpich", "standard"], default="mpich")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--include", action="append", default=[], help="only test modules that match")
    parser.add_argument("--timeout", type=float, default=900, help="seconds for one number of ranks")
    parser.add_argument("--record", action="store_true", help="write the tests that were skipped into skipped_on_mpich.txt")
    parser.add_argument("--python", type=Path, help="a Python that has mpi4py and the library under test")
    links.add_options(parser.add_argument_group("several hosts", "joined by a network of this machine's own"))
    parser.set_defaults(hosts=None)
    return parser.parse_args()


def source():
    """The directory with the suite, unpacked from the source distribution."""
    directory = environments.BUILD / "source" / f"mpi4py-{VERSION}"
    if not (directory / "test" / "main.py").exists():
        tools = environments.venv("builder", ["build", "hatchling"])
        target = directory.parent
        target.mkdir(parents=True, exist_ok=True)
        command = [tools / "bin" / "python", "-m", "pip", "download", "--no-deps", "--no-binary", "mpi4py", "-d", target,
                   f"mpi4py=={VERSION}"]
        environments.command(command, "mpi4py-source.log")
        shutil.unpack_archive(target / f"mpi4py-{VERSION}.tar.gz", target)
    return directory


def standard_environment(library, prefix):
    """A venv with mpi4py compiled against the standard ABI by the library's own compiler wrapper."""
    name = f"{library}-standard"
    directory = environments.venv(name, environments.PYTHON_TOOLS)
    compiler = directory / "bin" / "mpicc-standard"
    call = f"{prefix}/bin/mpicc_abi" if library == "mpich" else f"{prefix}/bin/mpicc --abi standard"
    compiler.write_text(f'#!/bin/sh\nexec {call} "$@"\n')
    compiler.chmod(0o755)
    note = directory / "mpi4py.txt"
    header = prefix / "include" / "mpi.h"
    stamp = f"{header} {header.stat().st_size}\n"
    if not note.exists() or note.read_text() != stamp:
        environments.say("building mpi4py from source against the standard ABI")
        command = [directory / "bin" / "python", "-m", "pip", "install", "--force-reinstall",
                   "--no-deps", "--no-cache-dir", "--no-binary", "mpi4py", f"mpi4py=={VERSION}"]
        environment = environments.clean_environment(MPI4PY_BUILD_MPICC=compiler, CFLAGS="-O0")
        environments.command(command, f"mpi4py-{name}.log", env=environment)
        note.write_text(stamp)
    return directory


def prepare(options):
    """Python and installation of the library under test."""
    if options.python:
        return options.python.absolute(), runner.Library(options.library, options.python.absolute().parent.parent)
    venv = environments.venv("mpich") if options.library == "mpich" else environments.towpath_venv()
    python = venv / "bin" / "python"
    if options.abi == "standard":
        python = standard_environment(options.library, venv) / "bin" / "python"
    return python, runner.Library(options.library, venv)


def exclusions(abi):
    """Arguments of main.py for what excluded.toml names for this ABI."""
    table = tomllib.loads((HERE / "excluded.toml").read_text())
    arguments = []
    for entry in table["module"]:
        assert entry["reason"], f"{entry['name']} is excluded without a reason"
        arguments += ["-e", f"^{entry['name']}\\.py$"]
    for entry in table.get("test", []):
        assert entry["reason"], f"{entry['pattern']} is excluded without a reason"
        if entry.get("abi", abi) == abi:
            arguments += ["-x", entry["pattern"]]
    return arguments


def run_suite(options, ranks, python, library):
    """One run; returns the events of every rank and the exit status (None after a hang)."""
    directory = environments.BUILD / "mpi4py" / f"{options.library}-{options.abi}-{ranks}"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    selection = [word for name in options.include for word in ("-i", name)]
    command = [*library.launcher(ranks), python, HERE / "mpi4py_rank.py", directory,
               library.prefix / "lib", source() / "test" / "main.py", "-q", *selection,
               *exclusions(options.abi)]
    mark = f"mpi4py-{time.time_ns()}"
    environment = library.environment({runner.MARKER: mark})
    with open(directory / "output", "w") as output:
        child = subprocess.Popen([str(word) for word in command], env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                 stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = child.wait(timeout=options.timeout)
        except subprocess.TimeoutExpired:
            status = None
    runner.end_processes(mark)
    if status is None:
        child.wait()
    events = {}
    for rank in range(ranks):
        path = directory / f"rank-{rank}"
        text = path.read_text(errors="replace") if path.exists() else ""
        events[rank] = [line.split("\t", 2) for line in text.splitlines() if line.count("\t") == 2]
    return events, status, directory


def summarize(events):
    """Sets of tests: passed everywhere, failed somewhere (with texts), skipped everywhere it did not pass, unfinished."""
    results, texts = {}, {}
    for rank, lines in events.items():
        for event, test, text in lines:
            if event in ("pass", "fail", "skip", "start"):
                seen = results.setdefault(test, {})
                if event == "start":
                    seen.setdefault(rank, "unfinished")
                elif seen.get(rank) != "fail":
                    seen[rank] = event
                if event == "fail":
                    texts.setdefault(test, f"rank {rank}: {text}")
    failed = {test for test, seen in results.items() if "fail" in seen.values()}
    unfinished = {test for test, seen in results.items() if "unfinished" in seen.values()} - failed
    skipped = {test for test, seen in results.items() if "skip" in seen.values()} - failed - unfinished
    passed = set(results) - failed - unfinished - skipped
    return passed, failed, skipped, unfinished, texts


def allowed_skips(ranks):
    allowed = set()
    if SKIPPED_ON_MPICH.exists():
        for line in SKIPPED_ON_MPICH.read_text().splitlines():
            if line and not line.startswith("#"):
                number, test = line.split()
                if int(number) == ranks:
                    allowed.add(test)
    return allowed


def report(options, ranks, events, status, directory, seconds):
    """Prints what was wrong; returns the numbers of passed, failed, skipped and the skipped tests."""
    passed, failed, skipped, unfinished, texts = summarize(events)
    problems = [f"FAIL {test}: {texts[test]}" for test in sorted(failed)]
    problems += [f"FAIL {test}: did not end" for test in sorted(unfinished)]
    complete = all(lines and lines[-1][0] == "end" for lines in events.values())
    if not complete:
        for rank, lines in events.items():
            problems.append(f"rank {rank} was last in: {' '.join(lines[-1][:2]) if lines else 'start-up'}")
        how = "it hung" if status is None else f"mpiexec ended with {status}"
        problems.append(f"FAIL the suite did not end on every rank: {how}; "
                        f"output in {directory / 'output'}")
    undue = set()
    if options.library != "mpich":
        undue = skipped - allowed_skips(ranks)
        problems += [f"FAIL {test}: skipped here but not on MPICH" for test in sorted(undue)]
    library = events[0][0][1:] if events.get(0) else ["nothing was loaded", ""]
    print(f"== mpi4py on {options.library} ({options.abi} ABI), {ranks} ranks: {seconds:.0f} s, {' '.join(library)}")
    for problem in problems[:40]:
        print("     " + problem[:600])
    bad = len(failed) + len(unfinished) + len(undue) + (0 if complete else 1)
    print(f"     {len(passed)} passed, {bad} failed, {len(skipped - undue)} skipped", flush=True)
    return len(passed), bad, len(skipped - undue), skipped


@environments.segments_swept()
def main():
    options = parse_arguments()
    python, library = prepare(options)
    if options.hosts and "HOSTS_NAMES" not in os.environ:
        source()
        network = [HERE.parent / "hosts" / "hosts.py", *links.words(options)]
        os.execv(sys.executable, [sys.executable, *(str(word) for word in network), "--", sys.executable, *sys.argv])
    totals, record = [0, 0, 0], []
    for ranks in options.ranks:
        started = time.monotonic()
        events, status, directory = run_suite(options, ranks, python, library)
        seconds = time.monotonic() - started
        *counts, skipped = report(options, ranks, events, status, directory, seconds)
        totals = [total + count for total, count in zip(totals, counts)]
        record += [f"{ranks} {test}" for test in sorted(skipped)]
    if options.record:
        head = f"# Tests of mpi4py {VERSION} that are skipped on MPICH 5.0.2, by number of ranks; written by mpi4py_suite.py --record.\n"
        SKIPPED_ON_MPICH.write_text(head + "\n".join(record) + "\n")
    traffic.show()
    print(f"{totals[0]} passed, {totals[1]} failed, {totals[2]} skipped")
    return 1 if totals[1] or not totals[0] else 0


if __name__ == "__main__":
    sys.exit(main())
