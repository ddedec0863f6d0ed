#!/usr/bin/env python3
"""Jobs where memory is short: they run to their end, or one sentence says what is missing; never a signal, a hang or a remnant.

    run.py                      48 ranks exchange 64 KB per pair in a memory group of 512 MB, without memfd, with a small /dev/shm;
                                a thousand communicators with a small /dev/shm;
                                many small messages that nobody receives for long in a memory group of 512 MB
    run.py --filter REGEX       only some of the rows
    run.py --long               the rows of minutes too

A small /dev/shm is a file system of its own in a mount namespace that this test makes; a memory group is made below the own one. Where
the machine does not allow that, the row is skipped and says why.
"""

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import environments  # noqa: E402

specification = importlib.util.spec_from_file_location("c_programs", HERE.parent / "mpi" / "run.py")
c_programs = importlib.util.module_from_spec(specification)
sys.modules["c_programs"] = c_programs
specification.loader.exec_module(c_programs)

SHARED = Path("/dev/shm")
FILLER = SHARED / "filler"
RANKS = 48
LIMIT = 120
SENTENCE = r"bytes of shared memory"


class Skipped(Exception):
    """The machine does not allow what a row needs."""


def compile_programs(prefix):
    """The exchange, the messages that nobody receives, the many communicators (of tests/mpi), and
    the wrapper that refuses memfd_create."""
    directory = environments.BUILD / "tests" / "scarcity"
    directory.mkdir(parents=True, exist_ok=True)
    names = ("exchange", "unreceived", "communicators", "refuse")
    exchange, unreceived, communicators, refuse = (directory / name for name in names)
    sources = HERE.parent / "mpi"
    environment = environments.clean_environment()
    for source, program in (
        ("crowd/alltoall.c", exchange),
        ("crowd/unreceived.c", unreceived),
        ("collectives/many_communicators.c", communicators),
    ):
        command = [prefix / "bin/mpicc", *c_programs.FLAGS, sources / source, "-o", program]
        environments.command(command, f"scarcity-{program.name}.log", env=environment)
    environments.command(["cc", "-O1", "-Wall", "-Wextra", HERE / "refuse.c", "-o", refuse], "scarcity-refuse.log")
    return exchange, unreceived, communicators, refuse


def memory_parents():
    """Directories below which a memory group could be made, with the name of the file that takes the limit."""
    root = Path("/sys/fs/cgroup")
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            yield root / controllers / path.lstrip("/"), "memory.limit_in_bytes", "memory.max_usage_in_bytes"
        elif not controllers:
            own = root / path.lstrip("/")
            # A group of version 2 that holds processes has no groups below it with a controller: look upwards.
            for parent in [own, *own.parents]:
                if parent.is_relative_to(root):
                    yield parent, "memory.max", "memory.peak"


@contextmanager
def memory_group(megabytes):
    """A memory group with a limit: the command that starts a program in it, and the file that tells the peak."""
    refusals = []
    for parent, limit, peak in memory_parents():
        group = parent / f"towpath-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError as error:
            refusals.append(str(error))
            continue
        try:
            (group / limit).write_text(str(megabytes << 20))
        except OSError as error:
            group.rmdir()
            refusals.append(str(error))
            continue
        try:
            yield ["sh", "-c", f'echo $$ > "{group}/cgroup.procs" && exec "$@"', "sh"], group / peak
        finally:
            remove(group)
        return
    raise Skipped("no memory group can be made: " + "; ".join(refusals or ["there is no memory controller"]))


def remove(group):
    """A group can go when its last process is reaped."""
    for _ in range(100):
        try:
            return group.rmdir()
        except OSError:
            time.sleep(0.05)
    print(f"     {group} cannot be removed")


def namespace():
    """The command that starts a program where it may mount a /dev/shm of its own."""
    options = ["--mount"] if os.geteuid() == 0 else ["--map-root-user", "--mount"]
    unshare = [shutil.which("unshare") or "unshare", *options]
    try:
        probe = subprocess.run([*unshare, "mount", "-t", "tmpfs", "tmpfs", SHARED], capture_output=True, text=True)
    except OSError as error:
        raise Skipped(f"unshare: {error}") from error
    if probe.returncode:
        raise Skipped(f"no /dev/shm of its own: {probe.stderr.strip()}")
    return unshare


def small_shared(free_kilobytes):
    """The command that starts a program with a /dev/shm of 64 MB of which so much is free (None: all)."""
    return [*namespace(), sys.executable, __file__, "--inside", "all" if free_kilobytes is None else str(free_kilobytes)]


def free_bytes():
    state = os.statvfs(SHARED)
    return state.f_bavail * state.f_bsize


