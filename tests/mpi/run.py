#!/usr/bin/env python3
"""Builds and runs the C programs of tests/mpi on one MPI library: Towpath, or MPICH, which proves that the tests are right.

    run.py --library towpath --prefix build/install          both ABIs of an installed Towpath
    run.py --library mpich                                   MPICH from its wheel (a venv under build/)
    run.py --library mpich --filter point_to_point --repeat 20 --busy
    run.py --library towpath --prefix build/install --hosts 2 --mtu 9000     over hosts that are namespaces (see tests/hosts)

Each chapter directory has a list.toml with one [[test]] table for each program:
    program       path below tests/mpi without ".c", may be of another chapter
    ranks         numbers of ranks, [1, 2, 4] for instance
    abis          ["mpich", "standard"] when absent
    args          arguments; environment: variables; timeout: seconds (60)
    exit          expected exit status of the launcher (0); "nonzero" for any failure
    output        a regular expression that the output must contain
    oks           how many ranks must print "ok" (all when exit is 0)
    mpich         the clause of the standard that MPICH does not meet: the program does not run there
    towpath_only  true: not run on MPICH (more than 4 ranks, or our own promise)
    unbuilt       what Towpath lacks for it: the program does not run on Towpath yet
    stress        true: `make stress` repeats it 500 times
    one_host      why it runs on one host only
    waits         true: it sleeps most of its time, and runs beside the others

A test passes when the launcher ends in time with the expected status, every rank said "ok" and no process or file is left over.
"""

import argparse
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import zlib
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent.parent / "hosts")]
import environments  # noqa: E402
import links  # noqa: E402
import traffic  # noqa: E402

HERE = Path(__file__).resolve().parent
ABIS = ["mpich", "standard"]
MARKER = "TOWPATH_TEST_RUN"
STILL_RAN = "still ran after"
# Seconds in which gdb shows the calls of all processes of a test that hangs.
GDB_SECONDS = 60
# So many tests that wait run beside the others.
WAITING = 2
FLAGS = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-pthread", f"-I{HERE}"]
# MPICH yields instead of spinning for ever when ranks share cores.
MPICH_SETTINGS = {"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1"}


@dataclass
class Case:
    """One program on one ABI with one number of ranks."""

    test: dict
    abi: str
    ranks: int
    binary: Path = None
    problems: list = field(default_factory=list)
    seconds: float = 0.0

    @property
    def name(self):
        program, chapter = self.test["program"], self.test["chapter"]
        other = "" if program.startswith(chapter + "/") else chapter + " "
        return f"{other}{program} {self.abi} {self.ranks}"


@dataclass
class Library:
    """An installed MPI library: how programs are compiled for it and started on it."""

    name: str
    prefix: Path

    def compiler(self, abi):
        if self.name == "mpich":
            return [self.prefix / "bin" / ("mpicc_abi" if abi == "standard" else "mpicc")]
        return [self.prefix / "bin" / "mpicc", "--abi", abi]

    def launcher(self, ranks):
        hosts = os.environ.get("HOSTS_NAMES")
        if hosts is None:
            return [self.prefix / "bin" / "mpiexec", "-n", str(ranks)]
        each = math.ceil(ranks / len(hosts.split(",")))
        if self.name == "towpath":
            return [self.prefix / "bin" / "mpiexec", "--hosts", hosts, "-ppn", str(each), "--launcher", os.environ["HOSTS_RUN"] + " {host}",
                    "-n", str(ranks)]
        return [environments.venv("mpich") / "bin" / "mpiexec", "-launcher", "rsh", "-launcher-exec", os.environ["HOSTS_ENTER"],
                "-hosts", hosts, "-ppn", str(each), "-n", str(ranks)]

    def environment(self, extra):
        settings = MPICH_SETTINGS if self.name == "mpich" else {}
        return environments.clean_environment(**settings, **extra)

    def programs(self):
        """Where its programs are: they are bound to the prefix that they were compiled with."""
        prefix = zlib.crc32(str(self.prefix).encode())
        return environments.BUILD / "tests" / f"{self.name}-{prefix:08x}"

    def stamp(self, abi):
        """When the headers changed last: binaries that are older are built again."""
        headers = [self.prefix / "include" / name for name in ("mpi.h", "mpi_abi.h")]
        found = [path.stat().st_mtime for path in headers if path.exists()]
        return max(found, default=0.0) if abi in ABIS else 0.0


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", choices=["towpath", "mpich"], default="towpath")
    parser.add_argument("--prefix", type=Path, help="where the library is installed")
    parser.add_argument("--abi", choices=ABIS, help="this ABI only")
    parser.add_argument("--filter", default="", help="a regular expression for 'chapter/program ABI ranks', after the list's chapter if another")
    parser.add_argument("--ranks", type=int, help="this number of ranks only")
    parser.add_argument("--fewer", action="store_true", help="of a test's numbers of ranks above one, every other one on each ABI")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--stress", action="store_true", help="only tests marked stress")
    parser.add_argument("--busy", action="store_true", help="a foreign process computes beside the tests")
    parser.add_argument("--time-limit", type=float,
                        help="start no further test after this many seconds; the rest is skipped")
    parser.add_argument("--timeout", type=float, help="seconds for one test, instead of what the lists say")
    parser.add_argument("--jobs", type=int, default=1, help="tests at the same time")
    parser.add_argument("--list", action="store_true", help="say what would run")
    parser.add_argument("--verbose", action="store_true", help="show the output of passing tests too")
    links.add_options(parser.add_argument_group("several hosts", "joined by a network of this machine's own; tests of one rank are skipped"))
    parser.set_defaults(hosts=None)
    return parser.parse_args()


