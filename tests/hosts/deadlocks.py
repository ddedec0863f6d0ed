#!/usr/bin/env python3
"""What mpiexec says of ranks that wait for each other for ever: at SIGQUIT, which ends nothing, at
SIGINT, SIGTERM and --timeout. And what ranks of one host and of two say whose collectives do not
fit together.

    deadlocks.py --prefix DIRECTORY    with an installed Towpath (bin, lib); all rows, on one host
                                       and on two
    deadlocks.py --filter REGEX        only some of the rows

Each row runs tests/hosts/deadlock.c and compares mpiexec's lines, in which only the seconds may differ.
"""

import argparse
import itertools
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import environments  # noqa: E402
import hosts  # noqa: E402
from rows import Rows  # noqa: E402

# A job that takes longer hangs.
LIMIT = 60
# Ranks have come to their last call when this is over, and none has waited for room for the five
# seconds after which it says so.
SECONDS = 4
WORLD = "on MPI_COMM_WORLD for N s"
EXPECTED = {
    "calls": [
        f"rank 0: in MPI_Recv from 3, tag 7, {WORLD}",
        f"ranks 1 and 2: in MPI_Barrier {WORLD}",
        "rank 3: computing, outside of MPI; last call MPI_Comm_rank",
    ],
    "requests": [
        'rank 0: in MPI_Wait for a receive from any source, any tag, on "row" for N s',
        'rank 1: in MPI_Waitall for a receive from 2, tag 5, on "row" for N s',
        f"rank 2: in MPI_Probe from 1, any tag, {WORLD}",
        f"rank 3: in MPI_Ssend to 0, tag 9, {WORLD}",
    ],
    "communicators": [
        "rank 0: computing, outside of MPI; last call MPI_Comm_split",
        "rank 1: in MPI_Barrier on context 2 of rank 1 for N s",
        "rank 2: in MPI_Wait for a collective operation on context 2 of rank 1 for N s",
        f"rank 3: in MPI_Finalize {WORLD}",
    ],
}
# On one host MPI_Init waits for nobody.
STARTS = {
    "on one host": [f"ranks 0 to 2: in MPI_Barrier {WORLD}", "rank 3: before MPI_Init"],
    "on two hosts": ["ranks 0 to 2: in MPI_Init", "rank 3: before MPI_Init"],
}
ENDS = {
    "SIGINT": (130, "ended by SIGINT, interrupted."),
    "SIGTERM": (143, "ended by SIGTERM, asked to end."),
    "--timeout": (124, f"the job did not end within {SECONDS} s (--timeout); it is ended."),
}


# What rank 2 calls and what another rank does, where they do not fit together. Who notices it first
# may differ.
MISMATCHES = {
    "operation": {"MPI_Barrier", "MPI_Bcast with root 0"},
    "gather-root": {"MPI_Gather with root 1", "MPI_Gather with root 0"},
    "bcast-root": {"MPI_Bcast with root 1", "MPI_Bcast with root 0"},
    "scatterv-root": {"MPI_Scatterv with root 1", "MPI_Scatterv with root 0"},
    "alltoallv": {"MPI_Alltoall", "MPI_Alltoallv or MPI_Alltoallw"},
    "order": {"MPI_Allreduce", "MPI_Barrier"},
    "request": {"MPI_Allgather or MPI_Allgatherv", "MPI_Allreduce"},
    "left-out": {"MPI_Reduce with root 0", "MPI_Bcast with root 0"},
}


# What the calls of two ranks of one host may be where they do not fit together, by kind. With 2, 4
# and 8 ranks, in each form.
FORMS = ["blocking", "nonblocking", "persistent"]
BCAST = r"MPI_Bcast with root \d"
PAIRS = {
    "operation": {"MPI_Barrier", BCAST},
    "roots": {BCAST},
    "reductions": {"MPI_Reduce with root 0", "MPI_Allreduce", "MPI_Barrier"},
    "counts": {BCAST, "MPI_Barrier"},
    "root-count": {BCAST, "MPI_Barrier"},
    "order": {"MPI_Barrier", BCAST},
}


# What the last rank calls in the second of two forms, and the others in the first one. A root waits
# for nobody, so it may be in the barrier that follows.
KINDS = {"barrier": "Barrier", "bcast": "Bcast", "allreduce": "Allreduce", "later": "Barrier"}


class Job:
    """A running job, and the lines that its mpiexec has written so far, with N for the seconds."""

    def __init__(self, command):
        self.lines = []
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        # Until a rank runs, mpiexec may not answer to signals yet.
        self.process.stdout.readline()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            self.lines.append(re.sub(r" for \d+( to \d+)? s$", " for N s", line.rstrip()))

    def asked(self, expected):
        """Asks where the ranks are until they are where they are expected; the last answer."""
        give_up = time.monotonic() + LIMIT / 2
        while True:
            self.lines.clear()
            self.process.send_signal(signal.SIGQUIT)
            patience = time.monotonic() + 1
            while self.lines != expected and time.monotonic() < patience:
                time.sleep(0.01)
            answer = self.lines[:]
            if answer == expected or time.monotonic() > give_up or self.process.poll() is not None:
                return answer

    def ended(self):
        """The exit status, when everything has been written."""
        try:
            return self.process.wait(LIMIT)
        finally:
            self.process.kill()
            self.reader.join()