def inside(free, command):
    """In the mount namespace: makes and fills /dev/shm, runs the command, and says what it left there."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", SHARED], check=True)
    if free != "all":
        with open(FILLER, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, free_bytes() - int(free) * 1024)
    before = free_bytes()
    status = subprocess.run(command).returncode
    names = [name for name in os.listdir(SHARED) if name != FILLER.name]
    for _ in range(40):
        if free_bytes() == before:
            break
        time.sleep(0.05)
    if names or free_bytes() != before:
        print(f"REMNANT in {SHARED}: {names}, {before - free_bytes()} bytes", flush=True)
    # A command that died of a signal itself: as a shell says it.
    return status if status >= 0 else 128 - status


def run(name, command, limit=LIMIT):
    """Runs one job. Status, output, and what is wrong in any case."""
    mark = f"scarcity-{os.getpid()}-{re.sub(r'[^a-z0-9]+', '-', name.lower())}"
    environment = environments.clean_environment(**{c_programs.MARKER: mark})
    problems = []
    child = subprocess.Popen([str(word) for word in command], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace")
    try:
        output, _ = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        problems.append(f"still ran after {limit} s")
        c_programs.end_processes(mark)
        output, _ = child.communicate()
    left = c_programs.end_processes(mark)
    if left:
        problems.append(f"{left} processes were left behind")
    if "REMNANT" in output:
        problems.append("memory or files were left behind")
    if child.returncode > 125 or re.search(r"\bSIG[A-Z]+\b|panicked", output):
        problems.append("somebody died of a signal")
    return child.returncode, output, problems


def judge(status, output, ranks, may_run, may_fail):
    """What is wrong with a job that may run to its end, or end with a sentence, or both."""
    finished = status == 0 and output.count("ok") >= ranks
    refused = status != 0 and re.search(SENTENCE, output)
    if finished and may_run or refused and may_fail:
        return []
    return [f"ended with {status}" + ("" if may_run else ", a failure was expected") + ("" if not status or refused else " without a sentence")]


def rows(exchange, refuse, mpiexec):
    """Name, function that gives the command, number of ranks, may run, may fail."""
    job = [mpiexec, "-n", RANKS, exchange]
    for error in ("EPERM", "ENOSYS"):
        yield f"memfd refused with {error}", lambda error=error: [refuse, error, "memfd_create", *job], RANKS, True, False
    yield "memfd refused, /dev/shm of 64 MB", lambda: [*small_shared(None), refuse, "EPERM", "memfd_create", *job], RANKS, True, False
    shared_malloc = ["env", "TOWPATH_MALLOC=1", *job]
    yield "memfd refused, /dev/shm of 64 MB, TOWPATH_MALLOC", lambda: [*small_shared(None), refuse, "EPERM", "memfd_create", *shared_malloc], RANKS, True, False
    yield "memfd refused, /dev/shm full", lambda: [*small_shared(0), refuse, "EPERM", "memfd_create", *job], RANKS, False, True
    yield "memfd refused, /dev/shm full, one rank alone", lambda: [*small_shared(0), refuse, "EPERM", "memfd_create", exchange], 1, False, True
    # Between too little and enough: the job starts or does not, but once it has started it runs to its end.
    for free in (300, 600, 1200, 1800, 2400, 5000, 12000):
        command = lambda free=free: [*small_shared(free), refuse, "EPERM", "memfd_create", *job]  # noqa: E731
        yield f"memfd refused, {free} kB free in /dev/shm", command, RANKS, True, True


# System calls without which mpiexec and its guardian cannot go on, or only by another way, and what mpiexec then says.
WITHOUT = {
    "ppoll": r"the ranks cannot be watched",
    "epoll_wait,epoll_pwait,epoll_pwait2": r"cannot be watched",
    "epoll_ctl": r"cannot be watched",
    "wait4": r"the ranks cannot be watched",
    "write": r"",
    "kill": r"",
}


def without_calls(refuse, mpiexec, calls, asked):
    """A job whose ranks would run for ever, or (`asked`) that is ended by SIGTERM, ends without these system calls too."""
    # What a rank starts can be killed by nobody where kill is refused; the rank itself ends with its parent.
    script = "exec sleep 300" if asked else "exit 3"
    job = [mpiexec, "-n", 2, "sh", "-c", script]
    before = ["timeout", "--preserve-status", "--signal=TERM", "--kill-after=60", "1"] if asked else []
    status, output, problems = run(f"without {calls} {asked}", [*before, refuse, "EPERM", calls, *job])
    problems = [problem for problem in problems if not problem.startswith("somebody died")]
    if status in (0, 137, -9):
        problems.append(f"ended with {status}")
    if not asked and not re.search(WITHOUT[calls] + r"|exited with code 3", output) and calls != "write":
        problems.append("ended without a sentence")
    return problems, output, ""


def under_limit(exchange, mpiexec, limit):
    """Ranks that cannot start under a limit of the shell: a sentence names it."""
    status, output, problems = run(f"ulimit {limit}", ["sh", "-c", f'ulimit {limit} && exec "$@"', "sh", mpiexec, "-n", 4, exchange])
    if not status or f"(ulimit {limit.split()[0]})" not in output:
        problems.append(f"ended with {status} without a sentence that names ulimit {limit.split()[0]}")
    return problems, output, ""


def in_memory_group(ranks, command, limit=LIMIT):
    """A job in 512 MB: problems, the output, and the peak."""
    with memory_group(512) as (enter, peak):
        status, output, problems = run("group", [*enter, *command], limit)
        most = int(peak.read_text()) >> 20 if peak.exists() else 0
    return problems + judge(status, output, ranks, True, False), output, f" (peak {most} MB)"


def rows_of_communicators(program, refuse, mpiexec):
    """Name and function of each row about a thousand communicators: they say what each takes."""

    def job(name, before, ranks):
        command = [*small_shared(None), *before, mpiexec, "-n", ranks, program, 1000, 1024]
        status, output, problems = run(name, command)
        said = re.search(r"[\d.]+ KiB for each", output)
        remark = f" ({said[0]})" if said else ""
        return problems + judge(status, output, ranks, True, False), output, remark

    for words, before in (("", []), (", memfd refused", [refuse, "EPERM", "memfd_create"])):
        for ranks in (2, 8, RANKS):
            name = f"1000 communicators of {ranks} ranks, /dev/shm of 64 MB{words}"
            yield name, lambda name=name, before=before, ranks=ranks: job(name, before, ranks)


def exchange_in_group(exchange, mpiexec, *settings):
    """48 ranks whose own buffers are 302 MB."""
    return in_memory_group(RANKS, ["env", *settings, mpiexec, "-n", RANKS, exchange])


def messages_in_group(program, mpiexec, ranks, count, size, first, limit=LIMIT):
    """Rank 0 receives `count` messages of each other rank, but first passes a barrier or computes for so many seconds: then the
    senders wait, and one of them says so."""
    problems, output, remark = in_memory_group(ranks, [mpiexec, "-n", ranks, program, count, size, "send", first, 24], limit)
    if first != "barrier" and not re.search(r"rank \d+ has waited for 5 seconds to send a message to rank 0: .*TOWPATH_UNEXPECTED_BYTES", output):
        problems.append("no rank said that it waits")
    return problems, output, remark


def rows_of_messages(program, mpiexec, long):
    """Name and function of each row about messages that nobody receives for long."""
    # A million integers and a hundred thousand messages of 1 KB in all, which fit; and of each sender, which do not.
    for senders in (3, RANKS - 1):
        for total, size in ((10**6, 4), (10**5, 1024)):
            each = -(-total // senders)
            yield (f"memory group of 512 MB, barrier, {senders} x {each} messages of {size} bytes",
                   lambda senders=senders, each=each, size=size: messages_in_group(program, mpiexec, senders + 1, each, size, "barrier"))
    yield (f"memory group of 512 MB, 8 s of computing, 3 x {2 * 10**5} messages of 1024 bytes",
           lambda: messages_in_group(program, mpiexec, 4, 2 * 10**5, 1024, 8))
    if not long:
        return
    for senders in (3, RANKS - 1):
        for each, size in ((10**6, 4), (10**5, 1024)):
            yield (f"memory group of 512 MB, 10 s of computing, {senders} x {each} messages of {size} bytes",
                   lambda senders=senders, each=each, size=size: messages_in_group(program, mpiexec, senders + 1, each, size, 10, 600))


def test_all(pattern, long):
    prefix = environments.BUILD / "install"
    if not (prefix / "bin/mpicc").exists():
        raise SystemExit(f"{prefix}/bin/mpicc does not exist: `make build` installs it")
    exchange, unreceived, communicators, refuse = compile_programs(prefix)
    mpiexec = prefix / "bin/mpiexec"
    passed = failed = skipped = 0

    def job(name, command, ranks, may_run, may_fail):
        status, output, problems = run(name, command())
        return problems + judge(status, output, ranks, may_run, may_fail), output, ""

    work = [("memory group of 512 MB", lambda: exchange_in_group(exchange, mpiexec)),
            ("memory group of 512 MB, TOWPATH_MALLOC", lambda: exchange_in_group(exchange, mpiexec, "TOWPATH_MALLOC=1"))]
    work += rows_of_messages(unreceived, mpiexec, long)
    work += rows_of_communicators(communicators, refuse, mpiexec)
    work += [(row[0], lambda row=row: job(*row)) for row in rows(exchange, refuse, mpiexec)]
    work += [(f"{calls} refused" + (", SIGTERM" if asked else ""), lambda calls=calls, asked=asked: without_calls(refuse, mpiexec, calls, asked))
             for calls in WITHOUT for asked in (False, True)]
    work += [(f"ulimit {limit}", lambda limit=limit: under_limit(exchange, mpiexec, limit)) for limit in ("-s 64", "-v 100000")]
    for name, test in work:
        if not re.search(pattern, name):
            continue
        started = time.monotonic()
        try:
            problems, output, remark = test()
        except Skipped as reason:
            skipped += 1
            print(f"skip           {name}: {reason}")
            continue
        passed, failed = (passed, failed + 1) if problems else (passed + 1, failed)
        print(f"{'FAIL' if problems else 'ok  '} {time.monotonic() - started:6.2f} s  {name}{remark}", flush=True)
        for line in problems + (["| " + line for line in output.splitlines()[-15:]] if problems else []):
            print("     " + line)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


def main():
    if sys.argv[1:2] == ["--inside"]:
        return inside(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", default="")
    parser.add_argument("--long", action="store_true")
    options = parser.parse_args()
    return test_all(options.filter, options.long)


if __name__ == "__main__":
    sys.exit(main())