def read_tests():
    """All tests of all chapters. A list that names no program, or a program that no list names, is an error."""
    tests, named = [], set()
    for path in sorted(HERE.glob("*/list.toml")):
        for test in tomllib.loads(path.read_text()).get("test", []):
            if not (HERE / (test["program"] + ".c")).exists():
                raise SystemExit(f"{path} names {test['program']}, but tests/mpi/{test['program']}.c does not exist")
            tests.append({**test, "chapter": path.parent.name})
            named.add(test["program"])
    for source in sorted(HERE.glob("*/*.c")):
        if str(source.relative_to(HERE).with_suffix("")) not in named:
            raise SystemExit(f"{source} stands in no list.toml")
    return tests


def takes_part(test, ranks, options):
    """Whether the library takes part in a test with so many ranks."""
    if options.library == "mpich" and (test.get("mpich") or test.get("towpath_only") or ranks > 4):
        return False
    if options.hosts and (ranks == 1 or test.get("one_host") or test.get("exit", 0) != 0):
        return False
    return options.library != "towpath" or not test.get("unbuilt")


def numbers_of_ranks(test, abi, options):
    """With how many ranks a test runs on an ABI."""
    possible = [ranks for ranks in test["ranks"] if takes_part(test, ranks, options)]
    abis, several = test.get("abis", ABIS), [ranks for ranks in possible if ranks > 1]
    if not options.fewer or len(several) == 1:
        return possible
    return [ranks for ranks in possible if ranks == 1] + several[abis.index(abi)::len(abis)]


def choose(tests, options):
    """The cases to run and how many were skipped."""
    cases, skipped = [], 0
    for test in tests:
        for abi in test.get("abis", ABIS):
            numbers = numbers_of_ranks(test, abi, options)
            for ranks in test["ranks"]:
                case = Case(test, abi, ranks)
                unwanted = (options.abi and abi != options.abi) or (options.ranks and ranks != options.ranks)
                if unwanted or (options.stress and not test.get("stress")) or not re.search(options.filter, case.name):
                    continue
                if ranks in numbers:
                    cases.append(case)
                else:
                    skipped += 1
    return cases, skipped


def build(cases, library):
    """Compiles what is missing or old, two at a time; a failed compilation is a problem of all its cases."""
    directory = library.programs()
    wanted = {}
    for case in cases:
        wanted.setdefault((case.test["program"], case.abi), []).append(case)

    def compile_one(item):
        (program, abi), users = item
        source = HERE / (program + ".c")
        binary = directory / abi / program
        for case in users:
            case.binary = binary
        newest = max(path.stat().st_mtime for path in [source, *HERE.glob("*.h"), *source.parent.glob("*.h")])
        if binary.exists() and binary.stat().st_mtime > max(newest, library.stamp(abi)):
            return
        binary.parent.mkdir(parents=True, exist_ok=True)
        # Another run of this program may build or run the same one.
        fresh = binary.with_name(f"{binary.name}.{os.getpid()}")
        command = [*library.compiler(abi), *FLAGS, source, "-o", fresh, "-lm"]
        result = subprocess.run(command, env=library.environment({}), capture_output=True, text=True)
        if result.returncode:
            binary.unlink(missing_ok=True)
            for case in users:
                case.problems.append("does not compile:\n" + result.stderr[-4000:])
            return
        if result.stderr:
            print(result.stderr, file=sys.stderr)
        fresh.replace(binary)

    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(compile_one, wanted.items()))