def run_row(options, program, end):
    """Problems, no words, and what mpiexec has written."""
    command = [options.prefix / "bin/mpiexec", *options.way.split(), "-n", 4]
    if end == "--timeout":
        command += ["--timeout", SECONDS]
    expected = [f"mpiexec: {line}" for line in EXPECTED.get(program) or STARTS[options.where]]
    job, problems = Job([*command, options.binary, program]), []
    if end != "--timeout":
        answer = job.asked(expected)
        if answer != expected:
            problems.append(f"said at SIGQUIT: {answer}")
        if job.process.poll() is not None:
            problems.append("SIGQUIT has ended the job")
        job.lines.clear()
        job.process.send_signal(getattr(signal, end))
    status = job.ended()
    code, sentence = ENDS[end]
    if status != code:
        problems.append(f"ended with {status}, not {code}")
    if job.lines != [*expected, f"mpiexec: {sentence}"]:
        problems.append(f"said at the end: {job.lines}")
    return problems, "", "\n".join(job.lines)


def run_mismatch(options, kind):
    """Problems, no words, and what the job has written."""
    start = [options.prefix / "bin/mpiexec", *options.way.split(), "-n", 4]
    job = Job([*start, options.binary, "mismatch", kind])
    status, said = job.ended(), "\n".join(job.lines)
    found = re.search(r"(rank \d) calls (.*), but (rank \d) calls (.*); all ranks of", said)
    problems = [] if status == 16 else [f"ended with {status}, not with MPI_ERR_OTHER"]
    ranks, calls = (found.groups()[::2], set(found.groups()[1::2])) if found else ((), set())
    if "rank 2" not in ranks or calls != MISMATCHES[kind]:
        problems.append(f"said: {job.lines}")
    return problems, "", said


def run_pair(options, form, kind, ranks):
    """Problems, no words, and what the job has written."""
    job = Job([options.prefix / "bin/mpiexec", "-n", ranks, options.binary, "pairs", form, kind])
    status, said = job.ended(), "\n".join(job.lines)
    calls = "|".join(PAIRS[kind])
    different = rf"(rank \d) calls ({calls}), but (rank \d) calls ({calls}); all ranks of"
    problems = [] if status == 16 else [f"ended with {status}, not with MPI_ERR_OTHER"]
    lengths = rf"rank \d and rank \d call ({calls}) with different lengths"
    if not any(re.search(words, said) for words in (different, lengths)):
        problems.append(f"said: {job.lines}")
    return problems, "", said


def run_forms(options, forms, kind):
    """Problems, no words, and what the job has written."""
    start = [options.prefix / "bin/mpiexec", *options.way.split(), "-n", 4]
    job = Job([*start, options.binary, "forms", *forms, kind])
    status, said = job.ended(), "\n".join(job.lines)
    problems = [] if status == 16 else [f"ended with {status}, not with MPI_ERR_OTHER"]
    found = re.search(r"(rank \d) calls (.*), but (rank \d) calls (.*?)"
                      "( before that; a blocking|; all ranks of)", said)
    calls = {found[1]: found[2], found[3]: found[4]} if found else {}
    name = {"blocking": f"MPI_{KINDS[kind]}", "nonblocking": f"MPI_I{KINDS[kind].lower()}",
            "persistent": f"MPI_{KINDS[kind]}_init"}
    if not calls.pop("rank 3", "").startswith(name[forms[1]]) or not calls:
        problems.append(f"said: {job.lines}")
    return problems, "", said


def run_rows(options):
    """Runs the rows on the hosts that `options.way` leads to."""
    rows = Rows()
    for program in [*EXPECTED, "start"]:
        for end in ENDS:
            name = f"{program} {end} {options.where}"
            if re.search(options.filter, name):
                rows.run(name, lambda program=program, end=end: run_row(options, program, end))
    for kind in MISMATCHES:
        name = f"mismatch {kind} {options.where}"
        if re.search(options.filter, name):
            rows.run(name, lambda kind=kind: run_mismatch(options, kind))
    for form, kind, ranks in itertools.product(FORMS, PAIRS, (2, 4, 8)):
        name = f"pairs {form} {kind} {ranks} ranks"
        if options.where == "on one host" and re.search(options.filter, name):
            rows.run(name, lambda row=(form, kind, ranks): run_pair(options, *row))
    for forms, kind in itertools.product(itertools.permutations(FORMS, 2), KINDS):
        name = f"forms {' '.join(forms)} {kind} {options.where}"
        if re.search(options.filter, name):
            rows.run(name, lambda row=(forms, kind): run_forms(options, *row))
    return rows


def compiled(prefix):
    binary = environments.BUILD / "tests/hosts/deadlock"
    binary.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([str(word) for word in [prefix / "bin/mpicc", "-std=gnu11", "-O1", "-Wall", HERE / "deadlock.c", "-o", binary]],
                   env=environments.clean_environment(), check=True)
    return binary


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path)
    parser.add_argument("--filter", default="", help="a regular expression for the names of the rows")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.prefix = (options.prefix or environments.towpath_venv()).resolve()
    options.binary = environments.BUILD / "tests/hosts/deadlock"
    if options.inside:
        options.where = "on two hosts"
        options.way = f"--hosts host0:2,host1:2 --launcher={os.environ['HOSTS_RUN']}"
        return run_rows(options).end()
    options.binary = compiled(options.prefix)
    options.where, options.way = "on one host", ""
    here = run_rows(options)
    reason = hosts.forbidden()
    if reason:
        print(f"skipped on two hosts: {reason}")
        return here.end()
    command = [sys.executable, HERE / "hosts.py", "--hosts", "2", "--", sys.executable, __file__, "--inside", "--prefix", options.prefix,
               "--filter", options.filter]
    there = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, env=environments.clean_environment())
    print(there.stdout.rpartition("\n")[0].rpartition("\n")[0])
    counts = [int(number) for number in re.findall(r"^(\d+) passed, (\d+) failed", there.stdout, re.MULTILINE)[-1]] if there.stdout else [0, 1]
    here.passed, here.failed = here.passed + counts[0], here.failed + counts[1]
    return here.end()


if __name__ == "__main__":
    sys.exit(main())
