#!/usr/bin/env python3
"""Observes programs of chares: the settings TOWPATH_CHARES_*, towpath load, towpath info --chares.

    observing.py                     build/install and MPICH
    observing.py --prefix DIRECTORY  another Towpath
    observing.py --filter report     some of the cases

Compiles tests/actors/cpp/observed.cpp, and builds a program in Rust. Each setting has a case
without it. Prints "N passed, M failed".
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import environments  # noqa: E402

STANDARD = "libmpi_abi.so.1"
CHECK, REPORT, RANDOM = (f"TOWPATH_CHARES_{name}" for name in ("CHECK", "REPORT", "RANDOM"))
PERIOD = f"{REPORT}_MILLISECONDS"
SENTENCE = re.compile(r"^towpath: rank \d: 3 messages of Worker::work(?:\(.*\))? were not "
                      r"delivered: Worker\[5\] was never made$", re.MULTILINE)
ELEMENTS = 8
STALLED = "no rank has anything left to do"
SECONDS = 60
CARGO = os.environ.get("CARGO", "cargo")
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", environments.ROOT / "target"))
BUILD_RUST = [CARGO, "build", "-q", "-p", "towpath-programs", "--bin", "chare_observed"]


class Job:
    """An MPI library on which a program runs."""

    def __init__(self, options, binary, library):
        own = options.prefix
        peer = own if library == "Towpath" else environments.venv("mpich")
        self.mpiexec, self.binary = peer / "bin/mpiexec", binary
        # As in a program that is linked with this MPI library.
        self.environment = {"LD_LIBRARY_PATH": f"{own / 'lib'}:{peer / 'lib'}",
                            "LD_PRELOAD": peer / "lib" / STANDARD}

    def start(self, ranks, *words, directory=None, **settings):
        start = ["timeout", "--kill-after=5", SECONDS, self.mpiexec, "-n", ranks, *self.binary]
        environment = environments.clean_environment(**self.environment, **settings)
        words = [str(word) for word in [*start, *words]]
        return subprocess.Popen(words, env=environment, text=True, cwd=directory,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, errors="replace")

    def run(self, ranks, *words, directory=None, **settings):
        """Status and output of a job in this directory."""
        process = self.start(ranks, *words, directory=directory, **settings)
        output = process.communicate()[0]
        return process.returncode, output


def towpath(options, *words):
    """Status and output of the command."""
    words = [options.prefix / "bin/towpath", *words]
    result = subprocess.run([str(word) for word in words], text=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS,
                            env=environments.clean_environment())
    return result.returncode, result.stdout


def checked(job, ranks):
    """Undelivered messages are listed once, and only if that is set."""
    status, output = job.run(ranks, "undelivered", **{CHECK: 1})
    quiet, said = job.run(ranks, "undelivered")
    well = status == quiet == 0 and len(SENTENCE.findall(output)) == 1 and "delivered" not in said
    return well, output + said


def refused_values(job):
    """A wrong value is one sentence, and the program runs."""
    values = {CHECK: "7", RANDOM: "often", PERIOD: "0", REPORT: "/nonexistent/report"}
    status, output = job.run(2, "order", **values)
    missing = [name for name in (CHECK, RANDOM, REPORT) if output.count(f"towpath: {name}=") != 1]
    with tempfile.TemporaryDirectory() as directory:
        status_of_period, said = job.run(2, "order", **{REPORT: f"{directory}/r", PERIOD: "0"})
    well = status == status_of_period == 0 and not missing and said.count(f"{PERIOD}=0 is out") == 1
    return well, output + said


def ordered(job, ranks):
    """Messages come in another order if that is set, in the same one with the same seed."""
    def order(**settings):
        status, output = job.run(ranks, "order", **settings)
        return status, [int(word) for word in output.split()[1:]]

    plain, first, again, other = (order(), order(**{RANDOM: 3}), order(**{RANDOM: 3}),
                                  order(**{RANDOM: 4}))
    all_of_them = list(range(20))
    well = (plain == (0, all_of_them) and first == again and len({*map(str, (plain, first, other))}) == 3
            and sorted(first[1]) == sorted(other[1]) == all_of_them)
    return well, f"{plain} {first} {again} {other}"


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def wrong_in_report(path, ranks, period):
    """What is wrong with the report of "work" with so many ranks."""
    head, *lines = lines_of(path)
    if head != {"line": "report", "version": 1, "ranks": ranks, "milliseconds": period}:
        return "head"
    samples = [line for line in lines if line["line"] == "rank"]
    last = {line["rank"]: line for line in samples if line["last"]}
    arrays = {line["rank"]: line for line in lines if line["line"] == "array"}
    by_rank = [[line for line in samples if line["rank"] == rank] for rank in range(ranks)]
    wrong = {
        "last samples": sorted(last) != list(range(ranks)),
        "number of samples": any(len(each) < 5 for each in by_rank),
        "elements": sum(line["elements"] for line in arrays.values()) != ELEMENTS,
        "chares": sum(line["chares"] for line in last.values()) != ELEMENTS,
        "type": {line["type"] for line in arrays.values()} != {"Worker"},
        "migrations": sum(line["migrations"] for line in last.values()) != (ranks > 1),
        "bytes": (ranks > 1) != any(line["bytes"] > 1000 for line in last.values()),
        "load": not any(line["busy"] > 0.01 for line in last.values()),
        "queue": not any(line["queue"] > 0 for line in samples),
        "order of time": any(one[name] > two[name] for each in by_rank for one, two in zip(each, each[1:])
                             for name in ("seconds", "busy", "sent", "processed", "bytes")),
    }
    return ", ".join(name for name, is_wrong in wrong.items() if is_wrong)


def reported(options, job, ranks):
    with tempfile.TemporaryDirectory() as directory:
        path, picture = Path(directory, "report"), Path(directory, "picture.png")
        job.run(ranks, "order", directory=directory, **{PERIOD: 20})
        if list(Path(directory).iterdir()):
            return False, "there is a report that nobody asked for"
        status, output = job.run(ranks, "work", 1, **{REPORT: path, PERIOD: 20})
        if status or not path.exists():
            return False, output
        wrong = wrong_in_report(path, ranks, 20)
        told, text = towpath(options, "load", path, "--draw", picture)
        well = (not wrong and told == 0 and re.search(rf"^Load of {ranks} rank", text)
                and f"  rank {ranks - 1} " in text and picture.read_bytes().startswith(b"\x89PNG"))
        return well, f"{text}\nwrong: {wrong}"


def stalled(job, ranks):
    """A program that is observed all the time ends as others do when nothing is left to do."""
    with tempfile.TemporaryDirectory() as directory:
        settings = {REPORT: f"{directory}/report", PERIOD: 20}
        status, output = job.run(ranks, "nothing", **settings)
        return status == 1 and output.count(STALLED) == 1, output


def reported_by_python(options, ranks):
    python = environments.venv("charm4py") / "bin/python"
    job = Job(options, [python, HERE / "python_programs/migration.py"], "Towpath")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "report")
        more = {"PYTHONPATH": options.prefix / "lib/python", "PYTHONDONTWRITEBYTECODE": 1}
        status, output = job.run(ranks, **{REPORT: path, PERIOD: 20, **more})
        if not path.exists():
            return False, output
        lines = lines_of(path)
        last = [line for line in lines if line.get("last")]
        kinds = {line["line"] for line in lines}
        well = status == 0 and len(last) == ranks and sum(line["migrations"] for line in last) > 0
        return well and "array" in kinds, f"{output}\n{last}\n{kinds}"


def rust(options):
    """A program in Rust has the settings too."""
    environments.command(BUILD_RUST, "observed-rust.log")
    job = Job(options, [TARGET / "debug/chare_observed"], "Towpath")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "report")
        quiet, said = job.run(2)
        status, output = job.run(2, **{CHECK: 1, RANDOM: "often", REPORT: path, PERIOD: 20})
        if not path.exists():
            return False, output
        last = [line for line in lines_of(path) if line.get("last")]
        well = (quiet == status == 0 and "towpath:" not in said
                and len(SENTENCE.findall(output)) == 1 and output.count(f"towpath: {RANDOM}=") == 1
                and len(last) == 2 and all(line["busy"] > 0.01 for line in last))
        return well, f"{said}\n{output}\n{last}"


def processes(words):
    """The processes whose command line contains the words, in the order of their numbers."""
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            command = (directory / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if all(str(word) in command for word in words):
            found.append(int(directory.name))
    return sorted(found)


def shown(options, job, ranks):
    """A running job is shown, whichever of its processes is named."""
    marker = f"20.{os.getpid()}"
    process = job.start(ranks, "work", marker)
    try:
        deadline, pids = time.monotonic() + 20, []
        while len(pids) < ranks and time.monotonic() < deadline:
            time.sleep(0.2)
            pids = [pid for pid in processes([marker]) if is_program(pid, job.binary[0])]
        time.sleep(0.5)
        launcher = [pid for pid in processes([marker]) if is_program(pid, job.mpiexec)]
        said = [towpath(options, "info", "--json", "--chares", pid) for pid in [*pids, *launcher]]
        text = towpath(options, "info", "--chares", pids[0])[1]
    finally:
        process.terminate()
        process.communicate()
    answers = [json.loads(output) for status, output in said if status == 0]
    well = len(answers) == len(said) == ranks + 1 and all(
        len(answer["ranks"]) == ranks
        and sum(answer["collections"]["0.1"]["by_rank"]) == ELEMENTS
        and any(row["load"] != "0 %" for row in answer["ranks"].values()) for answer in answers)
    return well and "Worker" in text, f"{said}\n{text}"


def shown_while_one_works(options, job):
    """All ranks answer when only the last one works: rank 0 asks whether anything is left to do."""
    process = job.start(2, "last", 10)
    try:
        time.sleep(2.5)
        status, output = towpath(options, "info", "--json", "--chares", process_of(job, process))
    finally:
        process.terminate()
        process.communicate()
    return status == 0 and len(json.loads(output)["ranks"]) == 2, output


def process_of(job, process):
    """The launcher that `timeout` runs."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return next(pid for pid in children if is_program(pid, job.mpiexec))