def marked_processes(mark):
    """Processes that carry the mark of one test run in their environment."""
    found = []
    needle = f"{MARKER}={mark}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if needle in (entry / "environ").read_bytes().split(b"\0"):
                    if stat_fields(entry)[0] != "Z":
                        found.append(int(entry.name))
            except OSError:
                pass
    return found


def stat_fields(directory):
    """The fields of /proc/PID/stat from the state on; the name before it may contain spaces."""
    return (directory / "stat").read_text().rsplit(")", 1)[1].split()


def what_it_does(process, ends):
    """What a process that hangs does: its name, state, seconds of processor time, where each thread
    is in the kernel, and its calls, if gdb shows them before the time `ends`."""
    try:
        directory = Path(f"/proc/{process}")
        fields = stat_fields(directory)
        seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        places = [(task / "wchan").read_text() or "?" for task in (directory / "task").iterdir()]
        name = (directory / "comm").read_text().strip()
        state = f"state {fields[0]}, {seconds:.1f} s of processor time, {' '.join(places)}"
        return "\n".join([f"{process} {name}: {state}", *stacks(process, ends - time.monotonic())])
    except OSError as error:
        return f"{process}: {error}"


def stacks(process, seconds):
    """The calls that each thread of a process is in, where gdb is installed and shows them within
    so many seconds."""
    if not shutil.which("gdb") or seconds <= 0:
        return []
    try:
        command = ["gdb", "-p", str(process), "-batch", "-ex", "thread apply all backtrace 12"]
        found = subprocess.run(command, capture_output=True, text=True, errors="replace",
                               timeout=min(seconds, 20), stdin=subprocess.DEVNULL)
        lines = [line for line in found.stdout.splitlines() if re.match(r"Thread \d|#\d", line)]
        return ["  " + line[:160] for line in lines]
    except subprocess.TimeoutExpired:
        return ["  gdb took too long"]


def kill(processes):
    """Ends processes, some of which may have ended already."""
    for process in processes:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass


def end_processes(mark):
    """Ends what a test left behind; says how many processes that were."""
    left = marked_processes(mark)
    for _ in range(20):
        if not left:
            return 0
        time.sleep(0.05)
        left = marked_processes(mark)
    kill(left)
    return len(left)


def run_case(case, library, round_number, limit=None):
    """Runs one case; its problems say what was wrong. Returns the output."""
    case.problems.clear()
    if not case.binary.exists():
        case.problems.append("was not built")
        return ""
    test = case.test
    mark = f"{os.getpid()}-{case.name.replace(' ', '-')}-{round_number}"
    extra = {name: str(value) for name, value in test.get("environment", {}).items()}
    command = [*library.launcher(case.ranks), case.binary, *(str(word) for word in test.get("args", []))]
    limit = limit or test.get("timeout", 60)
    before = shared_files()
    started = time.monotonic()
    child = subprocess.Popen([str(word) for word in command], env=library.environment({MARKER: mark, **extra}),
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, errors="replace", start_new_session=True)
    try:
        output, _ = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        ends = time.monotonic() + GDB_SECONDS
        evidence = "\n".join(what_it_does(process, ends) for process in marked_processes(mark))
        case.problems.append(f"{STILL_RAN} {limit} s: a hang, or far too slow\n{evidence}")
        # Processes may have started and ended while gdb ran.
        kill(marked_processes(mark))
        output, _ = child.communicate()
    case.seconds = time.monotonic() - started
    judge(case, library, child.returncode, output)
    left = end_processes(mark)
    if left:
        case.problems.append(f"{left} processes were left behind")
    files = sorted(shared_files() - before) if library.name == "towpath" else []
    if files:
        case.problems.append(f"files were left in /dev/shm: {files}")
    return output


def shared_files():
    """Towpath's files in /dev/shm. They have names for a moment only, where memfd is refused."""
    return {path.name for path in Path("/dev/shm").glob(".towpath*")}


