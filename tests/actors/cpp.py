#!/usr/bin/env python3
"""Compiles and runs the programs in tests/actors/cpp: chares in C++20, and the C functions.

    cpp.py                        build/install and MPICH
    cpp.py --filter 'traffic'     some of them
    cpp.py --actors DIRECTORY     another libtowpath_actors.so than that of build/install

A program passes when it ends with status 0 and has said "ok": on Towpath with one to four ranks, by
both ABIs, and on MPICH. A case of failures.cpp passes when all ranks end with the code and one has
said the sentence, or, if it writes to what it was lent, when it dies with the sentence; a case of
refused.cpp when the compiler says the sentence. Programs in benchmarks/chares are compiled only.
Prints "N passed, M failed".
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import checkpoints  # noqa: E402
import environments  # noqa: E402

SOURCES = HERE / "cpp"
BINARIES = environments.BUILD / "tests/actors"
STANDARD, MPICH = "libmpi_abi.so.1", "libmpi.so.12"
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
COMPILER = ["g++", "-std=c++20"]
INCLUDE = ["-I", environments.ROOT / "include"]
BENCHMARKS = environments.ROOT / "benchmarks/chares"
PROGRAMS = ["parameters", "collections", "reductions", "coroutines", "traffic", "sections",
            "operations", "persistent", "caught", "priorities", "balancing", "threads", "c_face",
            "c_sections", "c_balancing"]
WITH_MPI = "with_mpi"
PERSISTENT = "persistent"
BETWEEN = "between"
# What it copies more than raw MPI, at most, unless arrays are copied: one of the 20 that it sends.
MORE_COPIED = 4 << 20
REFUSED = re.compile(r"defined\((\w+)\) // (.*)")

# Cases of failures.cpp: the sentence and the code of all ranks.
FAILURES = {
    "throws": r"Victim::throws\(\) of Victim\[3\] failed: thrown here",
    "nobody is told": r"Caught::fails\(\) of Caught\[2\] failed: not caught",
    "no caller is told": r"Caught::fails\(\) for a result of Caught\[2\] failed: not caught",
    "failure nobody awaits": r"on rank 0 failed: Caught::fails\(\) of chare \[2\] failed: not c",
    "caught by nobody": r"main function, which had waited, failed: .* of chare \[2\] failed: not caught",
    "all throw": r"Victim::throws\(\) of Victim\[\d\] failed: thrown here",
    "throws a number": r"Victim\[3\] failed: it has thrown something that is no std::exception",
    "constructor throws": r"constructor Victim\(int\) of Victim\[3\] failed: no such victim",
    "pack throws": r"packing of Victim\[3\] failed: cannot be packed",
    "packs more": r"packing of Victim\[3\] failed: more bytes are written than were measured",
    "destructor fails": r"destruction of Victim\[3\] failed: cannot be destroyed",
    "balanced and throws": r"Tired::resume_from_sync\(\) after .* of Tired\[0\] failed: cannot",
    "measuring throws": r"packing of Victim\[3\] failed: cannot be measured at first",
    "wrong index": r"Victim::nothing\(\) was invoked on Victim\[77\], but the array has no element",
    "wrong index in main": r"main function failed: .* on Victim\[-1\], but the array has no element",
    "wrong rank": r"rank 3 was named, but the job has 3 ranks",
    "negative rank": r"migrate was called with rank -1; ranks are numbered from 0",
    "wrong rank of a chare": r"rank 1000 was named, but the job has 3 ranks",
    "negative rank of a chare": r"there is no rank -2",
    "wrong rank of an element": r"rank 1000 was named, but the job has 3 ranks",
    "negative extent": r"an array has the extent -4; extents are 0 or more",
    "lengths": r"reduction over Victim failed: elements contribute \d+ and \d+ bytes to sum of i32; all",
    "lengths of the program's own": r"over Victim failed: arrays of \d+ and \d+ bytes were contributed",
    "operation throws": r"a reduction over Victim failed: numbers are not equal",
    "other tuples": r"over Victim failed: elements contribute tuples of different reducers",
    "no tuple": r"a reduction over Victim failed: elements contribute .*",
    "no set": r"told_set\(.*\) of Victim\[0\] failed: 4 bytes are no list of a tuple or a set",
    "fewer results": r"Victim\[1\] failed: a result of 2 values is no towpath::Results<int, int, int>",
    "section of a wrong index": r"a section was made with Victim\[4\], but the collection has no el",
    "section of a chare": r"a section was made of single chares, which belong to no array or group",
    "step": r"section_between was called with the step 0; steps are 1 or more",
    "no section": r"was sent to section 0 of rank 0, which that rank has not made",
    "no section of a rank": r"was sent to section 7 of rank 1, which that rank has not made",
    "section of no rank": r"rank 9 was named, but the job has 3 ranks",
    "callback of no section": r"a message was sent to section 3 of rank 2, which that rank has not made",
    "no member": r"Victim\[[23]\] contributed to a section to which it does not belong",
    "lengths in a section": r"reduction over Victim failed: elements contribute \d+ and \d+ bytes to sum",
    "member never made": r"nothing is left to do, but .* whose members were not all made",
    "long priority": r"a priority has up to 1048576 bits, but 1048608 were given",
    "wide part of a priority": r"is followed by up to 32 bits of a value, but 33 were named",
    "single chare": r"contribute was called for single chare .*, which belongs to no array",
    "wrong result": r"Victim::told\(double\) of Victim\[3\] failed: a result of 4 bytes is no double",
    "result of nothing": r"a result of 0 bytes is no double",
    "function": r"a function that was called with a result on rank 0 failed: in a function",
    "function and value": r"a result of 4 bytes is no double",
    "wrong future": r"a result of 4 bytes is no std::array<int, 2>",
    "longer than a channel": r"Victim\[3\] failed: 40 bytes were put into a persistent channel of",
    "closed channel": r"was put into persistent channel \d+ of rank 1, which is not open",
    "closed twice": r"was put into persistent channel \d+ of rank \d, which is not open",
    "moves with a channel": r"Victim\[2\] cannot migrate or be deleted while methods of it",
    "short message": r"Victim::takes\(std::string, .* has fewer bytes than its type needs",
    "huge count": r"fewer bytes than its type needs",
    "count of all": r"fewer bytes than its type needs",
    "short type": r"ShortTaker::take\(Short\) of .* fewer bytes than its type needs",
    "ordinary object": r"main function failed: a chare was made as an ordinary object",
    "ordinary object in a method": r"a chare was made as an ordinary object; use create_array",
    "main": r"the main function failed: main has thrown",
    "read-only throws": r"the main function failed: this cannot be written",
    "main at once": r"the main function failed: main has thrown",
    "main later": r"the main function, which had waited, failed: main has thrown later",
    "twice": r"a callback of a function or a future was called twice",
    "throws after a wait": r"Victim::waits_and_throws\(\) of chare \[3\], which had waited, failed: thr",
    "task throws": r"Victim::task_throws\(\) of chare \[3\], which had waited, failed: thrown in a task",
    "waits and moves": r"Victim\[3\] cannot migrate or be deleted while methods of it are suspended",
    "waits and leaves": r"Victim\[3\] cannot migrate or be deleted while methods of it are suspended",
    "never made": r"nothing is left to do, but Victim::nothing\(\) waits for Victim\[5\]",
    "again": r"MPI has been finalized; a program runs chares once",
    "another thread": r"another thread of this process has run chares",
    "same names": r"two entry methods have the name Victim::throws\(\); give one another name",
    "other programs": r"its program has other chares or entry methods than that of rank 0",
}
CODES = {
    "exit code": 42,
    "callback of one": 0,
    "no callback of the first": 0,
    "no callback of the first, tuple": 0,
}
# Cases in which rank 1 dies, because it writes to an array that it was lent.
WRITES = {
    "writes": r"Victim::write\(.*\) of the chare with the index \[1\] writes to an array that it was",
    "writes later": r"write later of the chare with the index \[1\] writes to an array that it was",
}
TIMED_OUT = (124, 137)
# Says the code of its rank, and lets the job go on.
SHOW_CODE = '"$0" "$1"; echo "code $?"'


def output_of(words, environment, limit):
    """Status and output of a command that has so many seconds."""
    words = ["timeout", "--kill-after=5", limit, *words]
    result = subprocess.run([str(word) for word in words], env=environment, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, errors="replace")
    return result.returncode, result.stdout


def compiled(source, binary, options, compiler, flags):
    """Compiles a program, as fast as that goes: the examples are optimized. Nothing if it fails,
    else its path; and what the compiler said."""
    library = options.actors
    # Another library than the installed one comes before what the flags name.
    words = [*compiler, *WARNINGS, "-O0", *INCLUDE, SOURCES / source, "-o", BINARIES / binary,
             "-L", library, *flags, "-ltowpath_actors", f"-Wl,-rpath,{library}", "-lpthread"]
    status, output = output_of(words, environments.clean_environment(), 300)
    return (None if status else BINARIES / binary), output


def flags_of(options, wrapper):
    """What a compiler script of MPI adds."""
    words = [options.prefix / "bin" / wrapper, "-show"]
    return output_of(words, environments.clean_environment(), 60)[1].split()[1:]


def compile_all(options):
    """Compiles all programs, two at a time: what `compiled` says by the name of the program."""
    cpp = COMPILER
    in_c = [name for name in PROGRAMS if name.startswith("c_")]
    in_cpp = [name for name in PROGRAMS if name not in in_c]
    todo = {name: (f"{name}.cpp", cpp, []) for name in [*in_cpp, "failures"]}
    todo |= {name: (f"{name}.c", ["gcc", "-std=gnu11"], []) for name in in_c}
    todo[BETWEEN] = (f"{BETWEEN}.cpp", cpp, flags_of(options, "mpicxx_abi"))
    todo["checkpoint"] = ("checkpoint.cpp", cpp, [])
    todo[checkpoints.OTHER] = ("checkpoint.cpp", cpp, ["-DOTHER_PROGRAM"])
    todo[WITH_MPI] = ("with_mpi.cpp", cpp, flags_of(options, "mpicxx_abi"))
    todo[f"{WITH_MPI}-mpich"] = ("with_mpi.cpp", cpp, flags_of(options, "mpicxx"))
    if shutil.which("clang++"):
        clang = ["clang++", "-std=c++20"]
        todo |= {f"{name}-clang": (f"{name}.cpp", clang, []) for name in in_cpp}
    with ThreadPoolExecutor(2) as pool:
        started = {name: pool.submit(compiled, source, name, options, compiler, flags)
                   for name, (source, compiler, flags) in todo.items()}
        return {name: job.result() for name, job in started.items()}


def jobs(options, name):
    """Where a program runs: name, launcher, MPI library, ranks."""
    own, prefix = options.prefix / "bin/mpiexec", options.prefix / "lib"
    is_mpich = name.endswith("-mpich")
    if not is_mpich:
        for ranks in (1, 2, 3, 4):
            yield f"Towpath, {ranks} ranks", [own], prefix / STANDARD, ranks
    if name != WITH_MPI:
        yield "Towpath, MPICH ABI, 3 ranks", [own], prefix / MPICH, 3
    if name == PERSISTENT:
        hosts = [sys.executable, HERE.parent / "hosts/hosts.py", "--hosts", 2]
        two = [*hosts, "--", "sh", "-c", environments.ON_HOSTS, own]
        yield "Towpath on two hosts, 4 ranks", two, prefix / STANDARD, 4
    peer = environments.venv("mpich")
    library = peer / "lib" / (MPICH if is_mpich else STANDARD)
    yield "MPICH, 2 ranks", [peer / "bin/mpiexec"], library, 2


def job_environment(options, library):
    """As in a program that is linked with this MPI library."""
    return environments.clean_environment(LD_LIBRARY_PATH=f"{options.actors}:{library.parent}",
                                          LD_PRELOAD=str(library))


def run_programs(options, programs):
    for program, (binary, said) in programs.items():
        if binary is None:
            yield f"{program} is compiled", False, said
            continue
        if program in ("failures", "checkpoint", checkpoints.OTHER, BETWEEN):
            continue
        for name, launcher, library, ranks in jobs(options, program):
            name = f"{program}, {name}"
            if re.search(options.filter, name):
                words = [*launcher, "-n", ranks, binary]
                status, output = output_of(words, job_environment(options, library), 60)
                yield name, status == 0 and "ok" in output.split(), output


def run_between(options, binary):
    """Counts what ranks of two hosts copy, with raw MPI and with chares."""
    counter = BINARIES / "libcopies.so"
    words = ["gcc", "-O2", "-fno-builtin", "-shared", "-fPIC", *WARNINGS, SOURCES / "copies.c"]
    status, output = output_of([*words, "-o", counter], environments.clean_environment(), 60)
    if status:
        yield f"{BETWEEN}, copies.c", False, output
        return
    hosts = [sys.executable, HERE.parent / "hosts/hosts.py", "--hosts", 2, "--", "sh", "-c"]
    start = [*hosts, environments.ON_HOSTS, options.prefix / "bin/mpiexec", "-n", 2]
    for network in ("tcp", "clic"):
        name = f"{BETWEEN}, {network}"
        if not re.search(options.filter, name):
            continue
        copied, said, is_well = {}, "", True
        for way in ("raw", "nocopy", "put", "copied"):
            words = [*start, "env", f"LD_PRELOAD={counter}", binary, way]
            environment = environments.clean_environment(TOWPATH_NETWORK=network)
            status, output = output_of(words, environment, 60)
            counts = re.findall(r"^copied (\d+) bytes$", output, re.MULTILINE)
            copied[way] = sum(int(count) for count in counts)
            said += f"{way}: {output}"
            is_well &= status == 0 and len(counts) == 2
            copies_more = copied[way] > copied["raw"] + MORE_COPIED
            is_well &= copies_more == (way == "copied")
        yield name, is_well, said


def run_failures(options, binary, ranks=3):
    launcher, library = options.prefix / "bin/mpiexec", options.prefix / "lib" / STANDARD
    cases = {case: (sentence, 1) for case, sentence in FAILURES.items()}
    cases |= {case: ("", code) for case, code in CODES.items()}
    for case, (sentence, code) in cases.items():
        name = f"failures, {case}"
        if re.search(options.filter, name):
            words = [launcher, "-n", ranks, "sh", "-c", SHOW_CODE, binary, case]
            status, output = output_of(words, job_environment(options, library), 30)
            is_well = re.search(sentence, output) and output.count(f"code {code}\n") == ranks
            yield name, bool(status == 0 and is_well), output


def run_checkpoints(options, programs):
    launcher, library = options.prefix / "bin/mpiexec", options.prefix / "lib" / STANDARD
    environment = job_environment(options, library)

    def run(ranks, words, settings):
        settings = {name: str(value) for name, value in settings.items()}
        return output_of([launcher, "-n", ranks, *words], environment | settings, 60)

    yield from checkpoints.results(options, programs, run)


def run_writes(options, binary):
    launcher, library = options.prefix / "bin/mpiexec", options.prefix / "lib" / STANDARD
    for case, sentence in WRITES.items():
        name = f"failures, {case}"
        if re.search(options.filter, name):
            words = [launcher, "-n", 2, binary, case]
            status, output = output_of(words, job_environment(options, library), 30)
            is_well = status not in (0, *TIMED_OUT) and re.search(sentence, output)
            yield name, bool(is_well), output


def checked(source, flags):
    """Status and output of the compiler, which makes nothing of a source."""
    words = [*COMPILER, *WARNINGS, "-fsyntax-only", *flags, *INCLUDE, source]
    return output_of(words, environments.clean_environment(), 60)


def precompiled():
    """The flags by which a source has the header without compiling it again."""
    directory = BINARIES / "precompiled"
    header = directory / "towpath/chare.hpp.gch"
    header.parent.mkdir(parents=True, exist_ok=True)
    source = environments.ROOT / "include/towpath/chare.hpp"
    words = [*COMPILER, *WARNINGS, *INCLUDE, "-x", "c++-header", source, "-o", header]
    status, output = output_of(words, environments.clean_environment(), 120)
    if status:
        raise SystemExit(f"chare.hpp cannot be compiled: {output}")
    return ["-I", directory]


def run_benchmarks(options):
    for source in sorted(BENCHMARKS.glob("*.cpp")):
        name = f"benchmarks, {source.name}"
        if re.search(options.filter, name):
            status, output = checked(source, flags_of(options, "mpicxx_abi"))
            yield name, status == 0, output


def run_refused(options):
    cases = REFUSED.findall((SOURCES / "refused.cpp").read_text())
    cases = [(case, sentence) for case, sentence in [("", ""), *cases]
             if re.search(options.filter, f"refused, {case}")]

    flags = precompiled() if cases else []

    def compile_one(case):
        return checked(SOURCES / "refused.cpp", [*flags, *([f"-D{case}"] if case else [])])

    with ThreadPoolExecutor(2) as pool:
        outcomes = pool.map(compile_one, [case for case, _ in cases])
        for (case, sentence), (status, output) in zip(cases, outcomes):
            is_well = sentence in output if case and status else not case and status == 0
            yield f"refused, {case or 'nothing'}", is_well, output


def results(options):
    """The name of each test, whether it passes, and what was said."""
    programs = compile_all(options)
    yield from run_programs(options, programs)
    if binary := programs[BETWEEN][0]:
        yield from run_between(options, binary)
    if binary := programs["failures"][0]:
        yield from run_failures(options, binary)
        yield from run_writes(options, binary)
    compiled_programs = {name: binary for name, (binary, _) in programs.items()}
    if all(compiled_programs.get(name) for name in ("balancing", "checkpoint", checkpoints.OTHER)):
        yield from run_checkpoints(options, compiled_programs)
    yield from run_refused(options)
    yield from run_benchmarks(options)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, default=environments.BUILD / "install")
    parser.add_argument("--actors", type=Path, help="directory of libtowpath_actors.so")
    parser.add_argument("--filter", default="", help="tests whose name this expression finds")
    options = parser.parse_args()
    options.prefix = options.prefix.resolve()
    options.actors = (options.actors or options.prefix / "lib").resolve()
    BINARIES.mkdir(parents=True, exist_ok=True)
    environments.report(results(options))


if __name__ == "__main__":
    main()