def is_program(pid, path):
    try:
        return os.path.samefile(f"/proc/{pid}/exe", path)
    except OSError:
        return False


def shown_elsewhere(options, job):
    """On another MPI library rank 0 is shown, and a sentence says how to see the others."""
    marker = f"20.{os.getpid()}"
    process = job.start(2, "work", marker)
    try:
        deadline, said = time.monotonic() + 20, []
        while len(said) < 2 and time.monotonic() < deadline:
            time.sleep(0.5)
            pids = [pid for pid in processes([marker]) if is_program(pid, job.binary[0])]
            said = [towpath(options, "info", "--chares", pid) for pid in pids]
    finally:
        process.terminate()
        process.communicate()
    refused = [output for status, output in said if status]
    well = len(said) == 2 and len(refused) == 1 and REPORT in refused[0]
    return well, str(said)


def described(options):
    """The command lists the library and the settings."""
    _, output = towpath(options, "info", "--json")
    told = json.loads(output)
    library = told["installed"].get("libtowpath_actors.so.0", {}).get("value") or ""
    missing = {CHECK, REPORT, PERIOD, RANDOM} - set(told["settings"])
    return library.startswith("Towpath ") and not missing, f"{library} {missing}"


def refusals(options):
    sentences = {("info", "--chares", os.getpid()): "no running job",
                 ("info", "--chares"): "needs a process ID",
                 ("load",): REPORT, ("load", __file__): "line 1", ("load", "/nonexistent"): "No such file"}
    said = {words: towpath(options, *words) for words in sentences}
    well = all(said[words][0] == 2 and sentence in said[words][1] for words, sentence in sentences.items())
    return well, str(said)


