#!/usr/bin/env python3
"""Runs the programs of tests/actors/python_programs on the Python module of chares with 1, 2 and 4
ranks, and on charm4py those whose features it has: the programs are the same but for the import.

    python.py                      all of them
    python.py --filter reductions  some of them, by their names
    python.py --only towpath       not on charm4py

A program passes when it ends in time with status 0 and has said "ok"; one that shall fail, when it
ends with the status and the sentence that stand in ENDS. Prints "N passed, M failed".
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import environments  # noqa: E402

PROGRAMS = HERE / "python_programs"
SECONDS = 60
# What charm4py does not have.
BEYOND = {"async_methods", "lending", "other_arrays", "pool_errors", "timers", "waiting_messages",
          "waiting_together"}
# It needs a rank for the scheduler of its pool.
RANKS_OF_CHARM4PY = {"pool": (2, 4)}
# Further words with which a program is started, on Towpath only.
WORDS = {"balancing": [["+balancer", "GreedyLB", "moves"], ["moves", "+balancer", "RotateLB"]]}
# Cases of ends.py: status, what is said, and the smallest number of ranks.
ENDS = {
    "raises": (1, r"ValueError: bad value", 1),
    "raises_main": (1, r"RuntimeError: in main", 1),
    "waits": (1, r"must be a coroutine", 1),
    "raises_later": (1, r"KeyError: 'late'", 1),
    "code": (3, r"", 1),
    "leaves": (4, r"", 1),
    "sentence": (1, r"the last words", 1),
    "abort": (1, r"it was aborted", 1),
    "index": (1, r"the array has 1 dimensions: it has no index \(1, 2\)", 1),
    "idle": (1, r"no rank has anything left to do", 1),
    "no_element": (1, r"invoked on Failing\[10\], but the array has no element with that index", 1),
    "rank": (1, r"rank 100 was named, but the job has \d ranks", 1),
    "far_index": (1, r"an index has integers of 32 bits, not 4294967299", 1),
    "far_branch": (1, r"an index has integers of 32 bits, not 4294967296", 1),
    "far_rank": (1, r"rank 4294967296 was named, but the job has \d ranks", 1),
    "far_migration": (1, r"rank 4294967296 was named, but the job has \d ranks", 1),
    "negative_migration": (1, r"rank -1 was named, but the job has \d ranks", 1),
    "thread": (1, r"RuntimeError: chares are used by the thread that has called charm.start", 1),
    "thread_allocates": (1, r"RuntimeError: chares are used by the thread that has called", 1),
    "parameter": (1, r"nothing has no parameter word", 1),
    "arguments": (1, r"nothing\(\) takes 1 positional argument", 1),
    "moves": (1, r"suspended", 2),
    "goes": (1, r"no state", 2),
    "no_resume": (1, r"Failing has no method resumeFromSync", 1),
    "balancer": (1, r"\+balancer asks for BestLB; there are GreedyLB", 1),
    "not_started": (0, r"The program ends, and has not called charm.start", 1),
    "twice": (1, r"charm.start can be called once", 1),
}


def finished(words, environment):
    """The status of a program and all that it said."""
    words = ["timeout", "--kill-after=5", SECONDS, *words]
    result = subprocess.run([str(word) for word in words], env=environment, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, errors="replace")
    return result.returncode, result.stdout


def on_towpath(prefix, python, ranks, words):
    environment = environments.clean_environment(
        PYTHONPATH=prefix / "lib/python", PYTHONDONTWRITEBYTECODE=1)
    return finished([prefix / "bin/mpiexec", "-n", ranks, python, *words], environment)


def on_charm4py(python, ranks, program):
    """Runs a program with its import changed."""
    directory = environments.BUILD / "tests/charm4py"
    directory.mkdir(parents=True, exist_ok=True)
    changed = directory / program.name
    changed.write_text(program.read_text().replace("from towpath.charm import",
                                                   "from charm4py import"))
    start = [python, "-m", "charmrun.start", f"+p{ranks}", changed]
    return finished(start, environments.clean_environment(PATH=f"{python.parent}:/usr/bin:/bin"))


def cases(options, python):
    """Name of each case, and a function that says whether it passes and what it said."""
    prefix = options.prefix.resolve()

    def works(status, output):
        return status == 0 and "ok" in output.split(), output

    for program in sorted(PROGRAMS.glob("*.py")):
        if program.stem == "ends":
            continue
        for words in [[], *WORDS.get(program.stem, [])]:
            for ranks in (1, 2, 4):
                yield (", ".join([program.stem, *words, f"{ranks} ranks"]),
                       lambda program=program, words=words, ranks=ranks:
                       works(*on_towpath(prefix, python, ranks, [program, *words])))
        if program.stem in BEYOND or options.only == "towpath":
            continue
        for ranks in RANKS_OF_CHARM4PY.get(program.stem, (1, 2, 4)):
            yield (f"{program.stem}, charm4py, {ranks} ranks",
                   lambda program=program, ranks=ranks:
                   works(*on_charm4py(python, ranks, program)))
    for case, (status, sentence, least) in ENDS.items():
        for ranks in (1, 2):
            if ranks >= least:
                yield (f"end {case}, {ranks} ranks",
                       lambda case=case, ranks=ranks, status=status, sentence=sentence:
                       ends(status, sentence, *on_towpath(prefix, python, ranks,
                                                          [PROGRAMS / "ends.py", case])))


def ends(status, sentence, found, output):
    return found == status and re.search(sentence, output) is not None, \
        f"{output}\n(status {found}, not {status}; or it lacks {sentence!r})"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, default=environments.BUILD / "install")
    parser.add_argument("--filter", default="", help="cases whose name this expression finds")
    parser.add_argument("--only", choices=["towpath"])
    options = parser.parse_args()
    python = environments.venv("charm4py") / "bin/python"
    environments.report((name, *run()) for name, run in cases(options, python)
                        if re.search(options.filter, name))


if __name__ == "__main__":
    main()