def judge(case, library, status, output):
    """Compares status and output with what the list expects."""
    expected = case.test.get("exit", 0)
    if case.problems:
        return
    if expected == "nonzero":
        if status == 0:
            case.problems.append("exit status 0, a failure was expected")
    elif status != expected:
        case.problems.append(f"exit status {status}, expected {expected}")
    oks = case.test.get("oks", case.ranks if expected == 0 else 0)
    # Launchers merge lines now and then: "okok" is two ranks.
    said = sum(len(word) // 2 for word in re.findall(r"(?:^|\s|\])((?:ok)+)\s*$", output, re.MULTILINE))
    if said < oks:
        case.problems.append(f"{said} ranks said ok, expected {oks}")
    pattern = case.test.get("output")
    # MPICH's launcher may end before it has forwarded what the ranks of an aborted job wrote: on a
    # busy machine 5 of 60 runs of environment/fatal printed nothing at all (MPICH 5.0.2).
    lost = library.name == "mpich" and expected == "nonzero" and not output.strip()
    if pattern and not lost and not re.search(pattern, output, re.MULTILINE):
        case.problems.append(f"the output lacks /{pattern}/")


def hung_before_it_began(case, library, output):
    """Whether MPICH's own start hung, as it did once in some thirty runs of all its tests (5.0.2,
    2026-11-25, busy machine; not in 1660 runs of that test alone). A hang of Towpath, and one of
    MPICH after any output, is a failure."""
    hung = any(problem.startswith(STILL_RAN) for problem in case.problems)
    return library.name == "mpich" and hung and not output.strip()


def report(case, output, verbose):
    """One line for each case, and the output when something was wrong."""
    print(f"{'ok  ' if not case.problems else 'FAIL'} {case.seconds:6.2f} s  {case.name}", flush=True)
    if case.problems:
        for problem in case.problems:
            print("     " + problem.replace("\n", "\n     "))
    if case.problems or verbose:
        for line in output.splitlines()[-30:]:
            print("     | " + line)
        sys.stdout.flush()


@environments.segments_swept()
def run_all(cases, library, options):
    """Runs all cases as often as asked. Returns the numbers of passed, failed and not started ones."""
    work = [(case, number) for number in range(options.repeat) for case in cases]
    ends = time.monotonic() + options.time_limit if options.time_limit else None
    passed = failed = late = 0

    def one(item):
        case, number = item
        if ends and time.monotonic() > ends:
            return None
        own = Case(case.test, case.abi, case.ranks, case.binary, list(case.problems))
        broken = bool(own.problems)
        output = "" if broken else run_case(own, library, number, options.timeout)
        if hung_before_it_began(own, library, output):
            print("MPICH hung before the test began, which proves nothing of the test; once more: "
                  f"{own.name}: {own.problems[0]}", flush=True)
            output = run_case(own, library, f"{number}-again", options.timeout)
        return own, output

    with ThreadPoolExecutor(max_workers=options.jobs) as pool, ThreadPoolExecutor(max_workers=WAITING) as beside:
        started = [(beside if item[0].test.get("waits") else pool).submit(one, item) for item in work]
        for ended in as_completed(started):
            result = ended.result()
            if result is None:
                late += 1
                continue
            case, output = result
            passed, failed = (passed, failed + 1) if case.problems else (passed + 1, failed)
            report(case, output, options.verbose)
    return passed, failed, late


def main():
    options = parse_arguments()
    cases, skipped = choose(read_tests(), options)
    if options.list:
        print("\n".join(case.name for case in cases))
        return 0
    if options.prefix:
        prefix = options.prefix.resolve()
    else:
        prefix = environments.venv("mpich") if options.library == "mpich" else environments.BUILD / "install"
    library = Library(options.library, prefix)
    if not (prefix / "bin" / "mpicc").exists():
        raise SystemExit(f"{prefix}/bin/mpicc does not exist: is the library installed there? `make build` does it")
    build(cases, library)
    if options.hosts and "HOSTS_NAMES" not in os.environ:
        network = [HERE.parent / "hosts" / "hosts.py", *links.words(options)]
        os.execv(sys.executable, [sys.executable, *(str(word) for word in network), "--", sys.executable, *sys.argv])
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if options.busy else None
    try:
        passed, failed, late = run_all(cases, library, options)
    finally:
        if busy:
            busy.kill()
            busy.wait()
    skipped += late
    traffic.show()
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