def cases(options, binary):
    """Name of each case, and a function that says whether it passes and what was said."""
    own, mpich = Job(options, [binary], "Towpath"), Job(options, [binary], "MPICH")
    for name, job, ranks in (("Towpath, 3 ranks", own, 3), ("MPICH, 2 ranks", mpich, 2)):
        yield f"check, {name}", lambda job=job, ranks=ranks: checked(job, ranks)
        yield f"random order, {name}", lambda job=job, ranks=ranks: ordered(job, ranks)
        yield f"stall with a report, {name}", lambda job=job, ranks=ranks: stalled(job, ranks)
    yield "wrong values", lambda: refused_values(own)
    for ranks in (1, 2, 8):
        yield f"report, Towpath, {ranks} ranks", lambda ranks=ranks: reported(options, own, ranks)
    yield "report, MPICH, 2 ranks", lambda: reported(options, mpich, 2)
    yield "report, Python, 2 ranks", lambda: reported_by_python(options, 2)
    yield "check and report, Rust", lambda: rust(options)
    for ranks in (1, 4):
        yield f"info, {ranks} ranks", lambda ranks=ranks: shown(options, own, ranks)
    yield "info, only the last rank works", lambda: shown_while_one_works(options, own)
    yield "info, MPICH", lambda: shown_elsewhere(options, mpich)
    yield "library and settings", lambda: described(options)
    yield "refusals", lambda: refusals(options)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, default=environments.BUILD / "install")
    parser.add_argument("--filter", default="", help="cases whose name this expression finds")
    options = parser.parse_args()
    options.prefix = options.prefix.resolve()
    with tempfile.TemporaryDirectory() as directory:
        binary, library = Path(directory, "observed"), options.prefix / "lib"
        words = ["g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-O1", "-I",
                 environments.ROOT / "include", HERE / "cpp/observed.cpp", "-o", binary,
                 "-L", library, "-ltowpath_actors", "-lpthread"]
        environments.command(words, "observed.log")
        environments.report((name, *run()) for name, run in cases(options, binary)
                            if re.search(options.filter, name))


if __name__ == "__main__":
    main()
