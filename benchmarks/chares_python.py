#!/usr/bin/env python3
"""Messages between two chares of Python on two ranks: the module of Towpath and charm4py in
alternation, the median of several runs of each.

    chares_python.py             all sizes
    chares_python.py --rounds 3  runs of each
    chares_python.py --largest 1048576

One way of a message with a number, of numpy arrays that arrive as writable arrays, of arrays that
are lent (`nocopy`, which charm4py does not have: it sends them as all arrays), and a call that is
awaited (to and fro). Prints microseconds, and how many times faster Towpath is.
"""

import argparse
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import environments  # noqa: E402

SIZES = [1 << power for power in (10, 12, 14, 16, 18, 20, 22, 24, 26)]
SMALL = "number"
CALL = "awaited call"
PROGRAM = '''
import sys
import time
import numpy
from MODULE import Chare, Future, Group, charm, coro

try:
    from MODULE import empty_shared, nocopy
except ImportError:
    empty_shared, nocopy = numpy.empty, lambda array: array

class Player(Chare):
    def begin(self, data, count, done):
        self.left, self.done = count, done
        self.start = time.perf_counter()
        self.thisProxy[1].hit(data)

    def begin_lending(self, size, count, done):
        self.left, self.done = count, done
        data = empty_shared(size // 8)
        data[:] = 0
        self.start = time.perf_counter()
        self.thisProxy[1].hit_lent(nocopy(data))

    def hit_lent(self, data):
        if self.thisIndex == 0:
            self.left -= 1
            if not self.left:
                self.done(time.perf_counter() - self.start)
                return
        self.thisProxy[1 - self.thisIndex].hit_lent(nocopy(data))

    def hit(self, data):
        if self.thisIndex == 0:
            self.left -= 1
            if not self.left:
                self.done(time.perf_counter() - self.start)
                return
        self.thisProxy[1 - self.thisIndex].hit(data)

    def answer(self, value):
        return value

    @coro
    def ask(self, count, done):
        start = time.perf_counter()
        for number in range(count):
            self.thisProxy[1].answer(number, ret=True).get()
        done(time.perf_counter() - start)

def main(args):
    players = Group(Player)
    charm.awaitCreation(players)
    def measure(name, begin, data, count):
        for warm in (count // 10 + 1, count):
            done = Future()
            begin(data, warm, done)
            seconds = done.get()
        print("result", name, seconds / count / 2 * 1e6, flush=True)

    measure("number", players[0].begin, 1, 3000)
    for size in map(int, args[1:]):
        count = max(10, min(2000, (1 << 27) // size))
        measure(str(size), players[0].begin, numpy.zeros(size // 8), count)
        measure(f"lent_{size}", players[0].begin_lending, size, count)
    for warm in (300, 2000):
        done = Future()
        players[0].ask(warm, done)
        seconds = done.get()
    print("result", "call", seconds / 2000 * 1e6, flush=True)
    exit()

charm.start(main)
'''


def measured(words, environment):
    """What a program has printed: microseconds by name."""
    output = subprocess.run([str(word) for word in words], env=environment, text=True, timeout=300,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True).stdout
    lines = [line.split() for line in output.splitlines() if line.startswith("result ")]
    return {name: float(value) for _, name, value in lines}


def runs(prefix, sizes, rounds):
    """Results of all runs, as two lists: those of Towpath and of charm4py."""
    python = environments.venv("charm4py") / "bin/python"
    own = environments.clean_environment(PYTHONPATH=prefix / "lib/python")
    other = environments.clean_environment(PATH=f"{python.parent}:/usr/bin:/bin")
    directory = environments.BUILD / "bench"
    directory.mkdir(parents=True, exist_ok=True)
    programs = []
    for module in ("towpath.charm", "charm4py"):
        programs.append(directory / f"chares_{module.replace('.', '_')}.py")
        programs[-1].write_text(PROGRAM.replace("MODULE", module))
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(measured([prefix / "bin/mpiexec", "-n", 2, python, programs[0], *sizes], own))
        start = [python, "-m", "charmrun.start", "+p2"]
        theirs.append(measured([*start, programs[1], *sizes], other))
    return ours, theirs


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, default=environments.BUILD / "install")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--largest", type=int, default=SIZES[-1])
    options = parser.parse_args()
    sizes = [size for size in SIZES if size <= options.largest]
    ours, theirs = runs(options.prefix.resolve(), sizes, options.rounds)
    print("| message | Towpath, us | charm4py, us | times faster |")
    print("|---|---|---|---|")
    for name, shown in [("number", SMALL), *((str(size), f"array of {size} B") for size in sizes),
                        *((f"lent_{size}", f"array of {size} B, lent") for size in sizes),
                        ("call", CALL)]:
        first, second = (statistics.median(run[name] for run in some) for some in (ours, theirs))
        print(f"| {shown} | {first:.1f} | {second:.1f} | {second / first:.1f} |")


if __name__ == "__main__":
    main()
